"""The corpus as Parquet: one row for every candidate measured on a device, from catalogues to table and back.

Candidates of the library are in `corpus_KIND.parquet`, from which models are trained; those of other people's tasks,
with the spec of their task in the column `spec`, in `problems_KIND.parquet`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from foretell.extras import require
from foretell.kernels.candidate import Candidate, stripped
from foretell.kernels.corpus.check import CorpusDamaged, checked
from foretell.kernels.corpus.combined import combined
from foretell.kernels.corpus.splits import assign
from foretell.kernels.library import get
from foretell.kernels.measurement import Status
from foretell.kernels.store import Catalogue, catalogue_key
from foretell.kernels.store.journal import JOURNAL_NAME
from foretell.kernels.tasks import of_run
from foretell.received import BadFile, inside, replacing
from foretell.received_table import read_rows

LICENCE = "Apache-2.0"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MESSAGE_CHARACTERS = 400
FOLDER = Path("data")
PROBLEM_SPLIT = "problem"


def arrow() -> Any:
    """pyarrow, which only the corpus needs. Raises MissingPackage if it is not installed."""
    require("pyarrow.parquet", "data")
    return require("pyarrow", "data")


def schema() -> Any:
    """The table's columns; `docs/corpus.md` says what each means."""
    pa = arrow()
    workload = pa.struct([
        ("name", pa.string()), ("pairs", pa.int16()), ("reference_us", pa.float32()), ("candidate_us", pa.float32()),
        ("speedup", pa.float32()), ("low", pa.float32()), ("high", pa.float32()),
        ("log2_ratio", pa.list_(pa.float32())),
    ])  # fmt: skip
    text, real = pa.string(), pa.float32()
    return pa.schema([
        ("id", text), ("key", text), ("task", text), ("family", text), ("kind", text), ("language", text),
        ("origin", text), ("detail", text), ("parents", pa.list_(text)), ("source", text), ("stripped", text),
        ("device", text), ("toolchain", text), ("status", text), ("message", text),
        ("speedup", real), ("low", real), ("high", real), ("stopped_early", pa.bool_()),
        ("workloads", pa.list_(workload)), ("features", pa.map_(text, real)),
        ("build_s", real), ("device_s", real), ("wall_s", real), ("method", text), ("conditions", text),
        ("measured_at", pa.float64()), ("licence", text), ("split", text),
    ])  # fmt: skip


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a catalogue; damaged ones are passed over. CatalogueDamaged where it is none."""
    return (row.to_record() for row in Catalogue(path, received=True).rows())


def row(record: Mapping[str, Any]) -> dict[str, Any]:
    """One catalogue record as a row of the table."""
    candidate, build, measured = record["candidate"], record["build"], record["measurement"]
    language = candidate["language"]
    kind = "cpu" if language == "cpp" else "gpu"
    name, _, toolchain = record["device"].partition(" | ")
    spec = record.get("spec")
    return {
        "id": Candidate(candidate["task"], language, candidate["source"]).likeness,
        "key": record["key"],
        "task": candidate["task"],
        "family": get(record["task"], kind).family if spec is None else spec["family"],
        "kind": kind,
        "language": language,
        "origin": candidate["origin"]["kind"],
        "detail": json.dumps(candidate["origin"]["detail"], sort_keys=True),
        "parents": candidate["parents"],
        "source": candidate["source"],
        "stripped": stripped(candidate["source"], language),
        "device": name,
        "toolchain": toolchain,
        "status": measured["status"],
        "message": measured["message"][:MESSAGE_CHARACTERS],
        "speedup": measured["speedup"],
        "low": measured["low"],
        "high": measured["high"],
        "stopped_early": measured["stopped_early"],
        "workloads": [_workload(timing) for timing in measured["timings"]],
        "features": sorted(build["features"].items()),
        "build_s": measured["cost"]["build_s"] or build["seconds"],
        "device_s": measured["cost"]["device_s"],
        "wall_s": measured["cost"]["wall_s"],
        "method": measured["method"],
        "conditions": json.dumps(measured.get("conditions", {}), sort_keys=True),
        "measured_at": record["t"],
        "licence": LICENCE,
        "spec": None if spec is None else json.dumps(spec),
    }


def _workload(timing: Mapping[str, Any]) -> dict[str, Any]:
    reference, candidate = np.array(timing["reference_us"]), np.array(timing["candidate_us"])
    return {
        "name": timing["workload"],
        "pairs": len(reference),
        "reference_us": float(np.median(reference)),
        "candidate_us": float(np.median(candidate)),
        "speedup": timing["speedup"],
        "low": timing["low"],
        "high": timing["high"],
        "log2_ratio": [float(q) for q in np.quantile(np.log2(reference / candidate), QUANTILES)],
    }


def write(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    """Write a table, all or nothing, sorted by task and id, every row with its split; how many rows it has."""
    pa = arrow()
    ordered = sorted(rows, key=lambda r: (r["kind"], r["task"], r["language"], r["id"], r["device"]))
    columns = schema()
    if any(r.get("spec") is not None for r in ordered):
        columns, splits = columns.append(pa.field("spec", pa.string())), [PROBLEM_SPLIT] * len(ordered)
    else:
        splits = assign(ordered)
    placed = [{**r, "split": split} for r, split in zip(ordered, splits, strict=True)]
    table = pa.Table.from_pylist(placed, schema=columns)
    with replacing(path) as partial:
        pa.parquet.write_table(table, partial, compression="zstd", compression_level=19)
    return len(ordered)


def files(folder: Path = FOLDER) -> list[Path]:
    """The tables of the library's candidates in a folder. NotPlain if one is a link out of it."""
    return [inside(folder, path.name) for path in sorted(folder.glob("corpus_*.parquet"))]


