from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.kernels.candidate import LANGUAGES, strip_comments
from foretell.kernels.forecast import describe, static_features
from foretell.kernels.forecast.c_structure import loop_depths, subscripts
from foretell.kernels.forecast.c_tokens import integer, tokens
from foretell.kernels.library import tasks

FRAGMENTS = st.sampled_from(
    [
        *"{}()[];\"'\\#\n\0\u2028é",
        *("/*", "*/", "//", "do", "else", "1.0", "0x", "1e", "while (x)", "for (int i = 0; i < 8; ++i)"),
        *("a[i * n + j]", "std::exp(v)", "float t[8][8];", "#define T 64\n", "constexpr int T = 32;"),
        *("#pragma omp parallel for schedule(dynamic, 4)", "_mm512_fmadd_ps(a, b, c)"),
    ]
)

KERNEL = """
#define TILE 64
// for (;;) for (;;)
extern "C" void kernel(const float* a, float* c, int64_t n) {
    #pragma omp parallel for collapse(2) schedule(dynamic, 4)
    for (int64_t i = 0; i < n; i += TILE)
        for (int64_t j = 0; j < n; j += 16) {
            float tile[TILE][8];
            double sum = 0.0;
            for (int64_t p = 0; p < 8; ++p) sum += a[i * n + p] / tile[p][0];
            if (sum > 1.0) c[i * n + j] = (float)std::exp(sum);
        }
    while (n) { c[idx[0]] = 1.0f; --n; }
    memset(c, 0, 4);
}
"""


@given(st.text() | st.lists(FRAGMENTS, max_size=60).map(" ".join), st.sampled_from([*sorted(LANGUAGES), "other"]))
@settings(max_examples=400, deadline=None)
def test_any_text_is_read(text: str, language: str) -> None:
    found = describe(text, language)
    assert all(math.isfinite(value) for value in found.features.values())
    assert found.features.keys() == describe("", language).features.keys()
    assert (found.shingles[1:] > found.shingles[:-1]).all()


@given(st.binary(max_size=400))
@settings(max_examples=200, deadline=None)
def test_binary_garbage_is_read(data: bytes) -> None:
    assert static_features(data.decode("latin-1"), "cpp")
    assert static_features(data.decode("utf-8", "surrogateescape"), "cpp")


