"""Features of machine code, on listings written by hand and on real builds."""

from __future__ import annotations

import math
import platform

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.kernels.candidate import Candidate
from foretell.kernels.languages import cpp
from foretell.kernels.languages.disassembly import functions, read_features
from foretell.kernels.library import get
from foretell.kernels.sandbox import command

LISTING = """
0000000000001000 <_init>:
    1000:\tsub    $0x8,%rsp

0000000000001100 <kernel>:
    1100:\tpush   %rbx
    1102:\tmovss  %xmm0,0x8(%rsp)
    1108:\tvmovups (%rdi,%rax,4),%zmm1
    1110:\tvfmadd231ps %zmm1,%zmm2,%zmm3
    1118:\tvdivps %ymm1,%ymm2,%ymm3
    1120:\tadd    $0x10,%rax
    1124:\tjne    1108 <kernel+0x8>
    1126:\tcall   1050 <expf@plt>
    112b:\tret
"""


def test_hand_written_listing() -> None:
    assert list(functions(LISTING)) == ["kernel"]
    features = read_features(LISTING)
    assert features["instructions"] == 9
    assert features["inner_loops"] == 1
    assert features["inner_instructions"] == 5
    assert features["inner_fma_share"] == pytest.approx(1 / 5)
    assert features["inner_divide_share"] == pytest.approx(1 / 5)
    assert features["inner_vector512_share"] == pytest.approx(2 / 5)
    assert features["spills"] == 1
    assert features["call_share"] == pytest.approx(1 / 9)


def _listing(lines: list[str]) -> str:
    return "\n0000000000000000 <kernel>:\n" + "".join(f"    {place:x}:\t{line}\n" for place, line in enumerate(lines))


def test_the_innermost_of_nested_loops_count() -> None:
    nested = ["nop", "nop", "nop", "jne    1 <k>", "jne    0 <k>", "nop", "jne    5 <k>"]
    features = read_features(_listing(nested))
    assert (features["inner_loops"], features["inner_instructions"]) == (2, 3 + 2)


@pytest.mark.parametrize("back", [0, 20_000], ids=["each its own", "each over many"])
def test_very_many_loops_take_linear_time(back: int) -> None:
    """A quadratic reader would need minutes for this."""
    loops = [f"jne    {max(0, place - back):x} <k>" for place in range(40_000)]
    assert read_features(_listing(loops))["inner_loops"] >= 1


@given(st.text(max_size=500))
def test_any_text_gives_the_same_finite_keys(text: str) -> None:
    features = read_features(text)
    assert features.keys() == read_features(LISTING).keys()
    assert all(math.isfinite(value) for value in features.values())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="vector registers are named as on x86-64")
def test_real_builds_show_what_the_source_asks_for() -> None:
    task = get("softmax")
    head = '#include <cstdint>\nextern "C" void kernel(const float* __restrict__ x, float* __restrict__ out, '
    tail = "int64_t rows, int64_t cols) { for (int64_t i = 0; i < rows * cols; ++i) out[i] = %s; }"
    plain = cpp.build(task, Candidate("softmax", "cpp", head + tail % "x[i] * 2.0f"))
    divided = cpp.build(task, Candidate("softmax", "cpp", head + tail % "2.0f / x[i]"))
    assert plain.ok and divided.ok
    wide = ("inner_vector128_share", "inner_vector256_share", "inner_vector512_share")
    assert sum(plain.features[name] for name in wide) > 0.02
    assert divided.features["divide_share"] > plain.features["divide_share"] == 0


def test_a_listing_that_was_cut_is_not_taken_for_a_lack_of_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    task = get("row_sum")
    monkeypatch.setattr(command, "OUTPUT_BYTES", 50_000)
    many = Candidate(task.name, "cpp", 'asm(".rept 20000\\n nop\\n .endr");\n' + task.references["cpp"])
    assert "too long" in cpp.build(task, many).message
    none = Candidate(task.name, "cpp", task.references["cpp"].replace("void kernel(", "void other("))
    assert "defines no entry point" in cpp.build(task, none).message
