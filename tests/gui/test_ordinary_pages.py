"""The shipped critic on pages that are nothing like those it was trained on: what is right there is left alone."""

from __future__ import annotations

from statistics import median
from typing import Any

import pytest

from benchmarks.gui_ordinary import judged
from foretell.gui.critic import EmbeddedCritic


@pytest.mark.parametrize("style", ["bright", pytest.param("dark", marks=pytest.mark.full)])
def test_right_clicks_are_left_alone_and_stray_ones_are_doubted_more(browser: Any, style: str) -> None:
    found = list(judged(browser, EmbeddedCritic(pictures=False), (800, 600), style))
    assert len(found) >= 10
    assert not [one for one in found if one.interrupted]
    assert sum(one.right < one.stray for one in found) >= 0.8 * len(found)
    assert median(one.right for one in found) < 0.45 < 0.6 < median(one.stray for one in found)
