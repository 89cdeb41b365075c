"""Hundredths by key: what is said is read back, and what is not a distribution is refused with its kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.belief import N_BINS
from foretell.kernels.forecast.answer import Answer, Misread, Unreadable
from foretell.kernels.forecast.hundredths import MARK, read, say


@settings(max_examples=200, deadline=None)
@given(st.floats(0.0, 1.0), st.lists(st.floats(0.0, 1.0), min_size=N_BINS, max_size=N_BINS))
def test_what_is_said_is_read_back(p_fail: float, weights: list[float]) -> None:
    total = sum(weights)
    probs = [w / total for w in weights] if total > 1e-3 else [1.0 / N_BINS] * N_BINS
    found = read(f"so I think\n{MARK} {say(p_fail, probs)}.\n")
    assert isinstance(found, Answer)
    assert found.total == pytest.approx(1.0)
    assert found.p_fail == pytest.approx(p_fail, abs=0.011)
    stated = (1.0 - found.p_fail) * np.array(found.probs)
    assert np.allclose(stated, (1.0 - p_fail) * np.array(probs), atol=0.011)


def test_few_words() -> None:
    assert say(0.02, (0, 0, 0, 0, 0.5, 0.5, 0, 0)) == "X 2, E 49, F 49"
    assert say(1.0, (1 / 8,) * 8) == "X 100"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", Misread.NO_ANSWER),
        ("E 100", Misread.NO_ANSWER),
        (MARK, Misread.NO_ANSWER),
        (f"{MARK} faster", Misread.BAD_KEYS),
        (f"{MARK} E 60, Z 40", Misread.BAD_KEYS),
        (f"{MARK} E 60, F -40", Misread.BAD_KEYS),
        (f"{MARK} E 60, F 1e2", Misread.BAD_KEYS),
        (f"{MARK} E 60 F 40", Misread.BAD_KEYS),
        (f"{MARK} E 60, E 40", Misread.TWO_ANSWERS),
        (f"{MARK} E 60, F 10", Misread.BAD_SUM),
        (f"{MARK} E 0.6, F 0.4", Misread.BAD_SUM),
        ("E 1, " * 100_000, Misread.TOO_LONG),
    ],
)
def test_what_is_no_distribution_is_refused(text: str, kind: Misread) -> None:
    found = read(text)
    assert isinstance(found, Unreadable)
    assert found.kind is kind


def test_rounding_is_made_good_and_the_last_line_counts() -> None:
    found = read(f"{MARK} A 100\nno:\n{MARK} X 10, E 50, F 50\nthat is all")
    assert isinstance(found, Answer)
    assert found.renormalised
    assert found.p_fail == pytest.approx(10 / 110)
    assert found.probs[4] == found.probs[5] == 0.5
