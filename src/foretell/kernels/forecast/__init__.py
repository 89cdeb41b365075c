"""Forecasters of candidate kernels: what a measurement would show, before paying for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from foretell.kernels.forecast import lm
from foretell.kernels.forecast.features import FeatureForecaster
from foretell.kernels.forecast.roofline import RooflineForecaster
from foretell.kernels.forecast.static import Description, describe, static_features
from foretell.kernels.forecast.trained import TrainedForecaster
from foretell.kernels.protocols import Forecaster

__all__ = [
    "FORECASTERS",
    "Description",
    "FeatureForecaster",
    "RooflineForecaster",
    "TrainedForecaster",
    "UnknownForecaster",
    "describe",
    "make",
    "static_features",
]


class UnknownForecaster(ValueError):
    """No forecaster of that name; the message lists those there are."""


FORECASTERS: Mapping[str, Callable[[int], Forecaster]] = {
    "roofline": lambda seed: RooflineForecaster(),
    "features": lambda seed: FeatureForecaster(seed=seed),
    "trained": lambda seed: TrainedForecaster(),
}


def make(name: str, seed: int = 0) -> Forecaster:
    """A fresh forecaster by name (of a language model: see docs/lm.md), or UnknownForecaster."""
    if lm.is_name(name):
        return lm.from_name(name)
    if name not in FORECASTERS:
        raise UnknownForecaster(f"there is no forecaster {name!r}; known are {', '.join(sorted(FORECASTERS))}")
    return FORECASTERS[name](seed)
