"""FlashInfer-Bench definitions: a JSON file with axes, inputs, outputs and a reference `run`, and its workloads.

Workloads are JSON lines: in `workloads/` of the data set that the definition's `definitions/` folder is part of, or in
a file of the definition's name with the ending .jsonl beside it. Of a long list some are timed and some only checked,
spread over the sizes (see `limits.TaskLimits`). Inputs are drawn at random, given numbers, or tensors in safetensors
files.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from foretell.kernels.limits import PROGRAM, TASK_LIMITS
from foretell.kernels.task import ITEM_BYTES, Task, Tensor, Tolerance, Workload, tensor_bytes, unknown_flops
from foretell.kernels.tasks.module import check_names
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.kernels.tasks.texts import parsed, read_text
from foretell.received import NotPlain, inside, open_plain
from foretell.received import parsed as parsed_json

KIND = "flashinfer"
FILE = "reference.py"
DEFINITION = "definition.json"
MOST_BLOB_BYTES = 16 << 30
MOST_AXES = 64  # of a definition: every workload has all of them
MOST_ENTRIES = 100_000  # of files and folders that are looked through for workloads
INPUTS = "inputs"  # among a workload's arguments: where the data of each input comes from
TOLERANCE = Tolerance(1e-2, 1e-2, "what FlashInfer-Bench accepts by default")
_FORM = "a FlashInfer-Bench definition: name, axes, inputs, outputs and reference"
_LIKE = '{"axes": {"M": 128}, "inputs": {"A": {"type": "random"}}}'


def read(path: Path, text: str) -> Task:
    """The task of a definition whose text was read before, with the workloads that belong to it."""
    definition = _object(text, str(path))
    lines, root = _lines_of(path, str(definition.get("name")))
    return from_definition(definition, _workload_objects(lines, str(path)), root)


def from_definition(definition: Mapping[str, Any], entries: Sequence[Mapping[str, Any]], root: Path) -> Task:
    """The task of a definition and its workloads; paths in these are relative to `root`. Executes nothing."""
    name, code = definition.get("name"), definition.get("reference")
    if not isinstance(name, str) or not name or not isinstance(code, str):
        raise BadTask(Refusal.NOT_A_TASK, "the file is JSON without the name and reference of a definition", _FORM)
    tree = parsed(code, f"the reference of {name}")
    if not any(isinstance(node, ast.FunctionDef) and node.name == "run" for node in tree.body):
        raise BadTask(Refusal.NOT_A_TASK, f"the reference of {name} does not define run", _FORM)
    axes = _axes(definition, name)
    inputs, outputs = (_tensors(definition, group, axes, name) for group in ("inputs", "outputs"))
    known = {axis: value for axis, value in axes.items() if value is not None}
    workloads = [_workload(entry, axes, known, inputs, name, root) for entry in entries]
    if not entries and len(known) == len(axes):
        workloads = [Workload(known, {INPUTS: {}})]
    if not workloads:
        what = f"there are no workloads of {name}, and its axes {_listed(axes, known)} have no value"
        raise BadTask(Refusal.NO_WORKLOADS, what, f"lines such as {_LIKE} in {name}.jsonl")
    for workload in workloads:
        _check_bytes((*inputs, *outputs), workload, name)
    timed, checked = _chosen(workloads)
    some = f" ({len(timed)} of {len(workloads)} workloads timed)" if len(timed) < len(workloads) else ""
    return Task(
        name=name,
        family=str(definition.get("op_type") or definition.get("type") or KIND),
        summary=str(definition.get("description") or f"the FlashInfer-Bench definition {name}") + some,
        sizes=tuple(axes),
        inputs=inputs,
        outputs=outputs,
        workloads=timed,
        extra=checked,
        tolerance=TOLERANCE,
        flops=unknown_flops,
        oracle=None,
        references={"torch": code},
        kind=KIND,
        files={FILE: code, DEFINITION: json.dumps(definition)},
    )


def _object(text: str, name: str) -> dict[str, Any]:
    try:
        content = parsed_json(text)
    except (ValueError, RecursionError) as error:
        raise BadTask(Refusal.NOT_READABLE, f"{name} is not JSON: {error}", _FORM) from error
    if not isinstance(content, dict):
        raise BadTask(Refusal.NOT_A_TASK, f"{name} is JSON but not an object", _FORM)
    if "sources" in content and "spec" in content:
        what = f"{name} is a solution, not a definition"
        raise BadTask(Refusal.NOT_A_TASK, what, _FORM, "give the definition first, then the solution")
    return content


def _lines_of(path: Path, name: str) -> tuple[str, Path]:
    """The text of the workloads that belong to a definition, and the folder that their paths are relative to."""
    beside = path.with_suffix(".jsonl")
    if beside.is_file():
        return read_text(beside), path.parent
    for folder in path.resolve().parents:
        if folder.name == "definitions":
            root = folder.parent
            found = _workloads_file(root, f"{_plain(name)}.jsonl")
            return (read_text(found) if found else ""), root
    return "", path.parent


def _workloads_file(root: Path, name: str) -> Path | None:
    """The first file of that name below the folder `workloads` of a data set; no link is followed. Raises BadTask."""
    top = root / "workloads"
    if top.is_symlink():
        what = f"{top} is a symbolic link: a data set that may come from elsewhere is read without following any"
        raise BadTask(Refusal.NOT_FOUND, what, "a folder with the workloads", "copy the folder itself")
    found, seen = [], 0
    for parent, folders, files in os.walk(top, followlinks=False):
        seen += len(folders) + len(files)
        if seen > MOST_ENTRIES:
            what = f"{top} has more than {MOST_ENTRIES:,} files and folders"
            raise BadTask(Refusal.NO_WORKLOADS, what, "the workloads of a data set")
        if name in files and not Path(parent, name).is_symlink():
            found.append(Path(parent, name))
    return inside(root, str(min(found).relative_to(root))) if found else None


def _plain(name: str) -> str:
    return "".join(c for c in name if c.isalnum() or c in "_-.")


def _workload_objects(lines: str, name: str) -> list[dict[str, Any]]:
    """The workloads in JSON lines, bare or as traces have them."""
    found = []
    for number, line in enumerate(lines.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            content = parsed_json(line)
            entry = content.get("workload", content)
            if not isinstance(entry["axes"], dict) or not isinstance(entry.get("inputs", {}), dict):
                raise TypeError("axes and inputs are not objects")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            what = f"line {number} of the workloads of {name} is not a workload: {error!r}"
            raise BadTask(Refusal.NO_WORKLOADS, what, f"lines such as {_LIKE}") from error
        found.append(entry)
    return found


def _axes(definition: Mapping[str, Any], name: str) -> dict[str, int | None]:
    """The axes by name with their values, None for those that a workload sets."""
    given = definition.get("axes")
    axes: dict[str, int | None] = {}
    if isinstance(given, dict) and len(given) > MOST_AXES:
        raise BadTask(Refusal.NOT_A_TASK, f"{name} has {len(given)} axes", f"at most {MOST_AXES}")
    check_names(given if isinstance(given, dict) else {}, f"the axes of {name}")
    for axis, about in (given if isinstance(given, dict) else {}).items():
        kind = about.get("type") if isinstance(about, dict) else None
        value = about.get("value") if kind == "const" else None
        if kind not in ("const", "var") or (kind == "const" and not _is_size(value)):
            what = f"the axis {axis} of {name} is neither constant with a value nor variable"
            raise BadTask(Refusal.NOT_A_TASK, what, '{"type": "const", "value": 64} or {"type": "var"}')
        axes[axis] = value
    return axes


def _tensors(
    definition: Mapping[str, Any], group: str, axes: Mapping[str, int | None], name: str
) -> tuple[Tensor, ...]:
    """Inputs or outputs; a number (shape null) counts as a tensor without dimensions."""
    given = definition.get(group)
    if not isinstance(given, dict) or not given:
        raise BadTask(Refusal.NOT_A_TASK, f"{name} has no {group}", _FORM)
    if len(given) > TASK_LIMITS.listed_tensors:
        what = f"{name} has {len(given)} {group}"
        raise BadTask(Refusal.TOO_LARGE, what, f"at most {TASK_LIMITS.listed_tensors}")
    tensors = []
    for tensor, about in given.items():
        shape, dtype = (about.get("shape"), about.get("dtype")) if isinstance(about, dict) else (None, None)
        if not isinstance(dtype, str) or dtype not in ITEM_BYTES:
            what = f"{tensor} of {name} has the type {dtype}"
            raise BadTask(Refusal.NOT_RUNNABLE, what, f"one of {', '.join(ITEM_BYTES)}")
        if isinstance(shape, list) and len(shape) > PROGRAM.rank:
            what = f"{tensor} of {name} has {len(shape)} axes"
            raise BadTask(Refusal.TOO_LARGE, what, f"at most {PROGRAM.rank}")
        named = isinstance(shape, list) and all(isinstance(axis, str) and axis in axes for axis in shape)
        if shape is not None and not named:
            what = f"the shape of {tensor} of {name} names an axis that is not there"
            raise BadTask(Refusal.NOT_A_TASK, what, f"axes among {', '.join(axes)}")
        if group == "outputs" and shape is None:
            what = f"the output {tensor} of {name} is a number and not a tensor"
            raise BadTask(Refusal.ODD_OUTPUTS, what, "tensors as outputs")
        tensors.append(Tensor(tensor, dtype, tuple(shape or ())))
    return tuple(tensors)


def _workload(
    entry: Mapping[str, Any],
    axes: Mapping[str, int | None],
    known: Mapping[str, int],
    inputs: Sequence[Tensor],
    name: str,
    root: Path,
) -> Workload:
    sizes = {**known, **{axis: value for axis, value in entry["axes"].items() if axis in axes and axis not in known}}
    if set(sizes) != set(axes) or not all(map(_is_size, sizes.values())):
        what = f"a workload of {name} sets {_listed(entry['axes'], known)} of the axes {_listed(axes, known)}"
        raise BadTask(Refusal.NO_WORKLOADS, what, "a whole number for every variable axis")
    named = {tensor.name for tensor in inputs}
    sources = {
        tensor: _source(about, tensor, name, root)
        for tensor, about in entry.get("inputs", {}).items()
        if tensor in named and not (isinstance(about, dict) and about.get("type") == "random")
    }
    variable = " ".join(f"{axis}={sizes[axis]}" for axis in axes if axis not in known)
    label = variable or " ".join(f"{axis}={value}" for axis, value in known.items())
    return Workload({axis: sizes[axis] for axis in axes}, {INPUTS: sources}, label)


def _is_size(value: Any) -> bool:
    return type(value) is int and 0 <= value < TASK_LIMITS.size


def _check_bytes(tensors: Sequence[Tensor], workload: Workload, name: str) -> None:
    """Raises BadTask if a tensor has more bytes at a workload than any device's memory."""
    for tensor in tensors:
        if tensor_bytes(tensor, workload.sizes) > PROGRAM.buffer_bytes:
            what = f"{tensor.name} of {name} has more than {PROGRAM.buffer_bytes >> 30} GiB at {workload.name[:200]}"
            raise BadTask(Refusal.TOO_LARGE, what, "tensors that fit into a device's memory")


