"""The GPU bench's processes behind the sandbox's walls, on the CPU: candidates in the worker, problems in the judge."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from foretell.kernels.bench.gpu import apart
from foretell.kernels.bench.gpu.apart import JudgeApart
from foretell.kernels.bench.gpu.bench import GpuBench
from foretell.kernels.bench.gpu.handle import DeviceLost, WorkerHandle
from foretell.kernels.bench.gpu.judge import Judge
from foretell.kernels.bench.gpu.probes import probe_judge, probe_worker
from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Build
from foretell.kernels.sandbox import available
from foretell.kernels.sandbox.probes.decoys import Decoys
from foretell.kernels.sandbox.probes.verdict import Verdict
from foretell.kernels.task import Task
from foretell.kernels.tasks import BadTask, Refusal, kernelbench
from foretell.testing.host import Host
from tests.kernels.bench.gpu.host import DEVICE, EFFORT, softmax

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or available(server=True, gpu=True) is None, reason="no sandbox works here"
)
HOST = "foretell.testing.host:Host"
HONEST = "import torch\ndef kernel(x):\n    return torch.softmax(x, dim=1)\n"
PROBLEM = """
import torch, torch.nn as nn
BEFORE
class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = nn.Linear(n, n)
    def forward(self, x):
        return torch.relu(self.layer(x))
def get_inputs():
    WHILE
    return [torch.randn(8, 16)]
def get_init_inputs():
    return [16]
"""
SAME = """
import torch, torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = nn.Linear(n, n)
    def forward(self, x):
        return self.layer(x).clamp(min=0)
"""


@pytest.fixture(scope="module")
def worker() -> Iterator[WorkerHandle]:
    made = WorkerHandle(HOST)
    yield made
    made.close()


@pytest.mark.full
def test_a_worker_that_cannot_start_is_the_machines_fault_with_its_cause() -> None:
    """Not the candidate's: no status of a candidate may come of an environment that is broken."""
    broken = WorkerHandle("foretell.testing.missing:Host")
    bench = GpuBench(EFFORT, 1, DEVICE, broken, Host())
    outcome = bench._measure_one(softmax(), Candidate("softmax", "torch", HONEST), Build(Status.OK, "", {}), None)
    bench.close()
    assert outcome.status is Status.INFRASTRUCTURE
    assert "No module named 'foretell.testing.missing'" in outcome.message


def problem(before: str = "", during: str = "pass") -> Task:
    return kernelbench.from_text(PROBLEM.replace("BEFORE", before).replace("WHILE", during), "relu_layer")


def judged(worker: WorkerHandle, source: str) -> Measurement:
    return Judge(softmax(), worker, DEVICE, EFFORT, Host()).judge(Candidate("softmax", "torch", source))


def test_an_honest_candidate_is_measured(worker: WorkerHandle) -> None:
    assert judged(worker, HONEST).ok


