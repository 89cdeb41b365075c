"""Kernels that others measured: tables with a reference program a row, on operations that are not in the library.

A row is one candidate; rows of one `cell_id` (same data, operation and GPU) may be compared and make a pool. Of the
operation only the text of its reference is known, which is recorded for its work, except for matrix products, whose
sizes are given.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from foretell.kernels import devices
from foretell.kernels.candidate import Candidate, Origin, stripped
from foretell.kernels.cost.tasks import Reference, references_of
from foretell.kernels.device import Device
from foretell.kernels.evaluate.pools import BadTable, Pool, Tier, make_pool
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.program import View
from foretell.kernels.protocols import Build, Subject
from foretell.kernels.task import ITEM_BYTES, Sizes, Task, Tensor, Tolerance, Workload, unknown_flops
from foretell.kernels.tasks import BadTask, kernelbench
from foretell.received import parsed

REQUIRED = ("cell_id", "op_id", "gpu", "language", "candidate_code", "status", "speedup")
OPTIONAL = ("candidate_ms", "clean", "dataset", "op_name", "reference_code", "reference_ms", "row_id", "shapes_json",
            "split_group")  # fmt: skip

_STATUSES = {"runtime_error": Status.LAUNCH_ERROR, "unknown_failure": Status.CRASH}
_DTYPES = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
_BY_BYTES = {1: "uint8", 2: "float16", 4: "float32", 8: "int64", 16: "float64"}
_LONGEST_SIDE = 1 << 31
_UNCHECKED = Tolerance(1e-2, 1e-2, "checked by whoever measured it")
# What stands for the reference of a matrix product of which the table gives the sizes alone.
_PRODUCT = """import torch


class Model(torch.nn.Module):
    def forward(self, a, b):
        return torch.matmul(a, b)


def get_inputs():
    return [torch.randn({m}, {k}, dtype=torch.{dtype}), torch.randn({k}, {n}, dtype=torch.{dtype})]


def get_init_inputs():
    return []
"""


def foreign_pools(rows: Sequence[Mapping[str, Any]], tier: Tier) -> list[Pool]:
    """One pool for each cell, by name; rows that are not clean, or that worked but have no time, are left out, and so
    are those of GPUs without a description, unless there are no others (`unknown_gpus` names them).

    Cells in which some time is known but not every speedup are ranked by time; scores use the speedups there are.
    """
    grouped: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    unknown = unknown_gpus(rows)
    if len(unknown) == len({row["gpu"] for row in rows}):
        unknown = ()
    for row in rows:
        if row.get("clean") is not False and row["gpu"] not in unknown:
            grouped[row["cell_id"]].append(row)
    cells = sorted(grouped.items())
    references = _references([members[0] for _, members in cells])
    pools = [_cell(name, members, tier, each) for (name, members), each in zip(cells, references, strict=True)]
    return [pool for pool in pools if len(pool)]


def _cell(name: str, rows: Sequence[Mapping[str, Any]], tier: Tier, reference: Reference | None) -> Pool:
    task = task_of(rows[0], reference)
    pairs = [(subject_of(row, tier), _measurement(row)) for row in rows]
    ids = [row.get("row_id") or subject.candidate.id for row, (subject, _) in zip(rows, pairs, strict=True)]
    group = rows[0].get("split_group") or rows[0]["op_id"]
    return make_pool(
        name,
        group,
        task,
        foreign_device(rows[0]["gpu"]),
        ids,
        pairs,
        [row.get("candidate_ms") for row in rows],
        rows[0].get("dataset") or "",
    )


def unknown_gpus(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The GPUs of a table that nothing is known of."""
    found = []
    for gpu in sorted({row["gpu"] for row in rows}):
        try:
            devices.named(gpu)
        except devices.UnknownDevice:
            found.append(gpu)
    return tuple(found)


def foreign_device(gpu: str) -> Device:
    """The described GPU of that name; BadTable where there is none."""
    try:
        return devices.named(gpu)
    except devices.UnknownDevice as error:
        raise BadTable(str(error), ", ".join(devices.gpus())) from error


def _references(rows: Sequence[Mapping[str, Any]]) -> list[Reference | None]:
    """Each row's reference, None for one that is not a problem or cannot be recorded here."""
    tasks: list[Task | None] = []
    for row in rows:
        try:
            text = "" if _matmul_sizes(row)[0] else row.get("reference_code") or ""
            tasks.append(kernelbench.from_text(text, str(row["op_id"]).replace("/", "_")) if text else None)
        except BadTask:
            tasks.append(None)
    found = iter(references_of([task for task in tasks if task is not None]))
    return [None if task is None else next(found) for task in tasks]


def reference_text(row: Mapping[str, Any]) -> str:
    """The reference of a row as a KernelBench problem; written from its sizes for a matrix product without one."""
    if row.get("reference_code"):
        return str(row["reference_code"])
    sizes, dtype = _matmul_sizes(row)
    return _PRODUCT.format(**sizes, dtype=dtype) if sizes else ""


