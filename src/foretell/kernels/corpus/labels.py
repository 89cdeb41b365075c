"""How the kernels of `real_kernels.parquet` were measured (`real_labels.parquet`, `real_steps.parquet`), and those of a
table of others, whose texts are not kept (`shared_labels.parquet`).

A label is one kernel on one device with one toolchain. `device_us` and `reference_us` are medians over the paired runs;
`timed` says how (a graph, or events where it could not be captured), `device_s` how long the device was busy with it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from foretell.kernels.corpus.real import read_table, write_table
from foretell.kernels.corpus.table import FOLDER, arrow, records, row
from foretell.kernels.measurement import Status
from foretell.received import parsed

LABELS, STEPS, SHARED = "real_labels.parquet", "real_steps.parquet", "shared_labels.parquet"
_ROOM = 1.15  # times the interval of paired ratios, for the ratio of medians
_STATUSES = frozenset(status.value for status in Status) - {Status.INFRASTRUCTURE.value}


def schema() -> Any:
    """The columns of the labels; `docs/real_kernels.md` says what each means."""
    pa = arrow()
    text, real = pa.string(), pa.float32()
    return pa.schema([
        ("id", text), ("device", text), ("toolchain", text), ("status", text), ("message", text), ("speedup", real),
        ("low", real), ("high", real), ("device_us", real), ("reference_us", real), ("pairs", pa.int16()),
        ("device_s", real), ("timed", text), ("method", text), ("measured_at", pa.float64()),
    ])  # fmt: skip


def steps_schema() -> Any:
    """The columns of the step times: `program` is the id of a kernel, or the name of a problem for its reference."""
    pa = arrow()
    text = pa.string()
    return pa.schema([
        ("program", text), ("device", text), ("toolchain", text), ("step", pa.int32()), ("what", text),
        ("us", pa.float32()),
    ])  # fmt: skip


def shared_schema() -> Any:
    """The columns of the labels of a table of others: `rows` are the ids of its rows with this pair of texts."""
    pa = arrow()
    return schema().append(pa.field("rows", pa.list_(pa.string())))


def of_catalogue(path: Path) -> Iterator[dict[str, Any]]:
    """The labels in a catalogue. Raises CatalogueDamaged if the file is something else."""
    for record in records(path):
        measured = row(record)
        [times] = measured["workloads"] or [{"candidate_us": None, "reference_us": None, "pairs": None}]
        conditions = parsed(measured["conditions"])
        yield {name: measured[name] for name in schema().names if name in measured} | {
            "device_us": times["candidate_us"],
            "reference_us": times["reference_us"],
            "pairs": times["pairs"],
            "timed": str(conditions.get("timed", "")),
        }


def read(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """The labels; none if there is no table."""
    path = folder / LABELS
    return read_table(path, schema().names) if path.exists() else []


def read_shared(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """The labels of kernels of others; none if there is no table."""
    path = folder / SHARED
    return read_table(path, shared_schema().names) if path.exists() else []


def read_steps(folder: Path = FOLDER) -> list[dict[str, Any]]:
    """The step times; none if there is no table."""
    path = folder / STEPS
    return read_table(path, steps_schema().names) if path.exists() else []


def add(folder: Path, labels: Iterable[Mapping[str, Any]], steps: Iterable[Mapping[str, Any]]) -> tuple[int, int]:
    """Add labels and step times to the tables, newer ones in the place of older; how many there are then."""
    by_key = {_key(label): label for label in (*read(folder), *labels)}
    ordered = [by_key[key] for key in sorted(by_key)]
    by_step = {
        (step["program"], step["device"], step["toolchain"], step["step"]): step
        for step in (*read_steps(folder), *steps)
    }
    ordered_steps = [by_step[key] for key in sorted(by_step)]
    write_table(folder / LABELS, ordered, schema())
    write_table(folder / STEPS, ordered_steps, steps_schema())
    return len(ordered), len(ordered_steps)


def add_shared(folder: Path, labels: Iterable[Mapping[str, Any]]) -> int:
    """Add labels of kernels of others to the table, newer ones in the place of older; how many there are then."""
    by_key = {_key(label): label for label in (*read_shared(folder), *labels)}
    write_table(folder / SHARED, [by_key[key] for key in sorted(by_key)], shared_schema())
    return len(by_key)


def _key(label: Mapping[str, Any]) -> tuple[str, str, str]:
    return label["id"], label["device"], label["toolchain"]


def problems(
    labels: Sequence[Mapping[str, Any]], steps: Sequence[Mapping[str, Any]], kernels: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """Everything that is wrong with the labels and step times of these kernels, in words."""
    ids, names = {kernel["id"] for kernel in kernels}, {kernel["problem"] for kernel in kernels}
    for label in labels:
        if label["id"] not in ids:
            yield f"the label {label['id']} is of no kernel"
    yield from label_problems(labels)
    for step in steps:
        if step["program"] not in ids | names:
            yield f"step {step['step']} of {step['program']} is of no kernel or problem"
        if not (step["us"] >= 0 and math.isfinite(step["us"])):
            yield f"step {step['step']} of {step['program']} took {step['us']} us"


def label_problems(labels: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Everything that is wrong with labels by themselves, in words."""
    for key, count in Counter(map(_key, labels)).items():
        if count > 1:
            yield f"the label {' '.join(key)} occurs {count} times"
    for label in labels:
        for fault in _faults(label):
            yield f"the label {label['id']}: {fault}"


def _faults(label: Mapping[str, Any]) -> Iterator[str]:
    figures = [label[name] for name in ("speedup", "low", "high", "device_us", "reference_us")]
    if label["status"] not in _STATUSES:
        yield f"status {label['status']}"
    elif (label["status"] == Status.OK) != all(figure is not None for figure in figures):
        yield f"status {label['status']} with the figures {figures}"
    elif label["status"] == Status.OK:
        speedup, low, high, device_us, reference_us = figures
        if not all(math.isfinite(figure) and figure > 0 for figure in figures):
            yield f"the figures {figures} are not all positive"
        elif not low <= speedup <= high:
            yield f"interval {low:.4f} to {high:.4f} misses {speedup:.4f}"
        elif not low / _ROOM <= reference_us / device_us <= high * _ROOM:
            yield f"speedup {speedup:.4f}, but its times give {reference_us / device_us:.4f}"
