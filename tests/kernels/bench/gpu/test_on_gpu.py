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
from foretell.kernels.candidate import Candidate
from foretell.kernels.languages.python_source import language_of
from foretell.kernels.library import get
from foretell.kernels.measurement import Status
from foretell.kernels.propose.triton import templates
from foretell.kernels.tasks import kernelbench, load
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
    [(_, outcome)] = bench.measure(get("softmax", "gpu"), [Candidate("softmax", language, source)])
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
    task = load(EXAMPLES / problem)
    source = (EXAMPLES / file).read_text()
    [(_, outcome)] = bench.measure(task, [Candidate(task.key, language_of(source), source)])
    assert outcome.ok, outcome.message


MODEL = """
import torch, torch.nn as nn
class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = LAYER
    def forward(self, x):
        return torch.relu(self.layer(x)) * 2
def get_inputs(): return [torch.randn(SHAPE)]
def get_init_inputs(): return [WIDTH]
"""
EPILOGUE = """
import torch, torch.nn as nn, triton, triton.language as tl
@triton.jit
def epilogue(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.maximum(tl.load(x + i, i < n), 0.0) * 2, i < n)
class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = LAYER
    def forward(self, x):
        y = self.layer(x)
        out = torch.empty_like(y)
        epilogue[(triton.cdiv(y.numel(), 1024),)](y, out, y.numel(), 1024)
        return out
"""
COMPILED = """
import torch, torch.nn as nn
class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = LAYER
        self.fast = torch.compile(lambda x: torch.relu(self.layer(x)) * 2)
    def forward(self, x):
        return self.fast(x)
"""
ON_THE_DEFAULT_STREAM = """
import torch, torch.nn as nn
from torch.utils.cpp_extension import load_inline
built = load_inline("relu2", cpp_sources="torch::Tensor relu2(torch::Tensor x);", functions=["relu2"], cuda_sources='''
__global__ void kernel(const float* x, float* out, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] > 0 ? 2 * x[i] : 0;
}
torch::Tensor relu2(torch::Tensor x) {
    auto out = torch::empty_like(x);
    kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
}''')
class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = LAYER
    def forward(self, x):
        return built.relu2(self.layer(x))
"""
LAYERS = {
    "linear": ("nn.Linear(n, n)", "1024, 8192", "8192"),
    "convolution": ("nn.Conv2d(n, n, 3, padding=1)", "8, 64, 128, 128", "64"),
}


@pytest.mark.parametrize("source", [EPILOGUE, COMPILED, ON_THE_DEFAULT_STREAM], ids=["triton", "compiled", "inline"])
@pytest.mark.parametrize("layer", LAYERS)
def test_what_people_write_for_models_passes(bench: GpuBench, layer: str, source: str) -> None:
    """Library calls beside kernels of one's own, large weights, torch.compile, launches on the default stream."""
    code, shape, width = LAYERS[layer]
    model = MODEL.replace("LAYER", code).replace("SHAPE", shape).replace("WIDTH", width)
    task = kernelbench.from_text(model, layer)
    text = source.replace("LAYER", code)
    [(_, outcome)] = bench.measure(task, [Candidate(task.key, language_of(text), text)])
    assert outcome.ok, outcome.message
    assert outcome.speedup is not None and outcome.speedup > 0.8
    assert outcome.conditions["timed"] == "graph"  # the default stream is stood in for while capturing


def test_an_extension_is_built_once(bench: GpuBench) -> None:
    first = Candidate("softmax", "torch", EXTENSION)
    [built] = bench.build(get("softmax", "gpu"), [first])
    assert built.ok, built.message
    assert _status(bench, "torch", EXTENSION)[0] is Status.OK
    again = GpuBench()
    [rebuilt] = again.build(get("softmax", "gpu"), [first])
    again.close()
    assert rebuilt.ok and rebuilt.seconds < built.seconds / 2


def test_a_farm_measures_what_a_bench_measures() -> None:
    template = templates()["row_sum"]
    wanted = [template.candidate(s) for s in template.settings()[:12]]
    farm = GpuFarm(["0", "0"])  # the same GPU twice: times disturb each other, verdicts must not
    outcomes = {c.id: m for c, m in farm.measure(get("row_sum", "gpu"), wanted)}
    farm.close()
    assert len(outcomes) == len(wanted)
    assert all(m.status is not Status.INFRASTRUCTURE for m in outcomes.values()), outcomes


def test_the_doctor_finds_it_fit_to_measure() -> None:
    found = gpu_checks()
    assert any("test-retest" in check.name and check.ok is not False for check in found), found