def read(folder: Path = FOLDER, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Rows of all tables in the folder; only some columns where those are named. CorpusDamaged where one is odd."""
    return [row for path in files(folder) for row in read_file(path, columns)]


def read_file(path: Path, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Rows of one table, as `read`."""
    try:
        found = read_rows(path, columns or None)
    except BadFile as error:
        raise CorpusDamaged(path, f"there is no Parquet table ({error})") from error
    return checked(path, found, columns or schema().names)


def known_ids(folder: Path = FOLDER) -> set[str]:
    """Candidates that are in the corpus; none where there is no table."""
    own = [inside(folder, path.name) for path in sorted(folder.glob("problems_*.parquet"))]
    tables = (*files(folder), *own)
    return {r["id"] for path in tables for r in read_file(path, ["id"])}


def run_records(run_dir: Path) -> Iterator[dict[str, Any]]:
    """What a search measured, as a catalogue would have it.

    Faults of the machine, reused results and measurements that other processes disturbed are left out.
    """
    from foretell.kernels.search.load import load_run

    state = load_run(run_dir)
    if state.started is None:
        return
    device = state.started.device
    journal = run_dir / JOURNAL_NAME
    task = of_run(state.config, device.kind)
    for node in state.nodes.values():
        outcome = node.measurement
        if outcome is None or node.reused or outcome.status is Status.INFRASTRUCTURE:
            continue
        if outcome.conditions.get("disturbed") is True:
            continue
        yield {
            "key": catalogue_key(task, node.candidate, device),
            "t": journal.stat().st_mtime,
            "task": task.name,
            "device": device.id,
            "candidate": node.candidate.to_dict() | {"parents": list(node.parents)},
            "build": node.build.to_dict(),
            "measurement": outcome.to_dict(),
            "spec": task.spec if task.files else None,
        }


def merge(folder: Path, sources: Sequence[Path]) -> dict[str, int]:
    """Add catalogues (files) and runs (folders) to the tables; rows of each table that was changed, by its name.

    Several measurements with one key are combined into one row (see `combined`).
    """
    found = (record for path in sources for record in (run_records(path) if path.is_dir() else records(path)))
    fresh = [row(record) for record in found]
    counts = {}
    for name in sorted({_table_of(r) for r in fresh}):
        path = folder / f"{name}.parquet"
        rows_of: dict[str, list[dict[str, Any]]] = {}
        for each in (*(read_file(path) if path.exists() else ()), *(r for r in fresh if _table_of(r) == name)):
            rows_of.setdefault(each["key"], []).append(each)
        folder.mkdir(parents=True, exist_ok=True)
        counts[name] = write(path, [combined(rows) for rows in rows_of.values()])
    return counts


def _table_of(row: Mapping[str, Any]) -> str:
    return f"{'corpus' if row.get('spec') is None else 'problems'}_{row['kind']}"