def _source(about: Any, tensor: str, name: str, root: Path) -> dict[str, Any]:
    """Where the data of an input comes from: a number, or a tensor in a file that is there."""
    kind = about.get("type") if isinstance(about, dict) else None
    if kind == "scalar" and isinstance(about.get("value"), bool | int | float):
        return {"value": about["value"]}
    if kind == "safetensors" and isinstance(about.get("path"), str) and isinstance(about.get("tensor_key"), str):
        path = _within(root, about["path"], name)
        if path.is_symlink() or not path.is_file():
            what = f"the data of {tensor} of {name} is in {path}, which is not there"
            do = "fetch the data set's blobs (they may be kept apart, as with Git LFS), or use random inputs"
            raise BadTask(Refusal.NOT_FOUND, what, "the safetensors files that the workloads name", do)
        with os.fdopen(open_plain(path), "rb") as file:
            status = os.fstat(file.fileno())
        if status.st_size > MOST_BLOB_BYTES:
            what = f"the data of {tensor} of {name} is in {path}, which has {status.st_size / 1e9:.0f} GB"
            raise BadTask(Refusal.NO_WORKLOADS, what, f"files of at most {MOST_BLOB_BYTES >> 30} GiB")
        digest = _digest(path, status.st_ino, status.st_size, status.st_mtime_ns)
        return {"path": str(path.resolve()), "key": about["tensor_key"], "sha256": digest}
    what = f"the input {tensor} of a workload of {name} is described by {json.dumps(about)[:100]}"
    raise BadTask(Refusal.NO_WORKLOADS, what, "the type random, scalar (with value) or safetensors (path, tensor_key)")


