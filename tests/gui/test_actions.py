"""Actions as JSON and back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.gui.actions import ALLOWED, CLICKS, POINTED, TEXTS, Action, Kind, Point

_NUMBERS = st.floats(-5000, 5000)
_POINTS = st.none() | st.builds(Point, _NUMBERS, _NUMBERS)
_ACTIONS = st.builds(
    Action,
    kind=st.sampled_from(Kind),
    point=_POINTS,
    to=_POINTS,
    text=st.none() | st.text(),
    keys=st.lists(st.text(min_size=1), max_size=3).map(tuple),
    dx=_NUMBERS,
    dy=_NUMBERS,
    seconds=st.none() | st.floats(0, 60, exclude_min=True),
    success=st.none() | st.just(True),
)


@given(_ACTIONS)
def test_round_trip_through_json(action: Action) -> None:
    assert Action.from_dict(json.loads(json.dumps(action.to_dict()))) == action


def test_keys_are_held_or_pressed() -> None:
    assert Action(Kind.SCROLL, keys=("ctrl",), dy=1.0).held == ("ctrl",)
    assert Action(Kind.KEY, keys=("ctrl", "a")).held == ()


def test_only_what_is_set_is_written() -> None:
    assert Action(Kind.CLICK, Point(1, 2)).to_dict() == {"kind": "click", "point": {"x": 1, "y": 2}}
    assert Action(Kind.KEY, keys=("ctrl", "a")).to_dict() == {"kind": "key", "keys": ["ctrl", "a"]}


def test_an_empty_text_is_kept() -> None:
    assert Action.from_dict(Action(Kind.TYPE, text="").to_dict()) == Action(Kind.TYPE, text="")


@pytest.mark.parametrize("action", [Action(Kind.TERMINATE, success=False), Action(Kind.WAIT, seconds=0.0)])
def test_a_claimed_failure_and_no_time_at_all_are_kept(action: Action) -> None:
    assert Action.from_dict(action.to_dict()) == action


@pytest.mark.parametrize(
    ("x", "y", "inside"), [(0, 0, True), (9.9, 4.9, True), (10, 0, False), (0, 5, False), (-0.1, 0, False)]
)
def test_inside(x: float, y: float, inside: bool) -> None:
    assert Point(x, y).inside(10, 5) is inside


def test_every_kind_is_at_home_somewhere() -> None:
    assert frozenset(Kind) == frozenset().union(*ALLOWED.values())
    assert CLICKS < POINTED
    assert not POINTED & TEXTS
