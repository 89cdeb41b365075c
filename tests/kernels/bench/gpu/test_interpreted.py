"""Triton templates through Triton's interpreter: the plainest candidate of every task is right, on the CPU."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from foretell.kernels.propose.triton import templates

# The interpreter takes minutes for a large matrix product or attention, and does bfloat16 products in its own way.
SLOW = {"attention", "attention_causal", "matmul", "matmul_transposed", "matmul_bias_gelu", "batched_matmul"}
NAMES = [name for name in templates() if name not in SLOW]

SCRIPT = """
import sys
import torch
from foretell.kernels.bench.gpu.problem import TaskProblem, as_list
from foretell.kernels.languages.python_source import entry_of, load_module
from foretell.kernels.propose.triton import templates

for name in sys.argv[1:]:
    problem = TaskProblem(name)
    template = templates()[name]
    entry = entry_of(load_module(template.render(template.settings()[0])))
    case = min((c for c in problem.cases if not c.timed), key=lambda c: sum(c.sizes.values()))
    inputs = problem.inputs(case, 5, "cpu")
    for got, want in zip(as_list(entry(*inputs)), problem.expected(inputs, "cpu"), strict=True):
        room = problem.tolerance.absolute + problem.tolerance.relative * want.double().abs()
        assert ((got.double() - want.double()).abs() <= room).all(), name
    print("right", name)
"""


def test_plainest_candidates_are_right_in_the_interpreter() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *NAMES],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("right") == len(NAMES)
