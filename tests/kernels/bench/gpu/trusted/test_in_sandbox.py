"""The bench by replay with its processes behind the sandbox's walls, on the CPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from foretell.kernels.bench.gpu.bench import GpuBench, method_of
from foretell.kernels.candidate import Candidate
from foretell.kernels.corpus.plan import templates
from foretell.kernels.devices import described
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.profiles import GpuEffort
from foretell.kernels.sandbox import available
from foretell.kernels.task import Task
from foretell.kernels.tasks import kernelbench
from foretell.report.conditions import trust_note
from foretell.testing.host import Host
from tests.kernels.bench.gpu.host import softmax
from tests.kernels.bench.gpu.trusted.local import EFFORT
from tests.kernels.bench.gpu.trusted.test_replay_judge import HONEST, PROBLEM, kernel, model

sandboxed = pytest.mark.skipif(
    sys.platform != "linux" or available(server=True, gpu=True) is None, reason="no sandbox works here"
)
DEVICE = replace(described("h200"), cores=1)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GpuBench]:
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    with closing(GpuBench(EFFORT, 1, DEVICE, None, Host())) as made:
        yield made


def measured(bench: GpuBench, task: Task, *sources: str) -> list[Measurement]:
    candidates = [Candidate(task.key, "torch", source) for source in sources]
    outcomes = {candidate.id: outcome for candidate, outcome in bench.measure(task, candidates)}
    return [outcomes[candidate.id] for candidate in candidates]


@sandboxed
def test_candidates_of_the_library_are_replayed(bench: GpuBench) -> None:
    live = kernel("if float(x.sum()) > 1e30:\n    return x\nreturn torch.softmax(x, 1)")
    right, wrong, unrecorded = measured(bench, softmax(), HONEST, kernel("return torch.softmax(x, 0)"), live)
    assert right.ok and right.trust == "replay", right.message
    assert wrong.status is Status.WRONG
    assert unrecorded.ok and unrecorded.trust == "live", unrecorded.message
    assert "live" in trust_note(unrecorded) and not trust_note(right)
    assert right.device == bench.device.id and right.device.endswith(", replay")


@sandboxed
def test_problems_are_replayed_or_marked(bench: GpuBench) -> None:
    task = kernelbench.from_text(PROBLEM, "relu_layer")
    (right,) = measured(bench, task, model("(x @ self.weight.t() + self.bias).clamp(min=0)"))
    assert right.ok and right.trust == "replay", right.message
    odd = kernelbench.from_text(PROBLEM.replace("self.layer(x))", "self.layer(x) + float(x.sum()))"), "depends_on_data")
    (marked,) = measured(bench, odd, model("torch.relu(x @ self.weight.t() + self.bias + x.sum())"))
    assert marked.ok and marked.trust == "in process", marked.message
    assert "depends on data" in marked.conditions["trust_reason"]


def test_the_method_is_chosen_by_one_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FORETELL_GPU_METHOD", raising=False)
    assert method_of(GpuEffort()) == "replay"
    assert method_of(GpuEffort(method="worker")) == "worker"
    monkeypatch.setenv("FORETELL_GPU_METHOD", "worker")
    assert method_of(GpuEffort()) == "worker"
    monkeypatch.setenv("FORETELL_GPU_METHOD", "magic")
    with pytest.raises(ValueError, match="one of worker, replay"):
        method_of(GpuEffort())


@sandboxed
def test_kernels_without_library_calls_go_to_light_processes(bench: GpuBench) -> None:
    """There they fail here, for lack of a GPU, and the one after is measured all the same."""
    cuda = templates("cuda")["softmax"]
    candidates = [cuda.candidate(cuda.settings()[number]) for number in (0, 1)]
    task = softmax()
    outcomes = [outcome for _, outcome in bench.measure(task, candidates)]
    if any(outcome.status is Status.COMPILE_ERROR for outcome in outcomes):
        pytest.skip("no CUDA compiler")
    assert {(outcome.status, outcome.message) for outcome in outcomes} == {
        (Status.LAUNCH_ERROR, "kernels can only be carried out on a GPU")
    }
    (right,) = measured(bench, task, HONEST)
    assert right.ok, right.message
