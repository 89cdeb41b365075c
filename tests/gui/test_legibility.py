"""Pale controls and pale pages, by the contrast of their texts."""

from __future__ import annotations

import math

import numpy as np

from foretell.gui.actions import Point
from foretell.gui.elements import Screen
from foretell.gui.legibility import legibility_features
from foretell.gui.places import Places
from foretell.gui.sight import Sight

LINES = ((10, 10, 60, 12), (10, 40, 60, 12), (10, 70, 60, 12))


def sight(*shades: int) -> Sight:
    image = np.full((100, 200, 3), 255, np.uint8)
    for (x, y, w, h), shade in zip(LINES, shades, strict=True):
        image[y : y + h, x : x + w : 2] = shade
    screen = Screen(200, 100, (), LINES, np.zeros((100, 200), dtype=bool), (255, 255, 255))
    return Sight(image, "d", screen, Places((), (), None))


def test_a_pale_label_among_crisp_ones() -> None:
    seen = sight(0, 0, 170)
    pale, crisp = (legibility_features(seen, Point(30, y)) for y in (76, 16))
    assert pale["own_ratio"] < 0.5 < crisp["own_ratio"] and pale["own_rank"] == 0.0
    assert crisp["near_ratio"] > pale["near_ratio"]


def test_a_pale_page_as_a_whole() -> None:
    crisp, pale = (legibility_features(sight(*shades), None) for shades in ((0, 0, 0), (200, 200, 200)))
    assert crisp["crisp"] == 1.0 and pale["crisp"] == 0.0 and pale["high"] < crisp["low"]
    assert math.isnan(crisp["own"]) and math.isnan(legibility_features(sight(0, 0, 0), Point(-5, 4))["own"])
