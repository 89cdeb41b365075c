"""Work of problems by their references' Programs: recorded in the sandbox, kept by content, used for other tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from foretell.kernels.cost import recordings
from foretell.kernels.cost.tasks import references_of
from foretell.kernels.devices import described
from foretell.kernels.evaluate.foreign import foreign_pools, task_of
from foretell.kernels.record.job import decoded
from foretell.kernels.record.refusal import Reason, Recording, Refusal, is_own_fault
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
    reference, none = references_of([task, broken])
    assert reference is not None and none is None
    flops = 2.0 * 8 * 32 * 16 + 2 * 8 * 16
    least = 4.0 * (8 * 32 + 16 * 32 + 16 + 8 * 16)

    def again(*_: object) -> None:
        raise AssertionError("recorded twice")

    monkeypatch.setattr(recordings, "record_apart", again)
    assert references_of([task, task]) == [reference, reference]
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


@pytest.mark.skipif(available(server=True) is None, reason="nothing walls foreign code in here")
def test_a_refusal_is_kept_while_compiler_and_packages_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    task, device = kernelbench.from_text(PROBLEM, "linear"), described("a100")
    broken = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
    made = 0
    record = recordings.record_apart

    def counted(*question: Any) -> Recording:
        nonlocal made
        made += 1
        return record(*question)

    monkeypatch.setattr(recordings, "record_apart", counted)
    found = [recordings.recording_of(task, task.workloads[0], broken, "torch", device) for _ in range(2)]
    assert found[0].refusal == found[1].refusal and "ModelNew" in str(found[0].refusal) and made == 1
    monkeypatch.setattr(recordings, "_surroundings", lambda: ["another package"])
    assert not recordings.recording_of(task, task.workloads[0], broken, "torch", device).ok and made == 2


def test_what_the_machine_is_to_blame_for_is_not_held_against_a_candidate() -> None:
    for sentence in (
        "it did not finish within 120 s on a core", 'cannot open source file "cute/tensor.hpp"',
        "fatal error: cute/tensor.hpp: No such file or directory", "No module named 'cutlass'",
    ):  # fmt: skip
        assert not is_own_fault(Refusal(Reason.BUILD, sentence)), sentence
    assert is_own_fault(Refusal(Reason.BUILD, 'identifier "blockReduceSum" is undefined'))


def test_another_recorder_keeps_its_recordings_elsewhere(tmp_path: Path) -> None:
    for name in ("record", "languages/dry", "record/__pycache__"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("program.py", "program_codec.py", "operators.py", "record/session.py", "languages/dry/warp.py"):
        (tmp_path / name).write_text(name)
    before = recordings.recorder_hash(tmp_path)
    for name, changes in (
        ("languages/dry/warp.py", False),
        ("record/__pycache__/a.pyc", False),
        ("record/session.py", True),
    ):
        recordings.recorder_hash.cache_clear()
        (tmp_path / name).write_text("changed")
        assert (recordings.recorder_hash(tmp_path) != before) is changes, name


def test_a_row_whose_reference_is_not_a_problem_costs_nothing() -> None:
    task = task_of(foreign_row(0, 0))
    assert task.flops({}) == 0.0 and task.least_bytes({}) == 4.0
