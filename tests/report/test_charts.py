from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.report.calibration import Pair, coverages
from foretell.report.charts import Mark, Step, Winner, coverage_curve, forecast_scatter, progress, ruler
from foretell.report.svg import Scale, count_ticks, element, speedup_scale, speedup_ticks


def drawn(svg: str) -> ElementTree.Element:
    """Parse, and check what every chart owes its reader."""
    root = ElementTree.fromstring(svg)
    assert root.get("role") == "img"
    named = {node.get("id") for node in root if node.tag in ("title", "desc") and node.text}
    assert set(str(root.get("aria-labelledby")).split()) == named
    numbers = [
        value for node in root.iter() for key, value in node.items() if key in ("x1", "x2", "cx", "cy", "y1", "y2")
    ]
    assert all(math.isfinite(float(value)) for value in numbers)
    return root


def steps(*speedups: float | None) -> list[Step]:
    return [Step(i + 1, f"c{i}", s, s and s * 0.9, s and s * 1.1, i == 1, "tip") for i, s in enumerate(speedups)]


def test_markup_from_outside_is_escaped() -> None:
    assert element("circle", data_tip='<b> & "quote"') == '<circle data-tip="&lt;b&gt; &amp; &quot;quote&quot;"/>'


@pytest.mark.parametrize("speedups", [(2.0,), (0.001, 900.0), (None, 1.0), (1.0, 1.0, 1.0), (None,)])
def test_progress_draws_any_run(speedups: tuple[float | None, ...]) -> None:
    root = drawn(progress(steps(*speedups), Winner(1, 2.0, True)))
    marks = [node for node in root.iter() if node.get("data-tip")]
    assert len(marks) == len(speedups)


def test_the_line_of_the_best_never_falls() -> None:
    root = drawn(progress(steps(1.0, 3.0, 2.0, None, 4.0), None))
    climb = next(node for node in root.iter() if node.get("class") == "climb")
    heights = [float(value) for value in str(climb.get("d")).lstrip("M").split()][1::2]
    assert heights == sorted(heights, reverse=True)


def test_ruler_shows_every_candidate_and_the_winner() -> None:
    root = drawn(ruler([Mark(0.5, False, "a"), Mark(2.0, True, "b")], Winner(1, 8.0, False)))
    assert sorted(str(node.get("class")) for node in root.iter("line") if node.get("data-tip")) == ["foretold", "paid"]
    assert any(node.text == "8.00×" for node in root.iter("text"))
    drawn(ruler([], Winner(1, 8.0, False)))


def test_labels_of_the_ruler_are_not_cut() -> None:
    anchors = set()
    for low in range(-200, 0):  # the first tick wanders from the edge inwards
        root = drawn(ruler([Mark(2.0 ** (low / 100), False, "a"), Mark(2.0, True, "b")], None))
        first = min((one for one in root.iter() if one.get("class") == "tick"), key=lambda one: float(one.get("x", 0)))
        anchors.add(first.get("text-anchor"))
        if float(first.get("x", 0)) < 24:
            assert first.get("text-anchor") is None, "it starts there"
    assert anchors == {None, "middle"}


def test_scatter_tells_hits_from_misses() -> None:
    pairs = [
        Pair(0.0, -1.0, 1.0, 0.5, False, "a"),
        Pair(0.0, -0.1, 0.1, 3.0, True, "b"),
        Pair(9.0, -90, 90, 0, False, "c"),
    ]
    root = drawn(forecast_scatter(pairs))
    kinds = [str(node.get("class")) for node in root.iter("circle")]
    assert sorted(kinds) == ["dot hit", "dot hit", "dot miss audit"]
    heads = [node.get("class") for node in root.iter("path")]
    assert heads == ["beyond hit", "beyond hit"], "only the bar that goes on at both ends is marked"


def test_coverage_curve_has_a_point_a_level() -> None:
    root = drawn(coverage_curve(coverages([0.1, 0.3, 0.5, 0.7, 0.9]), 5))
    assert len(list(root.iter("circle"))) == 9


@given(st.lists(st.floats(-12, 12), max_size=20))
def test_scales_hold_every_value_and_the_reference(values: list[float]) -> None:
    scale = speedup_scale(values, 0.0, 100.0)
    assert all(0.0 <= scale(value) <= 100.0 for value in (*values, 0.0))
    ticks = speedup_ticks(scale)
    assert 0.0 in [at for at, _ in ticks]
    assert len({label for _, label in ticks}) == len(ticks) <= 8


@given(st.integers(0, 5000))
def test_count_ticks_are_few_and_in_range(most: int) -> None:
    ticks = count_ticks(most)
    assert ticks == sorted(set(ticks)) and len(ticks) <= 8
    assert all(1 <= tick <= max(1, most) for tick in ticks)


def test_a_scale_never_leaves_its_range() -> None:
    assert Scale(0, 1, 10, 20)(5) == 20
