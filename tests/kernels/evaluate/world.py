"""Small tables with known outcomes, and forecasters that know them, or know the opposite."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from foretell.belief import Forecast
from foretell.kernels.corpus.table import schema
from foretell.kernels.device import Device
from foretell.kernels.measurement import Measurement
from foretell.kernels.protocols import Subject
from foretell.kernels.task import Task

OPERATIONS = {"softmax": "train", "mish": "held_operation", "lerp_rows": "held_operation", "max_pool2d": "held_family"}


def corpus_row(task: str, i: int, log2: float | None, split: str, /, **changes: Any) -> dict[str, Any]:
    """A row of the GPU corpus; log2 of None is a failure, every seventh that of the build."""
    status = "ok" if log2 is not None else "compile_error" if i % 7 == 0 else "wrong"
    speedup = None if log2 is None else 2.0**log2
    source = f"import triton\n\n\ndef {task}_{i}(x):\n    return x * {i}\n"
    row = {
        "id": f"{task}{i:04d}", "key": f"{task} {i}", "task": task, "family": "any", "kind": "gpu",
        "language": "triton", "origin": "template", "detail": '{"knobs": {"slip": "dropped"}}', "parents": [],
        "source": source, "stripped": source, "device": "NVIDIA H200", "toolchain": "sm_90", "status": status,
        "message": "", "speedup": speedup, "low": speedup, "high": speedup, "stopped_early": False,
        "workloads": [], "features": [("registers", 32.0 + i)] if status != "compile_error" else [],
        "build_s": 0.1, "device_s": 0.1, "wall_s": 0.1, "method": "", "conditions": "{}", "measured_at": 0.0,
        "licence": "none", "split": split,
    }  # fmt: skip
    return row | changes


def corpus_rows(each: int = 21) -> list[dict[str, Any]]:
    """`each` candidates of every operation, spread over all bins; every fifth fails."""
    return [
        corpus_row(task, i, None if i % 5 == 0 else (i * 8 % each) / each * 7.0 - 3.48 + k / 10, split)
        for k, (task, split) in enumerate(OPERATIONS.items())
        for i in range(each)
    ]


def write_corpus(folder: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows), schema=schema()), folder / "corpus_gpu.parquet")
    return folder


def foreign_row(cell: int, i: int, **changes: Any) -> dict[str, Any]:
    """A row of a table that others measured: cell 0 has speedups, cell 1 times alone, cell 2 a matrix product."""
    failed = i % 4 == 3
    op, gpu = ("level1/1", "level1/2", "gemm/2048")[cell], ("A100", "RTX-4090", "H100-SXM")[cell]
    timed = cell == 1 and not failed
    row = {
        "row_id": f"r{cell}{i:03d}", "dataset": ("one", "two", "two")[cell], "licence": "MIT", "op_id": op,
        "op_name": op, "op_variant": "v0", "reference_code": None if cell == 2 else "import torch\n",
        "candidate_code": f"import torch\n\n\nclass ModelNew:\n    width = {i}\n",
        "language": ("cuda", "cpp_ext", "torch")[cell], "author_model": None, "gpu": gpu, "gpu_detail": gpu,
        "candidate_ms": 1.0 + i if timed else None, "reference_ms": None,
        "speedup": None if failed or timed else 2.0 ** (i / 4.0 - 1.0), "correct": not failed,
        "status": ("compile_error", "wrong", "runtime_error")[i % 3] if failed else "ok", "flag": None, "clean": True,
        "shapes_json": '{"N": 2048, "dtype": "fp32"}' if cell == 2 else None, "extra_json": None, "split_group": op,
        "cell_id": f"{op}|{gpu}",
    }  # fmt: skip
    return row | changes


def write_foreign(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    text = (
        "row_id", "dataset", "licence", "op_id", "op_name", "op_variant", "reference_code", "candidate_code",
        "language", "author_model", "gpu", "gpu_detail", "status", "flag", "shapes_json", "extra_json",
        "split_group", "cell_id",
    )  # fmt: skip
    columns = dict.fromkeys(text, pa.string())
    columns |= dict.fromkeys(("candidate_ms", "reference_ms", "speedup"), pa.float64())
    columns |= dict.fromkeys(("correct", "clean"), pa.bool_())
    pq.write_table(pa.Table.from_pylist(list(rows), schema=pa.schema(columns)), path)
    return path


class Knowing:
    """Says what a table of (log2 speedup or None) by source holds, times `sign`, as surely as `std` says."""

    name = "knowing"
    cost_s = 0.0

    def __init__(self, truth: Mapping[str, float | None], sign: float = 1.0, std: float = 0.01) -> None:
        self._truth, self._sign, self._std = truth, sign, std
        self.lessons: list[int] = []
        self.troubles: dict[str, int] = {}

    def forecast(self, task: Task, device: Device, subjects: Sequence[Subject]) -> list[Forecast]:
        return [self._one(self._truth[subject.candidate.source]) for subject in subjects]

    def _one(self, log2: float | None) -> Forecast:
        sure = 0.999 if self._sign > 0 else 0.001
        p_fail = sure if log2 is None else 1.0 - sure
        return Forecast.from_normal(self._sign * (log2 or 0.0), self._std, p_fail)

    def learn(self, task: Task, device: Device, measured: Sequence[tuple[Subject, Measurement]]) -> None:
        self.lessons.append(len(measured))


def truth_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Log2 speedups by source."""
    return {row["stripped"]: None if row["speedup"] is None else math.log2(row["speedup"]) for row in rows}
