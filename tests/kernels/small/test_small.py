"""Candidates run at small sizes on the CPU: which sizes, which numbers, which verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from foretell.kernels.forecast.evidence import SMALL, small_evidence
from foretell.kernels.small import apart
from foretell.kernels.small.apart import SmallRun, run_small
from foretell.kernels.small.outcome import AGREES, DIFFERS, NOT_RUN, Outcome
from foretell.kernels.small.sensitive import Sensitivity
from foretell.kernels.small.sizes import changed, changes, form_of
from foretell.kernels.tasks import kernelbench

PROBLEM = """
import torch

batch = 64
tokens = 1024
width = 256


class Model(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.rand(width))

    def forward(self, x):
        return OUTPUT


def get_inputs():
    return [torch.randn(batch, tokens, width)]


def get_init_inputs():
    return [width]
"""
PLAIN = PROBLEM.replace("OUTPUT", "torch.sigmoid(x) * self.gain")
STEPS = PROBLEM.replace("OUTPUT", "torch.round(x * 40) / 4 * self.gain")
TRITON = """
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, gain, out, width: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, width)
    value = tl.load(x + row * width + at)
    tl.store(out + row * width + at, value / (1 + tl.exp(-value)) / value * tl.load(gain + at))


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.rand(width))

    def forward(self, x):
        out = torch.empty_like(x)
        kernel[(x.numel() // x.shape[-1],)](x, self.gain, out, x.shape[-1])
        return out
"""


def test_only_sizes_that_parameters_do_not_depend_on_become_smaller() -> None:
    task = kernelbench.from_text(PLAIN, "gate")
    found = changes(task)
    assert found and {name for name, _, _ in found} == {"batch", "tokens"}
    form = form_of(changed(task, found))
    assert form is not None and form.runs and form.inputs[0] == (2, 128, 256)  # batches first, and no row is cut
    assert form_of(kernelbench.from_text("import nothing_of_that_name\n" + PLAIN, "gate")) is None


def test_literals_become_smaller_everywhere_that_they_mean_the_same() -> None:
    drawn = "[torch.randn(1024, 256).reshape(256, 1024).t(), torch.randn(1024, 256), torch.randn(256)]"
    text = PLAIN.replace("[torch.randn(batch, tokens, width)]", drawn).replace(
        "def forward(self, x):", "def forward(self, x, y, z):"
    )
    task = kernelbench.from_text(text.replace("torch.sigmoid(x)", "(x + y + z)"), "gate")
    found = changes(task)
    assert found
    form = form_of(changed(task, found))
    assert form is not None and form.inputs == ((128, 256), (128, 256), (256,))


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (("", ""), AGREES),
        (("* tl.load(gain", "+ tl.load(gain"), DIFFERS),
        (("out = torch.empty_like(x)", "assert x.shape[0] == 64"), NOT_RUN),  # written for its sizes alone
    ],
)
def test_a_candidate_is_run_in_the_sandbox_and_never_wrong_for_what_cannot_run(
    change: tuple[str, str], verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("triton")
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    run = run_small(kernelbench.from_text(PLAIN, "gate"), TRITON.replace(*change), "triton")
    assert run.outcome is not None and run.outcome.verdict == verdict, run.outcome
    assert run.sensitivity == Sensitivity(0.0, -20.0)
    monkeypatch.setattr(apart, "_server", None)  # what was run is not run again
    assert run_small(kernelbench.from_text(PLAIN, "gate"), TRITON.replace(*change), "triton") == run


CUDA = """
import torch
from torch.utils.cpp_extension import load_inline

extension = load_inline(
    name="gate",
    cpp_sources="torch::Tensor gate(torch::Tensor x, torch::Tensor gain);",
    cuda_sources=r'''
__global__ void kernel(const float* x, const float* gain, float* out, int width, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) out[i] = gain[i % width] / (1.f + expf(-x[i]));
}
torch::Tensor gate(torch::Tensor x, torch::Tensor gain) {
    auto out = torch::empty_like(x);
    int count = x.numel();
    kernel<<<(count + 255) / 256, 256>>>(
        x.data_ptr<float>(), gain.data_ptr<float>(), out.data_ptr<float>(), x.size(2), count);
    return out;
}
''',
    functions=["gate"],
)


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.rand(width))

    def forward(self, x):
        return extension.gate(x, self.gain)
"""


@pytest.mark.parametrize(
    ("change", "verdict"), [(("", ""), AGREES), (("gain[i % width]", "gain[i / width % width]"), DIFFERS)]
)
def test_kernels_of_extensions_are_executed(
    change: tuple[str, str], verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from foretell.kernels.languages.extension.toolchain import nvcc

    if nvcc() is None:
        pytest.skip("there is no nvcc")
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    run = run_small(kernelbench.from_text(PLAIN, "gate"), CUDA.replace(*change), "cuda")
    assert run.outcome is not None and run.outcome.verdict == verdict, run.outcome


def test_reading_beyond_a_buffer_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("triton")
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    run = run_small(
        kernelbench.from_text(PLAIN, "gate"), TRITON.replace("tl.load(gain + at)", "tl.load(gain + at * 3)"), "triton"
    )
    assert run.outcome is not None and run.outcome.verdict == DIFFERS and run.outcome.strays > 0


def test_a_task_that_rounds_is_sensitive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    run = run_small(kernelbench.from_text(STEPS, "steps"), "def kernel(x):\n    return x\n", "torch")
    assert run.sensitivity is not None and run.sensitivity.steps > 1e-4
    assert small_evidence(run)[f"{SMALL}sensitive"] > 0.1


@pytest.mark.parametrize(
    "reply",
    [
        b"[]", b"1e999", b'{"verdict": "agrees"}',
        json.dumps({"verdict": "agrees", "sentence": "", "excess_log2": 1e9, "exact": 1.0, "wrong": 0.0}).encode(),
        b'{"verdict": "agrees", "sentence": "", "excess_log2": NaN, "exact": 1.0, "wrong": 0.0}',
    ],
)  # fmt: skip
def test_a_forged_answer_is_no_verdict(reply: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Server:
        def call(self, *_: Any) -> bytes:
            return reply

    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    monkeypatch.setattr(apart, "_server", Server)
    assert apart.emulate_apart(kernelbench.from_text(PLAIN, "gate"), TRITON, "triton").verdict == NOT_RUN


def test_evidence_of_runs() -> None:
    right = small_evidence(SmallRun(Outcome(AGREES, "", -12.0, 1.0, 0.0), Sensitivity(0.002, -20.0)))
    wrong = small_evidence(SmallRun(Outcome(DIFFERS, "", 3.0, 0.1, 0.5), Sensitivity(0.002, -20.0)))
    unknown = small_evidence(SmallRun(Outcome(NOT_RUN, "ValueError"), Sensitivity(0.0, -20.0)))
    assert right[f"{SMALL}exact"] == 1.0 and right[f"{SMALL}wrong"] == right[f"{SMALL}loose"] == 0.0
    assert wrong[f"{SMALL}wrong"] > 0.9 and wrong[f"{SMALL}near"] == 1.0 and wrong[f"{SMALL}loose"] > 0.2
    assert set(unknown.values()) == {0.0}


def test_weights_of_small_runs_are_learnt() -> None:
    from foretell.train.residual import logistic

    rng = np.random.default_rng(3)
    shown = rng.random(500) < 0.2
    wrong = rng.random(500) < np.where(shown, 0.8, 0.05)
    columns = np.column_stack([np.ones(500), shown])
    found = logistic(columns, wrong, np.full(500, -2.0), np.ones(500), 1.0)
    chances = 1 / (1 + np.exp(-(-2.0 + columns @ found)))
    assert chances[shown].mean() == pytest.approx(wrong[shown].mean(), abs=0.05)
    assert chances[~shown].mean() == pytest.approx(wrong[~shown].mean(), abs=0.03)
