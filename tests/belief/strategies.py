"""Hypothesis strategies shared by the belief tests, and `given` with this folder's settings."""

from collections.abc import Callable
from typing import Any

import hypothesis
import numpy as np
from hypothesis import strategies as st

from foretell.belief import N_BINS, Forecast

unit = st.floats(0.0, 1.0)


def given(*args: Any, **kwargs: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Hypothesis's `given` without a deadline (the machine may be busy) and with few enough examples to be quick."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        return hypothesis.settings(deadline=None, max_examples=40)(hypothesis.given(*args, **kwargs)(test))

    return decorate


@st.composite
def forecasts(draw: st.DrawFn) -> Forecast:
    """Any shape of forecast: 2 to 12 knots, flat stretches allowed, spreads from a hair to several octaves."""
    n = draw(st.integers(1, 11))
    gaps = draw(st.lists(st.floats(1e-3, 2.0), min_size=n, max_size=n))
    masses = draw(st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1.0)), min_size=n, max_size=n).filter(any))
    knots = draw(st.floats(-5.0, 3.0)) + np.cumsum([0.0, *gaps])
    levels = np.cumsum([0.0, *masses])
    return Forecast(draw(unit), tuple(knots), tuple(levels / levels[-1]))


@st.composite
def bin_probs(draw: st.DrawFn, k: int = N_BINS) -> list[float]:
    """k probabilities that sum to one; zeros allowed."""
    raw = draw(st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1.0)), min_size=k, max_size=k).filter(any))
    return [value / sum(raw) for value in raw]
