"""Forecasters by name, the composed ones among them."""

from __future__ import annotations

import pytest

from foretell.kernels.forecast import (
    FORECASTERS,
    CascadeForecaster,
    OnlineForecaster,
    RooflineForecaster,
    TrainedForecaster,
    UnknownForecaster,
    make,
)
from foretell.kernels.forecast.lm import LmForecaster

MODEL = "openai:small@http://localhost:1/v1?show=reference,build"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("roofline", RooflineForecaster), ("features", TrainedForecaster), ("online", OnlineForecaster),
        ("online:roofline", OnlineForecaster), ("online:cascade:features,online", OnlineForecaster),
        ("cascade", CascadeForecaster), ("cascade:roofline,online:roofline", CascadeForecaster),
    ],
)  # fmt: skip
def test_made_by_name_and_named_as_made(name: str, kind: type) -> None:
    forecaster = make(name, 1)
    assert isinstance(forecaster, kind)
    assert forecaster.name == name  # a run that is resumed finds its forecaster by this name


def test_online_alone_is_over_the_shipped_model() -> None:
    assert make("online").cost_s > make("features").cost_s > make("online:roofline").cost_s / 10
    assert isinstance(make("online")._base, TrainedForecaster)  # type: ignore[attr-defined]
    assert isinstance(make("online:roofline")._base, RooflineForecaster)  # type: ignore[attr-defined]


def test_language_models_take_part_commas_and_all() -> None:
    assert isinstance(make(MODEL), LmForecaster)
    assert isinstance(make(f"online:{MODEL}")._base, LmForecaster)  # type: ignore[attr-defined]
    cascade = make(f"cascade:features,{MODEL},online:roofline")
    kinds = [type(link) for link in cascade._links]  # type: ignore[attr-defined]
    assert kinds == [TrainedForecaster, LmForecaster, OnlineForecaster]
    assert cascade.cost_s > 1.0


@pytest.mark.parametrize(
    "name",
    [
        "oracle",
        "",
        "trained",
        "features:",
        "features:x",
        "online:",
        "online:oracle",
        "cascade:",
        "cascade:a,b",
        "program:",
        "program:x",
    ],
)
def test_other_names_are_refused_and_the_known_ones_listed(name: str) -> None:
    with pytest.raises(UnknownForecaster, match=", ".join(FORECASTERS)):
        make(name)
