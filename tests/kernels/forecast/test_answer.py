from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.belief import KEYS, N_BINS
from foretell.kernels.forecast.answer import (
    CHOICES,
    FAILURE_KEY,
    Answer,
    Misread,
    Unreadable,
    read,
    read_choices,
    read_object,
)

EVEN = dict.fromkeys(KEYS, 1.0 / N_BINS)


def stated(bins: Any = None, p_fail: Any = 0.1, **more: Any) -> dict[str, Any]:
    return {"reasoning": "it {may} be fast", "p_fail": p_fail, "bins": EVEN if bins is None else bins, **more}


GOOD = json.dumps(stated())


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"  \n{GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"I think {{that}} it is fast: {GOOD} -- done.",
        f"{GOOD}\n\nSo again: {GOOD}",
        f"<think>perhaps {json.dumps(stated(p_fail=0.9))}</think>{GOOD}",
        f"no opening mark </think>\n{GOOD}",
        f"{'prose ' * 20_000}{GOOD}",
        json.dumps(stated(reasoning="x" * 100_000)),
        json.dumps(stated(confidence="high")),
    ],
)
def test_reads_an_answer_whatever_surrounds_it(text: str) -> None:
    answer = read(text)
    assert isinstance(answer, Answer)
    assert answer.p_fail == 0.1
    assert answer.probs == pytest.approx([1 / N_BINS] * N_BINS)
    assert not answer.renormalised


def with_bin(value: Any) -> dict[str, Any]:
    return {**EVEN, "A": value}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", Misread.NO_ANSWER),
        ("x" * 1_000_000, Misread.TOO_LONG),
        (GOOD + " " * 1_000_000, Misread.TOO_LONG),
        ("probably 1.5x", Misread.NO_ANSWER),
        ("[0.1, 0.9]", Misread.NO_ANSWER),
        ('{"p_fail": 0.1}', Misread.NO_ANSWER),
        (json.dumps({"answer": stated()}), Misread.NO_ANSWER),
        (GOOD[:-1], Misread.BROKEN_JSON),
        (GOOD.replace('"', "'"), Misread.NO_ANSWER),
        ('{"bins":' * 20_000, Misread.BROKEN_JSON),
        ("{" * 150_000, Misread.NO_ANSWER),
        (GOOD + json.dumps(stated(p_fail=0.2)), Misread.TWO_ANSWERS),
        (GOOD.replace('"p_fail": 0.1', '"p_fail": 0.1, "p_fail": 0.9'), Misread.TWO_ANSWERS),
        (GOOD.replace('"A": 0.125', '"A": 0.125, "A": 0.5'), Misread.TWO_ANSWERS),
        (GOOD.replace("0.1,", "NaN,"), Misread.BAD_NUMBER),
        ("so: " + GOOD.replace("0.1,", "-Infinity,"), Misread.BAD_NUMBER),
        (GOOD.replace("0.1,", "٠.١,"), Misread.BROKEN_JSON),
        (GOOD.replace("0.1,", "0,1,"), Misread.BROKEN_JSON),
        (GOOD.replace("0.1,", "1" * 5000 + ","), Misread.BAD_NUMBER),
        (GOOD.replace("0.1,", "1e999,"), Misread.BAD_NUMBER),
        (json.dumps(stated(p_fail="٠.٥")), Misread.BAD_NUMBER),
        (json.dumps(stated(p_fail="0.5")), Misread.BAD_NUMBER),
        (json.dumps(stated(p_fail=None)), Misread.BAD_NUMBER),
        (json.dumps(stated(p_fail=True)), Misread.BAD_NUMBER),
        (json.dumps(stated(p_fail=1.5)), Misread.BAD_NUMBER),
        (json.dumps(stated(p_fail=-0.1)), Misread.BAD_NUMBER),
        (json.dumps(stated(with_bin(-0.125))), Misread.BAD_NUMBER),
        (json.dumps(stated(with_bin([0.1]))), Misread.BAD_NUMBER),
        (json.dumps(stated(with_bin({"A": 0.1}))), Misread.BAD_NUMBER),
        (json.dumps(stated(dict.fromkeys(KEYS, 0.0))), Misread.BAD_SUM),
        (json.dumps(stated(dict.fromkeys(KEYS, 700 / 8))), Misread.BAD_SUM),
        (json.dumps(stated(dict.fromkeys(KEYS, 1.0))), Misread.BAD_SUM),
        (json.dumps(stated(dict.fromkeys(KEYS, 12.5), p_fail=0.5)), Misread.BAD_SUM),
        (json.dumps(stated({**EVEN, "I": 0.0})), Misread.BAD_KEYS),
        (json.dumps(stated(dict.fromkeys(KEYS[:-1], 0.2))), Misread.BAD_KEYS),
        (json.dumps(stated([0.125] * 8)), Misread.BAD_KEYS),
        (json.dumps({"bins": EVEN}), Misread.BAD_KEYS),
        (json.dumps(stated({key.lower(): 0.125 for key in KEYS})), Misread.BAD_KEYS),
    ],
)
def test_what_cannot_be_read_has_its_kind(text: str, kind: Misread) -> None:
    found = read(text)
    assert isinstance(found, Unreadable)
    assert found.kind is kind
    assert 10 < len(found.message) < 300


