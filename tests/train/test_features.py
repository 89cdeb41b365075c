"""Training the feature model on a slice of the corpus: the same file every time, better than nothing, honest doubt."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("pyarrow")

from foretell.belief import spearman
from foretell.kernels.corpus.table import read
from foretell.kernels.devices import described
from foretell.kernels.evaluate.pools import subject_of
from foretell.kernels.forecast import TrainedForecaster
from foretell.kernels.forecast.explain import explain
from foretell.kernels.forecast.model import REGIMES, Model
from foretell.kernels.library import get
from foretell.train import features
from foretell.train.features import Effort, train
from tests.train.slices import slice_of

TASKS = ("row_sum", "row_max", "rmsnorm", "silu", "outer_sum")
EFFORT = Effort(15, 5, 5, folds=2)
HELD = "row_mean"
DEVICES = {"NVIDIA H200": described("h200")}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    found = read(slice_of((*TASKS, HELD), tmp_path_factory.mktemp("corpus")))[::6]
    return [{**r, "split": "held_operation" if r["task"] == HELD else r["split"]} for r in found]


def test_processes_that_share_the_work_end_at_once_when_it_is_cut() -> None:
    others = set(multiprocessing.active_children())
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), features._workers(2) as each:
        each(time.sleep, [60.0] * 6)  # type: ignore[arg-type]
        assert len(set(multiprocessing.active_children()) - others) == 2
        raise KeyboardInterrupt
    # Asked again and again: while a thread of the pool collects a process that ended, it may still be named here.
    while set(multiprocessing.active_children()) - others and time.monotonic() - began < 40.0:
        time.sleep(0.05)
    assert not set(multiprocessing.active_children()) - others


@pytest.mark.full
def test_processes_that_share_the_work_train_the_same_model(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    for jobs in (1, 2):
        train(rows, DEVICES, 0, replace(EFFORT, jobs=jobs), print).save(tmp_path / f"{jobs}.npz")
    assert (tmp_path / "1.npz").read_bytes() == (tmp_path / "2.npz").read_bytes()


def test_a_model_is_trained_saved_and_of_use(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    said: list[str] = []
    model = train(rows, DEVICES, 0, EFFORT, said.append)
    assert any("operation new" in words for words in said)
    assert set(model.tiers) == {"gpu.source", "gpu.build"}
    model.save(tmp_path / "one.npz")
    assert model.regime("gpu", HELD, "reduction") == REGIMES[1]
    held = [r for r in rows if r["task"] == HELD and r["speedup"] and r["features"]]
    task = get(HELD, "gpu")
    told = TrainedForecaster(model).forecast(task, DEVICES["NVIDIA H200"], [subject_of(r, "build") for r in held])
    assert spearman([f.mean for f in told], [r["speedup"] for r in held]) > 0.4
    remembered = Model.load(tmp_path / "one.npz").memory("gpu").rows
    assert {row.task for row in remembered} == set(TASKS)
    near = explain(TrainedForecaster(model), task, DEVICES["NVIDIA H200"], subject_of(held[0], "build")).neighbours
    assert len(near) == 3 and all(one.task in ("row_sum", "row_max") for one in near)  # others of its family
    assert all(0.0 < one.speedup < 100.0 and one.device == "NVIDIA H200" and one.words for one in near)
