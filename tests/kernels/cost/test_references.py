"""Work of problems by their references' Programs: recorded in the sandbox, kept by content, used for other tables."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from foretell.kernels.cost import recordings
from foretell.kernels.cost.references import Array, ReferenceWork, reference_works
from foretell.kernels.evaluate.foreign import foreign_pools, task_of
from foretell.kernels.sandbox import available
from foretell.kernels.tasks import kernelbench
from tests.kernels.evaluate.world import foreign_row

PROBLEM = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(width, 16)

    def forward(self, x):
        return torch.relu(self.fc(x))


def get_inputs():
    return [torch.rand(8, 32)]


def get_init_inputs():
    return [32]
"""


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))


@pytest.mark.skipif(available(server=True) is None, reason="nothing walls foreign code in here")
def test_work_is_recorded_once_and_used(monkeypatch: pytest.MonkeyPatch) -> None:
    task = kernelbench.from_text(PROBLEM, "linear")
    broken = kernelbench.from_text(PROBLEM.replace("self.fc(x)", "self.fc(x).nosuch()"), "broken")
    work, none = reference_works([task, broken])
    inputs = (Array("float32", (8, 32)), Array("float32", (16, 32)), Array("float32", (16,)))
    flops = 2.0 * 8 * 32 * 16 + 2 * 8 * 16
    least = 4.0 * (8 * 32 + 16 * 32 + 16 + 8 * 16)
    assert work == ReferenceWork(inputs, (Array("float32", (8, 16)),), flops, least, 2, 4.0 * 8 * 16) and none is None

    def again(*_: object) -> None:
        raise AssertionError("recorded twice")

    monkeypatch.setattr(recordings, "record_apart", again)
    assert reference_works([task, task]) == [work, work]
    [pool] = foreign_pools([foreign_row(0, i, reference_code=PROBLEM) for i in range(3)], "source")
    sizes = pool.task.workloads[0].sizes
    assert sizes == {"side0": 8, "side1": 32}
    assert pool.task.flops(sizes) == flops and pool.task.least_bytes(sizes) == least


@pytest.mark.skipif(available(server=True) is None, reason="nothing walls foreign code in here")
def test_damaged_files_are_not_believed(tmp_path: Path) -> None:
    task = kernelbench.from_text(PROBLEM, "linear")
    before = reference_works([task])
    [kept] = list((tmp_path / "recordings").rglob("*.json"))
    whole = kept.read_bytes()
    for damaged in (b"", b"{}", whole[: len(whole) // 2]):
        kept.write_bytes(damaged)
        assert reference_works([task]) == before
    assert recordings.decoded(kept.read_bytes()).ok


def test_a_row_whose_reference_is_not_a_problem_costs_nothing() -> None:
    task = task_of(foreign_row(0, 0))
    assert task.flops({}) == 0.0 and task.least_bytes({}) == 4.0
