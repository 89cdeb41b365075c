"""Right programs are not called wrong for what rounding does to a task, and wrong ones are not excused by it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.bench.gpu.bench import GpuBench
from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Status
from foretell.kernels.protocols import Build
from foretell.kernels.tasks import kernelbench
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.testing.host import Host
from tests.kernels.bench.gpu.host import DEVICE, EFFORT, LocalWorker, judge_of, softmax

# Sums of terms up to 1e7 that cancel down to a few units: float32 cannot give them to within 1 %.
CANCELLING = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        terms = torch.exp(4 * x)
        return (terms - terms.flip(1) + x).cumsum(1)

def get_inputs():
    return [torch.randn(8, 256)]
"""
FORM = "import torch\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        {}\n"
IN_ANOTHER_ORDER = FORM.format(
    "t = torch.exp(4 * x); y = t - t.flip(1) + x; h = y[:, :128].cumsum(1); "
    "return torch.cat([h, y[:, 128:].cumsum(1) + h[:, -1:]], 1)"
)
WITHOUT_SMALL_TERMS = FORM.format("t = torch.exp(4 * x); return (t - t.flip(1)).cumsum(1)")
A_LITTLE_LARGE = FORM.format("t = torch.exp(4.02 * x); return (t - t.flip(1) + x).cumsum(1)")
HONEST = "import torch\n\ndef kernel(x):\n    return torch.softmax(x, 1)\n"


def _status(source: str) -> tuple[Status, str]:
    torch.manual_seed(0)
    task = kernelbench.from_text(CANCELLING, "cancelling")
    outcome = judge_of(task)[0].judge(Candidate(task.key, "torch", source))
    return outcome.status, outcome.message


def test_another_order_of_summation_is_right() -> None:
    assert _status(IN_ANOTHER_ORDER) == (Status.OK, "")


@pytest.mark.parametrize("source", [WITHOUT_SMALL_TERMS, A_LITTLE_LARGE])
def test_rounding_excuses_nothing_else(source: str) -> None:
    assert _status(source)[0] is Status.WRONG


class Full(Host):
    """Has no memory to lend the first few times, as while a worker holds what a candidate left."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self._times = times

    def lendable(self, size: int) -> Any:
        self._times -= 1
        if self._times >= 0:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().lendable(size)


def _bench(platform: Host) -> tuple[GpuBench, LocalWorker]:
    worker = LocalWorker(platform)
    return GpuBench(EFFORT, 1, DEVICE, worker, platform), worker


def test_memory_that_a_worker_keeps_is_freed_by_a_new_one() -> None:
    bench, worker = _bench(Full(1))
    judge = bench._judge_of(softmax())
    assert worker.starts > 0
    assert judge.judge(Candidate("softmax", "torch", HONEST)).ok
    bench.close()


def test_a_task_that_never_fits_is_refused() -> None:
    bench, _ = _bench(Full(9))
    with pytest.raises(BadTask, match="does not fit into the memory") as refused:
        bench.prepare(softmax())
    assert refused.value.reason is Refusal.TOO_LARGE
    bench.close()


class Crowded(Host):
    """Others hold most of its memory until they were waited for so many times."""

    def __init__(self, waits: int) -> None:
        super().__init__()
        self.waits = waits

    def lendable(self, size: int) -> Any:
        if self.waits > 0:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().lendable(size)

    def taken_bytes(self) -> int:
        self.waits -= 1
        return 3 << 28 if self.waits > 0 else 0


@pytest.mark.parametrize("waits", [1, 4])
def test_memory_that_others_hold_is_waited_for(waits: int) -> None:
    platform = Crowded(waits)
    bench = GpuBench(replace(EFFORT, memory_wait_s=0.001), 1, DEVICE, LocalWorker(platform), platform)
    outcome = bench._measure_one(softmax(), Candidate("softmax", "torch", HONEST), Build(Status.OK, "", {}), None)
    assert outcome.ok, outcome.message
    bench.close()


def test_memory_that_others_keep_is_not_held_against_a_candidate() -> None:
    platform = Crowded(1000)
    bench = GpuBench(replace(EFFORT, memory_wait_s=0.001), 1, DEVICE, LocalWorker(platform), platform)
    outcome = bench._measure_one(softmax(), Candidate("softmax", "torch", HONEST), Build(Status.OK, "", {}), None)
    assert outcome.status is Status.INFRASTRUCTURE
    assert outcome.message == "the GPU's memory is full: other processes hold 0.8 GiB"
    assert 1000 - platform.waits == 1 + EFFORT.memory_waits
    bench.close()
