"""A table of others judged with `program:eager`: texts as people publish them, recorded while they are judged."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("pyarrow")

from foretell.kernels.evaluate.data import read
from foretell.kernels.evaluate.judge import judge
from foretell.kernels.evaluate.metrics import assess
from foretell.kernels.forecast import make
from foretell.kernels.languages.extension.toolchain import nvcc
from foretell.kernels.sandbox import available
from tests.kernels.evaluate.world import foreign_row, write_foreign

pytestmark = pytest.mark.skipif(
    available(server=True) is None or nvcc() is None, reason="nothing walls foreign code in here, or there is no nvcc"
)

PROBLEM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1.0


def get_inputs():
    return [torch.randn(4096, 8192)]


def get_init_inputs():
    return []
"""
TWICE = PROBLEM.replace("Model", "ModelNew").replace("torch.relu(x)", "torch.relu(torch.relu(torch.relu(x)))")
# A word that redaction would replace stands in an option that matters: the text is executed as it is.
FUSED = """// a fast one
#include <torch/extension.h>

__global__ void fast_relu_plus_one(const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f) + 1.0f;
}

torch::Tensor forward(torch::Tensor x) {
  auto y = torch::empty_like(x);
  fast_relu_plus_one<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
"""
SHORT = PROBLEM.replace("Model", "ModelNew").replace("+ 1.0", "[0]")
BROKEN = "def broken(:\n"


@pytest.mark.full
def test_texts_as_they_are_published_are_recorded_and_judged(tmp_path: Path) -> None:
    texts = {TWICE: 0.6, FUSED: 1.9, SHORT: None, BROKEN: None}
    rows = [
        foreign_row(
            0, i, reference_code=PROBLEM, candidate_code=text, status="ok" if speedup else "wrong", speedup=speedup,
            shapes_json="[[4096, 8192]]",
        )
        for i, (text, speedup) in enumerate(texts.items())
    ]  # fmt: skip
    pools = read(write_foreign(tmp_path / "f.parquet", rows)).pools("all", "source")
    forecaster = make("program:eager")
    judged = judge(forecaster, pools)
    twice, fused, short, broken = judged.forecasts[0]
    assert fused.median > 0.5 > 0.0 > twice.median
    assert short.p_fail > 0.9 and broken.p_fail > 0.9 > fused.p_fail
    result = assess(judged, "program:eager", "all", resamples=20)
    for figure, right in (("pairs_10", 1.0), ("first_pick", 1.0), ("failure_auroc", 1.0), ("covered_80_pools", 1.0)):
        assert result.figures[figure].value == right, figure
    assert result.figures["width_80_pools"].value < 2.5
