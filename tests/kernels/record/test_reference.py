"""Work of problems by their references' Programs: recorded in the sandbox, kept by content, used for other tables."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")

from foretell.kernels.evaluate.foreign import foreign_pools, task_of
from foretell.kernels.record import reference
from foretell.kernels.record.reference import Array, ReferenceWork, reference_works
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

    monkeypatch.setattr(reference, "record_apart", again)
    assert reference_works([task, broken, task]) == [work, None, work]
    [pool] = foreign_pools([foreign_row(0, i, reference_code=PROBLEM) for i in range(3)], "source")
    sizes = pool.task.workloads[0].sizes
    assert sizes == {"side0": 8, "side1": 32}
    assert pool.task.flops(sizes) == flops and pool.task.least_bytes(sizes) == least


def test_damaged_files_are_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    task = kernelbench.from_text(PROBLEM, "linear")
    monkeypatch.setattr(reference, "_can_record", lambda: False)
    path = reference._path(task)
    path.parent.mkdir(parents=True)
    good = '{"format": 1, "work": {"inputs": [], "outputs": [], "flops": 1.0, "least_bytes": 1.0, "launches": 1, '
    for text in ("", "[]", "{}", '{"format": 2}', good + '"intermediate_bytes": "many"}}', good + '"odd": 1}}'):
        path.write_text(text)
        assert reference_works([task]) == [None]
    path.write_text(good + '"intermediate_bytes": 0.0}}')
    assert reference_works([task]) == [ReferenceWork((), (), 1.0, 1.0, 1, 0.0)]


def test_a_row_whose_reference_is_not_a_problem_costs_nothing() -> None:
    task = task_of(foreign_row(0, 0))
    assert task.flops({}) == 0.0 and task.least_bytes({}) == 4.0
