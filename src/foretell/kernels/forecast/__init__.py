"""Forecasters of candidate kernels: what a measurement would show, before paying for it."""

from __future__ import annotations

from foretell.extras import check
from foretell.kernels.forecast import lm
from foretell.kernels.forecast.calibrated import CalibratedForecaster
from foretell.kernels.forecast.cascade import CascadeForecaster
from foretell.kernels.forecast.online import OnlineForecaster
from foretell.kernels.forecast.program import ProgramForecaster
from foretell.kernels.forecast.roofline import RooflineForecaster
from foretell.kernels.forecast.static import Description, describe, static_features
from foretell.kernels.forecast.trained import TrainedForecaster
from foretell.kernels.protocols import Forecaster

__all__ = [
    "FORECASTERS",
    "CalibratedForecaster",
    "CascadeForecaster",
    "Description",
    "OnlineForecaster",
    "ProgramForecaster",
    "RooflineForecaster",
    "TrainedForecaster",
    "UnknownForecaster",
    "describe",
    "make",
    "static_features",
]


class UnknownForecaster(ValueError):
    """No forecaster of that name; the message lists those there are."""


FORECASTERS = ("calibrated", "cascade", "features", "online", "program", "roofline")


def make(name: str, seed: int = 0) -> Forecaster:
    """A fresh forecaster by name, or UnknownForecaster.

    `online` learns in the run on top of `features`, `online:NAME` on top of another; `cascade` asks `features` and then
    `online`, `cascade:NAME,NAME,...` others in that order. `calibrated` corrects `program` by what
    was learnt from measured kernels. `program:eager` and `calibrated:eager` forecast eager times, not those of graphs.
    `calibrated:static` is `calibrated` without runs at small sizes.
    Names of language models: see docs/lm.md.

    Raises MissingPackage for `program` and `calibrated`, which record candidates with torch, where it is not installed.
    """
    if lm.is_name(name):
        return lm.from_name(name)
    head, colon, parts = name.partition(":")
    match head:
        case "roofline" if not colon:
            return RooflineForecaster()
        case "features" if not colon:
            return TrainedForecaster()
        case "program" if parts in ("", "eager") and (parts or not colon):
            check("gpu", "torch")
            return ProgramForecaster(eager=parts == "eager")
        case "calibrated" if parts in ("", "eager", "static") and (parts or not colon):
            check("gpu", "torch")
            return CalibratedForecaster(eager=parts == "eager", static=parts == "static")
        case "online" if parts or not colon:
            return OnlineForecaster(make(parts or "features", seed), seed, name)
        case "cascade" if parts or not colon:
            return CascadeForecaster([make(link, seed) for link in _links(parts or "features,online")], name=name)
    raise UnknownForecaster(f"there is no forecaster {name!r}; known are {', '.join(FORECASTERS)}")


def _links(text: str) -> list[str]:
    """Names between commas. A comma may also be within the name of a language model: what is no name goes on."""
    found: list[str] = []
    for part in text.split(","):
        if found and part.partition(":")[0] not in FORECASTERS and not lm.is_name(part):
            found[-1] += f",{part}"
        else:
            found.append(part)
    return found
