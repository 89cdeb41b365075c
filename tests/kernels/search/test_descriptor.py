"""The cell of a candidate: which programs share one and which do not."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from foretell.kernels.candidate import Candidate
from foretell.kernels.measurement import Status
from foretell.kernels.propose import cpp, cuda, triton
from foretell.kernels.protocols import Build
from foretell.kernels.search.descriptor import cell_of
from foretell.kernels.search.strategy import Cell

CPP = 'extern "C" void kernel(const float* x, float* y, long n) { for (long i = 0; i < n; ++i) y[i] = x[i]; }'
CUDA = "__global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x]; }"
TRITON = """
import triton
import triton.language as tl

@triton.jit
def k(x, y, n):
    i = tl.program_id(0)
    a = tl.load(x + i)
    tl.store(y + i, a)
"""


def cell(language: str, source: str, **features: float) -> Cell:
    return cell_of(Candidate("copy", language, source), Build(Status.OK, features=features))


@pytest.mark.parametrize(
    ("language", "source", "old", "new"),
    [
        ("triton", TRITON, "    tl.store(", "    for j in range(n):\n        a += tl.load(x + j)\n    tl.store("),
        ("triton", TRITON, "    tl.store(", "    a = tl.dot(a, a)\n    tl.store("),
        ("triton", TRITON, "tl.store(", "tl.atomic_add("),
        ("cuda", CUDA, "{ y", "{ __shared__ float s[32]; y"),
        ("cuda", CUDA, "y[threadIdx.x] =", "atomicAdd(y,"),
        ("cuda", CUDA, "const float*", "const float4*"),
        ("cpp", CPP, "{ for", "{\n#pragma omp parallel for\nfor"),
        ("cpp", CPP, "{ for", "{\n#pragma omp simd\nfor"),
        ("cpp", CPP, "{ for", "{ float kept[64]; for"),
    ],
)
def test_structure_makes_a_cell(language: str, source: str, old: str, new: str) -> None:
    changed = source.replace(old, new)
    assert changed != source
    assert sum(a != b for a, b in zip(cell(language, source), cell(language, changed), strict=True)) == 1


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("registers", (16.0, 48.0, 100.0, 255.0)),
        ("shared_bytes", (0.0, 1056.0, 33792.0, 197632.0)),
        ("spills", (0.0, 20.0, 400.0)),
        ("code_log2", (5.0, 9.0, 12.0)),
    ],
)
def test_use_of_resources_makes_a_cell(name: str, values: tuple[float, ...]) -> None:
    assert len({cell("cuda", CUDA, **{name: value}) for value in values}) == len(values)


def test_remarks_names_and_small_differences_do_not() -> None:
    assert cell("cpp", CPP) == cell("cpp", "// for speed, atomic\n" + CPP.replace("x[i]", "2.0f * x[i]"))
    assert cell("cuda", CUDA, registers=34.0) == cell("cuda", CUDA, registers=40.0)
    assert cell("cpp", CPP, instructions=10.0) == cell("cpp", CPP)


def test_languages_are_apart_and_nothing_is_refused() -> None:
    found = {cell(language, "") for language in ("cpp", "triton", "cuda", "torch", "klingon")}
    assert len(found) == 5
    assert cell_of(Candidate("copy", "triton", "def ("), Build(Status.COMPILE_ERROR)) == cell("triton", "def (")
    assert cell_of(Candidate("copy", "cpp", CPP)) == cell("cpp", CPP)


@pytest.mark.parametrize("task", ["softmax", "matmul"])
@pytest.mark.parametrize("language", [cpp, triton, cuda], ids=["cpp", "triton", "cuda"])
def test_a_template_has_several_structures_and_not_very_many(language: ModuleType, task: str) -> None:
    template = language.templates()[task]
    settings = template.settings()
    drawn = np.random.default_rng(0).integers(len(settings), size=60)
    found = {cell_of(template.candidate(settings[i])) for i in drawn}
    assert 2 <= len(found) <= 20
