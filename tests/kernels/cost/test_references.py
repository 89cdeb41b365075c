"""Work of problems by their references' Programs: recorded in the sandbox, kept by content, used for other tables."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from foretell.kernels.cost import recordings
from foretell.kernels.cost.tasks import references_of
from foretell.kernels.evaluate.foreign import foreign_pools, task_of
from foretell.kernels.record.job import decoded
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
    program, none = references_of([task, broken])
    assert program is not None and none is None
    flops = 2.0 * 8 * 32 * 16 + 2 * 8 * 16
    least = 4.0 * (8 * 32 + 16 * 32 + 16 + 8 * 16)

    def again(*_: object) -> None:
        raise AssertionError("recorded twice")

    monkeypatch.setattr(recordings, "record_apart", again)
    assert references_of([task, task]) == [program, program]
    [pool] = foreign_pools([foreign_row(0, i, reference_code=PROBLEM) for i in range(3)], "source")
    sizes = pool.task.workloads[0].sizes
    assert sizes == {"side0": 8, "side1": 32}
    assert [tensor.shape for tensor in pool.task.inputs] == [(8, 32), (16, 32), (16,)], "weights too"
    assert [(tensor.dtype, tensor.shape) for tensor in pool.task.outputs] == [("float32", (8, 16))]
    assert pool.task.flops(sizes) == flops and pool.task.least_bytes(sizes) == least


@pytest.mark.skipif(available(server=True) is None, reason="nothing walls foreign code in here")
def test_damaged_files_are_not_believed(tmp_path: Path) -> None:
    task = kernelbench.from_text(PROBLEM, "linear")
    before = references_of([task])
    [kept] = list((tmp_path / "recordings").rglob("*.json"))
    whole = kept.read_bytes()
    for damaged in (b"", b"{}", whole[: len(whole) // 2]):
        kept.write_bytes(damaged)
        assert references_of([task]) == before
    assert decoded(kept.read_bytes()).ok


def test_a_row_whose_reference_is_not_a_problem_costs_nothing() -> None:
    task = task_of(foreign_row(0, 0))
    assert task.flops({}) == 0.0 and task.least_bytes({}) == 4.0