def test_rounding_and_percentages_are_noted() -> None:
    rounded = read(json.dumps(stated(dict.fromkeys(KEYS, 0.13))))
    assert isinstance(rounded, Answer)
    assert rounded.renormalised
    assert rounded.total == pytest.approx(1.04)
    assert sum(rounded.probs) == pytest.approx(1.0)
    percent = read(json.dumps(stated(dict.fromkeys(KEYS, 12.5), p_fail=20)))
    assert isinstance(percent, Answer)
    assert (percent.p_fail, percent.renormalised) == (0.2, True)


def test_choices() -> None:
    found = read_choices({"A": 0.2, "H": 0.4, FAILURE_KEY: 0.2})
    assert isinstance(found, Answer)
    assert found.p_fail == pytest.approx(0.25)
    assert found.probs == pytest.approx([1 / 3, 0, 0, 0, 0, 0, 0, 2 / 3])
    certain = read_choices({FAILURE_KEY: 1.0})
    assert isinstance(certain, Answer)
    assert certain.p_fail == 1.0
    for off in ({}, {"A": 0.001}, {"A": float("nan")}, {"Z": 1.0}):
        unreadable = read_choices(off)
        assert isinstance(unreadable, Unreadable)
        assert unreadable.kind is Misread.OFF_FORM
    assert len(set(CHOICES)) == N_BINS + 1


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from([*KEYS, "bins", "p_fail"]), inner),
    max_leaves=12,
)


def check(found: Answer | Unreadable) -> None:
    if isinstance(found, Answer):
        assert 0.0 <= found.p_fail <= 1.0
        assert len(found.probs) == N_BINS
        assert all(0.0 <= prob <= 1.0 for prob in found.probs)
        assert sum(found.probs) == pytest.approx(1.0)


@given(st.text(max_size=200) | st.text('{}[]",:.0123456789-eE`\\nabinsp_fail ', max_size=400))
def test_any_text_is_read_or_refused(text: str) -> None:
    check(read(text))
    check(read(GOOD[: len(text)] + text + GOOD[len(text) :]))


@given(values, values)
def test_any_json_is_read_or_refused(p_fail: Any, bins: Any) -> None:
    check(read(json.dumps(stated(bins, p_fail))))
    check(read(f"prose {json.dumps(stated(bins, p_fail))} prose"))
    check(read_object({"p_fail": p_fail, "bins": bins}))


@given(st.lists(st.floats(0, 1), min_size=8, max_size=8), st.floats(0, 1))
def test_what_is_stated_is_what_is_read(weights: list[float], p_fail: float) -> None:
    total = sum(weights)
    if total < 1e-6:
        return
    probs = [weight / total for weight in weights]
    found = read(json.dumps(stated(dict(zip(KEYS, probs, strict=True)), p_fail)))
    assert isinstance(found, Answer)
    assert found.p_fail == p_fail
    assert found.probs == pytest.approx(probs)
    assert not found.renormalised


@given(st.dictionaries(st.sampled_from(CHOICES), st.floats(0, 1)))
def test_any_choices_are_read_or_refused(probs: dict[str, float]) -> None:
    check(read_choices(probs))
