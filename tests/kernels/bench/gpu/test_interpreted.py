"""Triton templates through Triton's interpreter: the plainest candidate of every task is right, on the CPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from foretell.kernels.propose.triton import templates
from tests.kernels.representatives import representatives

# The interpreter rounds bfloat16 in its own way (a product of two such matrices is off by much), and so it does 8 bits.
ROUNDED = {
    "conv2d_1x1", "conv2d_3x3_relu", "global_avg_pool", "matmul_transposed", "matmul_at", "matmul_residual",
    "matmul_silu_gate", "quantize_fp8_rows", "avg_pool2d", "stencil9", "row_cummax",
}  # fmt: skip
NAMES = [name for name in templates() if name not in ROUNDED]

SCRIPT = """
import sys
import torch
from foretell.kernels.languages.python_source import entry_of, load_module
from foretell.kernels.library import get
from foretell.kernels.propose.triton import templates
from foretell.kernels.tasks.runtime import runtime_of
from foretell.kernels.tasks.trees import leaves

for name in sys.argv[1:]:
    task = get(name, "gpu")
    runtime = runtime_of(task)
    template = templates()[name]
    entry = entry_of(load_module(template.render(template.settings()[0])))
    workload = min(task.extra, key=lambda w: sum(w.sizes.values()))
    inputs = runtime.inputs(workload, 5, "cpu")
    for got, want in zip(leaves(entry(*inputs)), runtime.expected(inputs, "cpu"), strict=True):
        room = task.tolerance.absolute + task.tolerance.relative * want.double().abs()
        assert ((got.double() - want.double()).abs() <= room).all(), name
    print("right", name)
"""


QUICK = representatives(NAMES, "gpu")
REST = [name for name in NAMES if name not in QUICK]
PARTS = 4  # of about half a minute each


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(sorted(QUICK), id="one-per-family"),
        *(pytest.param(REST[k::PARTS], id=f"rest-{k}", marks=pytest.mark.full) for k in range(PARTS)),
    ],
)
def test_plainest_candidates_are_right_in_the_interpreter(names: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *names],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("right") == len(names)
