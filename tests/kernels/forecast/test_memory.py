"""What a model remembers: the nearest are found, kin first; it survives a file, and a bad file is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from foretell.kernels.forecast.memory import NOTHING, Memory, Remembered
from foretell.kernels.forecast.model import Model
from foretell.kernels.forecast.model_file import BadModel
from foretell.kernels.forecast.trained import shipped

COLUMNS = ("a", "b", "c")


def _row(name: str, task: str = "softmax", family: str = "softmax", language: str = "triton") -> Remembered:
    return Remembered(name, task, family, language, "NVIDIA H200", f"about {name}")


def _memory(rows: list[Remembered], values: list[dict[str, float]]) -> Memory:
    return Memory.of(COLUMNS, values, [float(i) for i in range(len(rows))], rows)


def _names(memory: Memory, asked: dict[str, float], task: str = "softmax", family: str = "softmax") -> list[str]:
    return [one.id for one in memory.nearest(asked, task, family, "triton", 2)]


def test_the_nearest_come_first_and_say_how_near() -> None:
    rows = [_row(f"r{i}") for i in range(9)]
    memory = _memory(rows, [{"a": float(i), "b": 10.0 * i} for i in range(9)])
    first, second = memory.nearest({"a": 6.1, "b": 61.0}, "softmax", "softmax", "triton", 2)
    assert (first.id, second.id) == ("r6", "r7") and first.speedup == 2.0**6 and first.words == "about r6"
    assert first.distance < second.distance and first.likeness == "nearly the same"
    assert memory.nearest({"a": 1e9, "b": -1e9}, "softmax", "softmax", "triton", 1)[0].likeness == "not much alike"
    assert _names(memory, {"a": 3.0})[0] == "r3"


def test_columns_weigh_the_same_whatever_their_units() -> None:
    rows = [_row("small"), _row("large"), *(_row(f"r{i}") for i in range(8))]
    values = [{"a": 0.5, "b": 5000.0}, {"a": 0.9, "b": 5000.0}, *({"a": i / 8, "b": 1e4 * i / 8} for i in range(8))]
    assert _names(_memory(rows, values), {"a": 0.5, "b": 5100.0})[0] == "small"


def test_kin_come_before_strangers_and_the_same_language_before_others() -> None:
    rows = [
        _row("stranger", "matmul", "matmul"),
        _row("cousin", "log_softmax"),
        _row("far"),
        _row("cuda", language="cuda"),
    ]
    memory = _memory(rows, [{"a": 1.0}, {"a": 2.0}, {"a": 50.0}, {"a": 1.0}])
    assert _names(memory, {"a": 1.0}) == ["far", "cuda"]
    assert _names(memory, {"a": 1.0}, task="other") == ["cousin", "far"]
    assert _names(memory, {"a": 1.0}, task="other", family="other") == ["stranger", "cousin"]


def test_missing_numbers_are_left_out_of_the_distance() -> None:
    memory = _memory([_row("known"), _row("other")], [{"a": 1.0, "c": 9.0}, {"b": 4.0, "c": -9.0}])
    assert _names(memory, {"a": 1.0}) == ["known"]  # the other has nothing in common
    assert _names(memory, {"c": 9.0, "b": math.nan}) == ["known", "other"]
    assert NOTHING.nearest({"a": 1.0}, "softmax", "softmax", "triton", 3) == ()


def test_a_memory_survives_the_file_and_a_model_without_one_still_loads(tmp_path: Path) -> None:
    rows = [_row(f"r{i}") for i in range(40)]
    rng = np.random.default_rng(0)
    memory = _memory(rows, [dict(zip(COLUMNS, rng.normal(size=3), strict=True)) for _ in rows])
    path = tmp_path / "model.npz"
    replace(shipped(), memories={"gpu": memory}).save(path)
    again = Model.load(path)
    asked = {"a": 0.3, "b": -0.2, "c": 1.0}
    told = [m.nearest(asked, "softmax", "softmax", "triton", 5) for m in (memory, again.memory("gpu"))]
    assert [one.id for one in told[0]] == [one.id for one in told[1]]
    assert [one.speedup for one in told[0]] == [one.speedup for one in told[1]]
    assert again.memory("cpu") is NOTHING
    replace(shipped(), memories={}).save(path)
    assert Model.load(path).memory("gpu") is NOTHING


@pytest.mark.parametrize("name", ["memory.gpu.cells", "memory.gpu.scale", "memory.gpu.text", "memory.gpu.log2"])
def test_a_file_whose_memory_is_torn_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "model.npz"
    replace(shipped(), memories={"gpu": _memory([_row("one"), _row("two")], [{"a": 1.0}, {"a": 2.0}])}).save(path)
    with np.load(path) as file:
        arrays = {each: file[each] for each in file.files}
    np.savez(path, **arrays | {name: arrays[name][:1]})
    with pytest.raises(BadModel):
        Model.load(path)


def test_the_shipped_model_remembers_kernels_it_learnt_from() -> None:
    model = shipped()
    for kind in ("cpu", "gpu"):
        rows = model.memory(kind).rows
        assert {f"{kind} {row.task}" for row in rows} <= {name for name in model.tasks if name.startswith(kind)}
        assert len(rows) > 500