@pytest.mark.parametrize(
    "piece", ["/* ", '"\\"', "'", "for(", "for(;;)", "{", "}", "[", "\n#", "#", "x[a*b+", "[9]", "\\", "do ", " ", "1'"]
)
def test_text_made_to_be_slow_is_read(piece: str) -> None:
    assert describe(piece * (60_000 // len(piece)), "cpp").features


def test_a_kernel_is_read_as_a_person_would() -> None:
    found = static_features(KERNEL, "cpp")
    expected = {
        **{"loops": 4, "loop_depth": 3, "loops_outer": 2, "loops_fixed": 1, "loops_stepped": 1, "arrays": 1},
        **{"pragma_parallel": 1, "collapse_loops": 2, "schedule_dynamic": 1, "parallel_depth": 0, "fill": 1},
        **{"divide": 1, "divide_inner": 1, "exp": 1, "exp_looped": 1, "exp_inner": 0, "cast": 1, "double": 1},
        **{"branch": 1, "branch_looped": 1, "double_literal": 2, "float_literal": 1},
        **{"subscript_nested": 1, "subscript_multiplied": 2},
    }
    assert {name: found[name] for name in expected} == expected
    assert found["array_items_log2"] == pytest.approx(math.log2(1 + 512))
    assert found["tile_max_log2"] == pytest.approx(math.log2(65))
    assert found["step_log2"] == pytest.approx(math.log2(17))


def test_comments_say_nothing() -> None:
    remarked = KERNEL.replace("sum += a", "sum /* very fast: 9x, for (;;) */ += a") + "// for (;;) the best\n"
    for source in (remarked, strip_comments(KERNEL, "cpp")):
        assert static_features(source, "cpp") == static_features(KERNEL, "cpp")
        assert (describe(source, "cpp").shingles == describe(KERNEL, "cpp").shingles).all()
    assert static_features("x = 1  # nine times faster\n", "triton") == static_features("x = 1\n", "triton")


def test_every_reference_has_loops_and_subscripts() -> None:
    for task in tasks().values():
        found = static_features(task.references["cpp"], "cpp")
        assert found["loops"] >= 1, task.name
        assert found["subscript_looped"] >= 1, task.name


@pytest.mark.parametrize(
    ("source", "depths"),
    [
        ("for (;;) x; y;", "0" * 5 + "11" + "00"),
        ("for (;;) { x; } y;", "0" * 5 + "1111" + "00"),
        ("for (;;) for (;;) x; y;", "0" * 5 + "1" * 5 + "22" + "00"),
        ("for (;;) if (a) { x; } else y; z;", "0" * 5 + "1" * 11 + "00"),
        ("do { x; } while (a); y;", "0" + "1111" + "0" * 5 + "00"),
        ("} ) ] x;", "00000"),
    ],
)
def test_depth_of_each_token(source: str, depths: str) -> None:
    assert "".join(map(str, loop_depths(list(tokens(source)))[0])) == depths


def test_captures_and_attributes_are_no_subscripts() -> None:
    assert subscripts(list(tokens("auto f = [&](int i) { return i; }; [[gnu::hot]] int g;"))) == []
    assert len(subscripts(list(tokens("a[i][j] = f(x)[0];")))) == 3


@pytest.mark.parametrize(
    ("text", "value"),
    [("64", 64), ("0x40", 64), ("64UL", 64), ("1'024", 1024), ("1.5", None), ("1e3", None), ("x", None)],
)
def test_integer_literals(text: str, value: int | None) -> None:
    assert integer(text) == value
    assert [token.text for token in tokens(text)] == [text]


TRITON = """
import torch
import triton
import triton.language as tl


@triton.jit
def body(x, out, n, stride, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    far = tl.load(x + i * stride, mask=i < n, other=0.0)
    for step in range(4):
        near = tl.load(x + i + step, mask=i < n)
        far += tl.total(near, 0)
    tl.store(out + i, far, mask=i < n)


def kernel(x):
    out = torch.empty_like(x)
    body[(x.numel() // 256,)](x, out, x.numel(), 7, B=256, num_warps=8)
    return out
"""


def test_a_triton_program_is_read() -> None:
    found = static_features(TRITON, "triton")
    assert (found["load"], found["load_looped"], found["store"], found["loops"]) == (2, 1, 1, 1)
    assert (found["load_strided"], found["load_contiguous"], found["store_contiguous"]) == (1, 1, 1)
    assert (found["tile_log2"], found["warps_log2"], found["items_per_thread_log2"]) == (8, 3, 0)
    assert (found["unknown_names"], found["load_masked"], found["load_filled"]) == (1, 2, 1)


def test_a_cuda_program_is_read() -> None:
    source = (
        "from foretell.cuda import compile\nTHREADS = 128\n"
        "program = compile(r'''\nextern \"C\" __global__ void body(const float* x, float* out, int n) {\n"
        "  __shared__ float t[128];\n  int i = blockIdx.x * 128 + threadIdx.x;\n  __syncthreads();\n"
        "  if (i < n) atomicAdd(out + i, x[i] * t[0]);\n}\n''')\n\n\n"
        "def kernel(x):\n    program.body((8, 4), (THREADS,), (x, x, 7))\n    return x\n"
    )
    found = static_features(source, "cuda")
    assert (found["cuda_kernels"], found["cuda_shared"], found["cuda_syncthreads"], found["cuda_atomic"]) == (
        1,
        1,
        1,
        1,
    )
    assert (found["launches"], found["grid_axes"], found["block_threads_log2"]) == (1, 2, 7)


@pytest.mark.parametrize("language", ["triton", "cuda"])
def test_deep_nesting_is_read_or_passed_over(language: str) -> None:
    deep = "-" * 3000 + "1"
    launch = f"def kernel(x):\n    p.f((1,), ({'2*' * 3000}1,), 1)\n"
    text = f"import triton\n\n\n@triton.jit\ndef body(x):\n    y = {deep}\n\n\n{launch}"
    assert static_features(text, language).keys() == static_features("", language).keys()


def test_triton_statements_are_read_apart_only_where_they_are_apart() -> None:
    """Lines at the margin within brackets and strings are no statements; the text means what it means as a whole."""
    kernel = "@triton.jit\ndef body(x, B: tl.constexpr):\n    tl.store(x + tl.arange(0, B), 0.0)\n"
    host = "def kernel(x):\n    body[(1,)](x, B=64{})\n    return x\n"
    plain = static_features(kernel + host.format(", num_warps=8"), "triton")
    assert plain["tile_log2"] == 6.0 and plain["warps_log2"] == 3.0 and plain["kernels"] == 1.0
    assert static_features(kernel + host.format(",\nnum_warps=8\n"), "triton") == plain
    told = 'def kernel(x):\n    """Says\nreturn 1\n"""\n'
    assert static_features(kernel + host.format(", num_warps=8").replace("def kernel(x):\n", told), "triton") == plain