@pytest.mark.parametrize("probe", [probe_worker, probe_judge])
def test_nothing_can_be_reached(probe: Callable[..., Verdict], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_TEST_SECRET", "very-secret-value")
    verdict = probe(Host(), DEVICE, tmp_path)
    assert verdict.breaches == () and verdict.attempts >= 60


def test_an_honest_problem_is_judged_apart(worker: WorkerHandle) -> None:
    task = problem()
    judge = JudgeApart(task, worker, DEVICE, EFFORT, HOST)
    try:
        right = judge.judge(Candidate(task.key, "torch", SAME))
        wrong = judge.judge(Candidate(task.key, "torch", SAME.replace("min=0", "min=0.5")))
        again = judge.judge(Candidate(task.key, "torch", SAME + "# once more\n"))
    finally:
        judge.close()
    assert right.ok and again.ok, (right.message, again.message)
    assert right.device == DEVICE.id
    assert wrong.status is Status.WRONG
    assert judge.spent_s["make"] > 0
    assert not worker.alive


@pytest.mark.parametrize(
    ("during", "words"),
    [("import os; os._exit(0)", "ended its process"), ("import time; time.sleep(3600)", "did not finish within"),
     ("raise ValueError('no data')", "no data")],
)  # fmt: skip
def test_what_a_problem_does_is_its_own_fault(worker: WorkerHandle, during: str, words: str) -> None:
    with pytest.raises(BadTask, match=words) as refused:
        JudgeApart(problem(during=during), worker, DEVICE, replace(EFFORT, task_timeout_s=3.0), HOST)
    assert refused.value.reason is Refusal.DOES_NOT_RUN


def test_a_judge_that_is_gone_is_told(worker: WorkerHandle) -> None:
    task = problem("calls = 0", "global calls; calls += 1\n    if calls > 8: import os; os._exit(3)")
    judge = JudgeApart(task, worker, DEVICE, EFFORT, HOST)
    with pytest.raises(DeviceLost, match="exit code 3"):
        for number in range(9):
            judge.judge(Candidate(task.key, "torch", f"{SAME}# {number}\n"))
    assert not judge.alive
    judge.close()


def test_nothing_of_a_candidate_outlives_its_worker(worker: WorkerHandle, tmp_path: Path) -> None:
    """A child that leaves the session, closes its descriptors and ignores signals is gone with the worker."""
    source = (
        "import ctypes, os, signal, time, torch\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "    ctypes.CDLL(None).prctl(15, b'MARKER', 0, 0, 0)\n"
        "    os.closerange(0, 1000)\n"
        "    time.sleep(3600)\n"
        "def kernel(x):\n"
        "    return torch.softmax(x, dim=1)\n"
    )
    with Decoys(tmp_path) as decoys:
        assert judged(worker, source.replace("MARKER", decoys.target.process_name)).ok
        worker.stop()
        worker.await_end()
        assert decoys.damage() == []


FORGE = """
import json, os, stat, struct
def forge(message, times):
    raw = json.dumps(message).encode()
    for fd in range(3, 64):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                for _ in range(times):
                    os.write(fd, struct.pack("!i", len(raw)) + raw)
        except OSError:
            pass
"""


@pytest.mark.parametrize("message", [{"worker": "start"}, {"done": 1, "worker": []}, ["odd"], {"refused": 3}])
def test_a_problem_that_speaks_for_its_judge_is_refused(worker: WorkerHandle, message: object) -> None:
    starts = worker.starts
    with pytest.raises(BadTask, match="in its own way"):
        JudgeApart(problem(FORGE, f"forge({message!r}, 1)"), worker, DEVICE, EFFORT, HOST)
    assert worker.starts == starts


def test_a_judge_that_never_stops_asking_is_stopped(worker: WorkerHandle, monkeypatch: pytest.MonkeyPatch) -> None:
    during = "global calls; calls += 1\n    if calls > 8: forge({'worker': 'stop'}, 10**9)"
    task = problem(FORGE + "calls = 0", during)
    monkeypatch.setattr(apart, "_MOST_SILENCES", 0.2)
    monkeypatch.setattr(apart, "SEND_S", 2.0)
    judge = JudgeApart(task, worker, DEVICE, replace(EFFORT, task_timeout_s=30.0), HOST)
    with pytest.raises((BadTask, DeviceLost), match=r"did not finish|is gone"):
        for number in range(9):
            judge.judge(Candidate(task.key, "torch", f"{SAME}# {number}\n"))
    judge.close()


def test_a_bench_walls_in_the_judges_of_problems_alone(worker: WorkerHandle) -> None:
    bench = GpuBench(EFFORT, 1, DEVICE, worker, Host())
    try:
        judge = bench._judge_of(problem())
        assert isinstance(judge, JudgeApart)
        bench.prepare(problem())
        starts = worker.starts
        assert worker.alive and bench._judge_of(problem()) is judge
        assert isinstance(bench._judge_of(softmax()), Judge)
        bench.prepare(softmax())
        assert worker.starts == starts + 1  # the problem's code ran in the one before
    finally:
        bench.close()


@pytest.mark.parametrize(("taken_bytes", "status"), [(3 << 28, Status.INFRASTRUCTURE), (0, Status.LAUNCH_ERROR)])
def test_a_judge_without_memory_raises_nothing(
    worker: WorkerHandle, monkeypatch: pytest.MonkeyPatch, taken_bytes: int, status: Status
) -> None:
    during = "global calls; calls += 1\n    if calls > 8: raise torch.OutOfMemoryError('CUDA out of memory')"
    monkeypatch.setattr(Host, "taken_bytes", lambda _: taken_bytes)  # here; the judge has a platform of its own
    effort = replace(EFFORT, memory_waits=2, memory_wait_s=0.01, most_pairs=3)
    bench = GpuBench(effort, 1, DEVICE, worker, Host())
    task = problem("calls = 0", during)
    try:
        outcomes = [
            bench._measure_one(task, Candidate(task.key, "torch", f"{SAME}# {n}\n"), Build(Status.OK, "", {}), None)
            for n in range(2)
        ]
    finally:
        bench.close()
    assert all(outcome.ok or outcome.status is status for outcome in outcomes), outcomes