def task_of(row: Mapping[str, Any], recorded: Reference | None = None) -> Task:
    """The task of a row, as far as it tells: sizes of a matrix product, or the work of its reference.

    Where neither is to be had the cost is told as nothing (no FLOPs, 4 bytes), which leaves a roofline without a say.
    It cannot be run or checked.
    """
    sizes, dtype = _matmul_sizes(row)
    reference = reference_text(row)
    flops: Callable[[Sizes], float] = _matmul_flops if sizes else unknown_flops
    inputs: tuple[Tensor, ...] = (Tensor("x", "float32", (1,)),)
    outputs: tuple[Tensor, ...] = ()
    least_bytes: Callable[[Sizes], float] | None = None
    family = "matmul" if sizes else row["op_id"].rpartition("/")[0] or "foreign"
    if sizes:
        inputs = (Tensor("a", dtype, ("m", "k")), Tensor("b", dtype, ("k", "n")))
        outputs = (Tensor("c", dtype, ("m", "n")),)
    elif recorded is not None:
        program, work = recorded.program, recorded.work
        read = (*program.inputs, *(weight.view for weight in program.weights))
        inputs, outputs = _tensors("x", read), _tensors("y", program.outputs)
        sizes = {f"side{i}": side for i, side in enumerate(read[0].shape)} if read else {}
        flops, least_bytes = partial(_constant, work.flops), partial(_constant, work.least_bytes)
    workload = Workload(sizes)
    return Task(
        name=row["op_id"],
        family=family,
        summary=row.get("op_name") or row["op_id"],
        sizes=tuple(sizes),
        inputs=inputs,
        outputs=outputs,
        workloads=(workload,),
        extra=(),
        tolerance=_UNCHECKED,
        flops=flops,
        oracle=None,
        references={"torch": reference},
        least_bytes_override=least_bytes,
        kind="table",
    )


def _tensors(name: str, views: Sequence[View]) -> tuple[Tensor, ...]:
    """Views as tensors of types that tasks know."""
    return tuple(
        Tensor(f"{name}{i}", view.dtype if view.dtype in ITEM_BYTES else _BY_BYTES[view.item_bytes], view.shape)
        for i, view in enumerate(views)
    )


def _matmul_sizes(row: Mapping[str, Any]) -> tuple[dict[str, int], str]:
    """m, n, k and dtype where the row's shapes are those of a matrix product, else no sizes."""
    try:
        shapes = parsed(row.get("shapes_json") or "{}")
    except (ValueError, RecursionError) as error:
        words = f"shapes_json of {row['op_id']} is not JSON: {str(error)[:200]}"
        raise BadTable(words, 'such as {"m": 64, "n": 64}') from error
    if not isinstance(shapes, dict):  # shapes of the inputs, which say nothing of what is done with them
        return {}, "float32"
    dtype = _DTYPES.get(str(shapes.get("dtype")), "float32")
    if all(_is_side(shapes.get(name)) for name in ("m", "n", "k")):
        return {name: shapes[name] for name in ("m", "n", "k")}, dtype
    if _is_side(shapes.get("N")) and "gemm" in row["op_id"]:
        return dict.fromkeys(("m", "n", "k"), int(shapes["N"])), dtype
    return {}, dtype


def _is_side(value: object) -> bool:
    """Whether a value may be the side of a matrix."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LONGEST_SIDE


def _constant(value: float, sizes: Sizes) -> float:
    return value


def _matmul_flops(sizes: Sizes) -> float:
    return 2.0 * sizes["m"] * sizes["n"] * sizes["k"]


def subject_of(row: Mapping[str, Any], tier: Tier = "source") -> Subject:
    """What a forecaster is asked about, from a row."""
    language, text = "torch" if row["language"] == "torch" else "cuda", row["candidate_code"]
    candidate = Candidate(row["op_id"], language, _seen(text, language), Origin("model"))
    if tier == "source":
        return Subject(candidate, original=text)
    if row["status"] == Status.COMPILE_ERROR:
        return Subject(candidate, Build(Status.COMPILE_ERROR, "does not build"), text)
    return Subject(candidate, Build(Status.OK), text)


@lru_cache(maxsize=4096)
def _seen(source: str, language: str) -> str:
    """What a forecaster may see; the same kernel is often in several cells, and taking remarks out is slow."""
    return stripped(source, language)


def _measurement(row: Mapping[str, Any]) -> Measurement:
    status = row["status"]
    try:
        found = _STATUSES[status] if status in _STATUSES else Status(status)
    except ValueError as error:
        raise BadTable(f"there is no status {status!r}", ", ".join((*Status, *_STATUSES))) from error
    speedup = row["speedup"] if found is Status.OK else None
    if speedup is not None and not 0.0 < speedup < math.inf:
        raise BadTable(f"a row that is ok has the speedup {speedup!r}", "a positive number or nothing")
    return Measurement(found, speedup=speedup, low=speedup, high=speedup)