@lru_cache(maxsize=1024)
def _digest(path: Path, inode: int, size: int, changed_ns: int) -> str:
    """The hash of a file as it is now: workloads often share one."""
    with os.fdopen(open_plain(path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _within(root: Path, place: str, name: str) -> Path:
    """The path of a file of the data set. Raises BadTask if it lies elsewhere: it would be read, whatever it is."""
    try:
        return inside(root, place)
    except (NotPlain, ValueError, RuntimeError):  # the last two for names that no file can have
        what = f"a workload of {name} names {place[:200]}, which lies outside of {root}"
        raise BadTask(Refusal.NOT_FOUND, what, "paths of files in the data set") from None


def _chosen(workloads: Sequence[Workload]) -> tuple[tuple[Workload, ...], tuple[Workload, ...]]:
    """The workloads to time and those to check besides, from distinct sizes, evenly from small to large."""
    distinct = list({tuple(workload.sizes.values()): workload for workload in reversed(workloads)}.values())
    distinct.sort(key=lambda workload: math.prod(workload.sizes.values()))
    timed = _spread(distinct, TASK_LIMITS.timed_workloads)
    rest = [workload for workload in distinct if workload not in timed]
    return tuple(timed), tuple(_spread(rest, TASK_LIMITS.checked_workloads))


def _spread(items: Sequence[Workload], count: int) -> list[Workload]:
    if len(items) <= count:
        return list(items)
    return [items[round(i * (len(items) - 1) / (count - 1))] for i in range(count)]


def _listed(axes: Mapping[str, Any], known: Mapping[str, int]) -> str:
    return ", ".join(axis for axis in axes if axis not in known) or "none"
