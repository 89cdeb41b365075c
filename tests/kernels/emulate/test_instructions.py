"""Single instructions against what Python's whole numbers and exact fractions say."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.emulate.launching import execute

WORD = st.integers(0, 2**32 - 1)
EDGES = st.sampled_from([0, 1, 2, 31, 32, 33, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF, 0x10000])
WORDS = st.one_of(WORD, EDGES)


def computed(text: str, *words: int, kinds: str = "b32", results: int = 1) -> list[int]:
    """What instructions make of 32-bit words %a, %b, %c, %d: those in %x, %y. Once with lanes that agree, once not."""
    names = "abcd"[: len(words)]
    loads = "\n".join(f"ld.global.u32 %{name}, [%rd2+{4 * i}];" for i, name in enumerate(names))
    body = f""".version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u64 k_param_1)
{{
.reg .b32 %a, %b, %c, %d, %x, %y, %t; .reg .b64 %rd<6>, %w<4>; .reg .pred %p, %q; .reg .f32 %f<8>; .reg .b16 %h<4>;
ld.param.u64 %rd0, [k_param_0]; ld.param.u64 %rd1, [k_param_1];
mov.u32 %t, %tid.x;
mul.wide.u32 %rd3, %t, OFFSET;
add.s64 %rd2, %rd0, %rd3;
{loads}
mov.u32 %x, 0; mov.u32 %y, 0;
{text}
mul.wide.u32 %rd4, %t, 8;
add.s64 %rd5, %rd1, %rd4;
st.global.v2.u32 [%rd5], {{%x, %y}};
ret;
}}
"""
    found = []
    for offset in (0, 16):
        inputs = np.tile(np.array([*words, *[0] * (4 - len(words))], np.uint32), 2)
        outputs = np.zeros((2, 2), np.uint32)
        execute(body.replace("OFFSET", str(offset)), "k", 1, 2, inputs, outputs)
        assert (outputs[0] == outputs[1]).all()
        found.append(outputs[0].tolist()[:results])
    assert found[0] == found[1]
    return found[0]


def signed(word: int) -> int:
    return word - 2**32 if word >> 31 else word


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


INTEGERS: dict[str, Callable[[int, int], int]] = {
    "add.s32": lambda a, b: a + b,
    "sub.s32": lambda a, b: a - b,
    "mul.lo.s32": lambda a, b: signed(a) * signed(b),
    "mul.hi.s32": lambda a, b: signed(a) * signed(b) >> 32,
    "mul.hi.u32": lambda a, b: a * b >> 32,
    "min.s32": lambda a, b: min(signed(a), signed(b)),
    "max.u32": max,
    "and.b32": lambda a, b: a & b,
    "xor.b32": lambda a, b: a ^ b,
    "shl.b32": lambda a, b: a << b if b < 32 else 0,
    "shr.u32": lambda a, b: a >> b if b < 32 else 0,
    "shr.s32": lambda a, b: signed(a) >> min(b, 31),
    "add.sat.s32": lambda a, b: max(-(2**31), min(2**31 - 1, signed(a) + signed(b))),
}


@pytest.mark.parametrize("op", sorted(INTEGERS))
@settings(max_examples=20, deadline=None)
@given(a=WORDS, b=WORDS)
def test_integers_of_32_bits(op: str, a: int, b: int) -> None:
    assert computed(f"{op} %x, %a, %b;", a, b) == [INTEGERS[op](a, b) & 0xFFFFFFFF]


@settings(max_examples=30, deadline=None)
@given(a=WORDS, b=WORDS)
def test_divisions(a: int, b: int) -> None:
    if b == 0:
        return
    assert computed("div.u32 %x, %a, %b; rem.u32 %y, %a, %b;", a, b, results=2) == [a // b, a % b]
    whole = truncated(signed(a), signed(b))
    rest = signed(a) - whole * signed(b)
    assert computed("div.s32 %x, %a, %b; rem.s32 %y, %a, %b;", a, b, results=2) == [
        whole & 0xFFFFFFFF,
        rest & 0xFFFFFFFF,
    ]


@settings(max_examples=20, deadline=None)
@given(a=WORDS, b=WORDS, c=WORDS)
def test_products_of_64_bits_in_halves(a: int, b: int, c: int) -> None:
    text = "mad.wide.s32 %w0, %a, %b, %rd0; sub.s64 %w0, %w0, %rd0; mov.b64 {%x, %y}, %w0;"
    product = signed(a) * signed(b) & (2**64 - 1)
    assert computed(text, a, b, results=2) == [product & 0xFFFFFFFF, product >> 32]
    text = "mov.b64 %w0, {%a, %b}; mov.b64 %w1, {%b, %c}; mul.hi.u64 %w2, %w0, %w1; mov.b64 {%x, %y}, %w2;"
    high = (a | b << 32) * (b | c << 32) >> 64
    assert computed(text, a, b, c, results=2) == [high & 0xFFFFFFFF, high >> 32]
    high = ((a | signed(b) << 32) * (b | signed(c) << 32) >> 64) & (2**64 - 1)
    assert computed(text.replace("u64", "s64"), a, b, c, results=2) == [high & 0xFFFFFFFF, high >> 32]


@settings(max_examples=30, deadline=None)
@given(a=WORDS, b=WORDS, c=WORDS, table=st.integers(0, 255))
def test_bits_of_three(a: int, b: int, c: int, table: int) -> None:
    expected = 0
    for bit in range(32):
        index = (a >> bit & 1) << 2 | (b >> bit & 1) << 1 | (c >> bit & 1)
        expected |= (table >> index & 1) << bit
    assert computed(f"lop3.b32 %x, %a, %b, %c, {table};", a, b, c) == [expected]


@settings(max_examples=40, deadline=None)
@given(a=WORDS, b=WORDS, start=st.integers(0, 40), count=st.integers(0, 40))
def test_fields_of_bits(a: int, b: int, start: int, count: int) -> None:
    kept = max(0, min(count, 32 - start))
    field = a >> start & ((1 << kept) - 1) if start < 32 else 0
    assert computed("bfe.u32 %x, %a, %b, %c;", a, start, count) == [field]
    top = min(start + count - 1, 31)
    fill = a >> top & 1 if count else 0
    expected = (field | ~((1 << kept) - 1) if fill else field) & 0xFFFFFFFF
    assert computed("bfe.s32 %x, %a, %b, %c;", a, start, count) == [expected]
    mask = ((1 << count) - 1) << start & 0xFFFFFFFF
    assert computed("bfi.b32 %x, %a, %b, %c, %d;", a, b, start, count) == [(b & ~mask) | (a << start & mask)]


@settings(max_examples=30, deadline=None)
@given(a=WORDS, b=WORDS, order=WORDS)
def test_bytes_in_another_order(a: int, b: int, order: int) -> None:
    parts = (b << 32 | a).to_bytes(8, "little")
    expected = 0
    for i in range(4):
        choice = order >> 4 * i & 15
        byte = parts[choice & 7]
        expected |= (byte if choice < 8 else 0xFF * (byte >> 7)) << 8 * i
    assert computed("prmt.b32 %x, %a, %b, %c;", a, b, order) == [expected]


@settings(max_examples=20, deadline=None)
@given(a=WORDS, b=WORDS, by=st.integers(0, 80))
def test_counts_turns_and_funnels(a: int, b: int, by: int) -> None:
    assert computed("popc.b32 %x, %a; clz.b32 %y, %a;", a, results=2) == [a.bit_count(), 32 - a.bit_length()]
    assert computed("brev.b32 %x, %a; bfind.u32 %y, %a;", a, results=2) == [
        int(f"{a:032b}"[::-1], 2),
        (a.bit_length() - 1) & 0xFFFFFFFF,
    ]
    both = b << 32 | a
    assert computed("shf.l.wrap.b32 %x, %a, %b, %c;", a, b, by) == [(both << (by & 31) >> 32) & 0xFFFFFFFF]
    assert computed("shf.r.clamp.b32 %x, %a, %b, %c;", a, b, by) == [(both >> min(by, 32)) & 0xFFFFFFFF]


FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**60), max_value=2.0**60)


def bits(number: float) -> int:
    return int(np.float32(number).view(np.uint32))


def number(word: int) -> float:
    return float(np.uint32(word).view(np.float32))


@settings(max_examples=60, deadline=None)
@given(a=FLOATS, b=FLOATS, c=FLOATS)
def test_a_fused_product_is_rounded_once(a: float, b: float, c: float) -> None:
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    (word,) = computed("fma.rn.f32 %x, %a, %b, %c;", bits(a), bits(b), bits(c))
    found = number(word)
    if math.isinf(found):
        assert abs(exact) > 2**127
        return
    near = [Fraction(float(np.nextafter(np.float32(found), np.float32(way)))) for way in (-np.inf, np.inf)
            if math.isfinite(np.nextafter(np.float32(found), np.float32(way)))]  # fmt: skip
    slack = Fraction(1, 2**1000) + abs(exact) * Fraction(1, 2**50)  # sums are rounded to doubles first
    assert all(abs(exact - Fraction(found)) <= abs(exact - other) + slack for other in near)


@pytest.mark.parametrize(
    ("op", "value", "expected"),
    [
        ("cvt.rni.s32.f32", 2.5, 2), ("cvt.rni.s32.f32", 3.5, 4), ("cvt.rzi.s32.f32", -2.7, -2),
        ("cvt.rmi.s32.f32", -2.2, -3), ("cvt.rpi.s32.f32", 2.2, 3), ("cvt.rzi.s32.f32", 3e9, 2**31 - 1),
        ("cvt.rzi.s32.f32", -3e9, -(2**31)), ("cvt.rzi.u32.f32", -1.0, 0), ("cvt.rzi.u32.f32", 5e9, 2**32 - 1),
        ("cvt.rzi.s32.f32", float("nan"), 0),
    ],
)  # fmt: skip
def test_floats_to_integers(op: str, value: float, expected: int) -> None:
    assert computed(f"{op} %x, %a;", bits(value)) == [expected & 0xFFFFFFFF]


@settings(max_examples=60, deadline=None)
@given(value=FLOATS)
def test_floats_to_halves_and_back(value: float) -> None:
    (word,) = computed("cvt.rn.f16.f32 %h0, %a; cvt.f32.f16 %x, %h0;", bits(value))
    with np.errstate(over="ignore"):
        assert number(word) == float(np.float16(value))
    (word,) = computed("cvt.rn.bf16.f32 %h0, %a; cvt.f32.bf16 %x, %h0;", bits(value))
    single = np.float32(value).view(np.uint32).item()
    near = [single & 0xFFFF0000, (single & 0xFFFF0000) + 0x10000]
    best = min(near, key=lambda each: (abs(Fraction(number(each)) - Fraction(value)), each >> 16 & 1))
    assert word == best
    (word,) = computed("cvt.rz.f16.f32 %h0, %a; cvt.f32.f16 %x, %h0;", bits(value))
    assert abs(number(word)) <= abs(value) or abs(value) < 2**-24


def test_a_bfloat16_is_rounded_once_from_doubles() -> None:
    """Just above a tie: rounding to float32 first would make it a tie, which goes to even."""
    text = "cvt.f64.f32 %w0, %a; cvt.f64.f32 %w1, %b; add.f64 %w0, %w0, %w1;"
    text += "cvt.rn.bf16.f64 %h0, %w0; cvt.u32.u16 %x, %h0;"
    assert computed(text, bits(1.00390625), bits(2.0**-40)) == [0x3F81]
    assert computed(text, bits(1.00390625), bits(-(2.0**-40))) == [0x3F80]
    assert computed(text, bits(1.00390625), bits(0.0)) == [0x3F80]


@settings(max_examples=60, deadline=None)
@given(value=st.floats(-500.0, 500.0, width=32))
def test_eight_bits_are_the_nearest(value: float) -> None:
    for name, most in (("e4m3", 448.0), ("e5m2", 57344.0)):
        text = f"cvt.rn.satfinite.{name}x2.f32 %h0, %a, %a; cvt.rn.f16x2.{name}x2 %x, %h0;"
        (word,) = computed(text, bits(value))
        found = float(np.uint16(word & 0xFFFF).view(np.float16))
        steps, least = (3, 2.0**-9) if name == "e4m3" else (2, 2.0**-16)
        clamped = max(-most, min(most, value))
        step = max(least, 2.0 ** (math.frexp(clamped)[1] - 1 - steps)) if clamped else least
        assert abs(found - clamped) <= step / 2


def test_comparisons_with_nan() -> None:
    nan, one = bits(float("nan")), bits(1.0)
    for name, expected in (("eq", 0), ("ne", 0), ("lt", 0), ("equ", 1), ("neu", 1), ("ltu", 1), ("nan", 1), ("num", 0)):
        assert computed(f"setp.{name}.f32 %p, %a, %b; selp.u32 %x, 1, 0, %p;", nan, one) == [expected], name
    assert computed("min.f32 %x, %a, %b; max.NaN.f32 %y, %a, %b;", nan, one, results=2)[0] == one
    assert math.isnan(number(computed("max.NaN.f32 %x, %a, %b;", nan, one)[0]))


def test_predicates_are_combined_and_guard() -> None:
    text = "setp.gt.s32 %p|%q, %a, %b; @%p add.s32 %x, %a, 1; @!%p add.s32 %x, %b, 1; selp.u32 %y, 1, 0, %q;"
    assert computed(text, 5, 3, results=2) == [6, 0]
    assert computed(text, 3, 5, results=2) == [6, 1]
    text = "setp.gt.s32 %p, %a, 0; setp.lt.and.s32 %q, %a, %b, !%p; selp.u32 %x, 1, 0, %q;"
    assert computed(text, 2**32 - 1, 1) == [1]
    assert computed(text, 1, 3) == [0]


@settings(max_examples=20, deadline=None)
@given(a=st.floats(-100, 100, width=16), b=st.floats(-100, 100, width=16))
def test_pairs_of_halves(a: float, b: float) -> None:
    def packed(low: float, high: float) -> int:
        return int(np.array([low, high], np.float16).view(np.uint32)[0])

    (word,) = computed("add.f16x2 %x, %a, %b;", packed(a, b), packed(b, b))
    assert word == packed(float(np.float16(a) + np.float16(b)), float(np.float16(b) + np.float16(b)))
    (word,) = computed("neg.f16x2 %x, %a;", packed(a, b))
    assert word == packed(-a, -b) or 0.0 in (a, b)


def test_bytes_are_extended_by_their_sign() -> None:
    assert computed("cvt.s32.s8 %x, %a; cvt.u32.u8 %y, %a;", 0x1F0, results=2) == [0xFFFFFFF0, 0xF0]
    assert computed("ld.global.s8 %x, [%rd2]; ld.global.u8 %y, [%rd2];", 0x80, results=2) == [0xFFFFFF80, 0x80]
    assert computed("dp4a.s32.u32 %x, %a, %b, %c;", 0xFF02, 0x0203, 10) == [(10 + 2 * 3 - 2) & 0xFFFFFFFF]
