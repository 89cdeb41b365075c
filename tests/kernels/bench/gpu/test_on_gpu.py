"""What only a GPU can show: `make test-gpu` (or `pytest -m gpu`) on a machine that has one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from foretell.kernels.bench.gpu.bench import GpuBench
from foretell.kernels.bench.gpu.doctor import gpu_checks
from foretell.kernels.bench.gpu.farm import GpuFarm
from foretell.kernels.bench.gpu.problem import TaskProblem, from_path
from foretell.kernels.candidate import Candidate
from foretell.kernels.languages.python_source import language_of
from foretell.kernels.measurement import Status
from foretell.kernels.propose.triton import templates
from tests.kernels.bench.gpu.controls import CONTROLS
from tests.kernels.bench.gpu.exploits import EXPLOITS
from tests.kernels.bench.gpu.faults import FAULTS

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here"),
]
EXAMPLES = Path(__file__).parents[4] / "examples"
EXTENSION = """
import torch
from torch.utils.cpp_extension import load_inline

built = load_inline(
    "twice",
    cpp_sources="torch::Tensor soft(torch::Tensor x);",
    cuda_sources="torch::Tensor soft(torch::Tensor x) { return torch::softmax(x, 1); }",
    functions=["soft"],
)


def kernel(x):
    return built.soft(x)
"""


@pytest.fixture(scope="module")
def bench() -> Iterator[GpuBench]:
    made = GpuBench()
    yield made
    made.close()


def _status(bench: GpuBench, language: str, source: str) -> tuple[Status, str]:
    [(_, outcome)] = bench.measure_problem(TaskProblem("softmax"), [Candidate("softmax", language, source)])
    return outcome.status, outcome.message


@pytest.mark.parametrize("control", CONTROLS, ids=lambda c: c.name)
def test_odd_but_fair_kernels_pass(bench: GpuBench, control: object) -> None:
    assert _status(bench, control.language, control.source)[0] is Status.OK  # type: ignore[attr-defined]


@pytest.mark.parametrize("exploit", EXPLOITS, ids=lambda e: e.name)
def test_exploits_are_caught(bench: GpuBench, exploit: object) -> None:
    status, message = _status(bench, exploit.language, exploit.source)  # type: ignore[attr-defined]
    assert status in exploit.statuses, message  # type: ignore[attr-defined]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.name)
def test_faults_are_typed_and_leave_no_trace(bench: GpuBench, fault: object) -> None:
    status, message = _status(bench, fault.language, fault.source)  # type: ignore[attr-defined]
    assert status.value in fault.statuses, message  # type: ignore[attr-defined]
    template = templates()["softmax"]
    assert _status(bench, "triton", template.render(template.settings()[0]))[0] is Status.OK


@pytest.mark.parametrize(("problem", "file"), [("kernelbench/gelu_problem.py", "kernelbench/gelu_triton.py"),
                                              ("gpumode", "gpumode/submission.py")])  # fmt: skip
def test_the_examples_are_measured_as_they_are(bench: GpuBench, problem: str, file: str) -> None:
    read = from_path(EXAMPLES / problem)
    source = (EXAMPLES / file).read_text()
    [(_, outcome)] = bench.measure_problem(read, [Candidate(read.name, language_of(source), source)])
    assert outcome.ok, outcome.message


def test_an_extension_is_built_once(bench: GpuBench) -> None:
    first = Candidate("softmax", "torch", EXTENSION)
    built = bench.build_one(TaskProblem("softmax"), first)
    assert built.ok, built.message
    assert _status(bench, "torch", EXTENSION)[0] is Status.OK
    again = GpuBench()
    rebuilt = again.build_one(TaskProblem("softmax"), first)
    again.close()
    assert rebuilt.ok and rebuilt.seconds < built.seconds / 2


def test_a_farm_measures_what_a_bench_measures() -> None:
    template = templates()["row_sum"]
    wanted = [template.candidate(s) for s in template.settings()[:12]]
    farm = GpuFarm(["0", "0"])  # the same GPU twice: times disturb each other, verdicts must not
    outcomes = {c.id: m for c, m in farm.measure_problem(TaskProblem("row_sum"), wanted)}
    farm.close()
    assert len(outcomes) == len(wanted)
    assert all(m.status is not Status.INFRASTRUCTURE for m in outcomes.values()), outcomes


def test_the_doctor_finds_it_fit_to_measure() -> None:
    found = gpu_checks()
    assert any("test-retest" in check.name and check.ok is not False for check in found), found
