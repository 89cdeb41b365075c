"""Actions written in each tool-call form are read back as the same actions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.gui.actions import HOLDING, POINTED, TEXTS, Action, Kind, Point
from foretell.gui.parse import BadProposal, Reason, Scale, parse, to_anthropic, to_openai, to_python, to_qwen

SIZE = (480, 630)


_POINTS = st.builds(Point, st.floats(0, 479.5), st.floats(0, 629.5))
_KEYS = st.lists(st.sampled_from(["ctrl", "shift", "a", "enter", "plus", "f5", "pagedown"]), min_size=1, unique=True)
_HELD = st.lists(st.sampled_from(["ctrl", "shift", "alt", "meta"]), unique=True)
_SECONDS = st.none() | st.floats(0, 60)


@st.composite
def actions(draw: st.DrawFn) -> Action:
    kind = draw(st.sampled_from(Kind))
    return Action(
        kind,
        point=draw(_POINTS) if kind in POINTED else None,
        to=draw(_POINTS) if kind is Kind.DRAG else None,
        text=draw(st.text(min_size=1)) if kind in TEXTS else None,
        keys=tuple(draw(_KEYS if kind is Kind.KEY else _HELD if kind in HOLDING else st.just([]))),
        dy=float(draw(st.integers(-2000, 2000))) if kind is Kind.SCROLL else 0.0,
        seconds=draw(_SECONDS) if kind in (Kind.WAIT, Kind.LONG_PRESS, Kind.KEY) else None,
        success=draw(st.booleans()) if kind is Kind.TERMINATE else None,
    )


@given(actions())
def test_python_round_trip_is_exact(action: Action) -> None:
    assert parse(to_python(action), None, Scale.PIXELS, SIZE).actions == (action,)


@given(actions(), st.sampled_from([Scale.PIXELS, Scale.UNIT, Scale.THOUSANDTHS]))
def test_other_forms_round_trip_to_the_nearest_step_of_their_scale(action: Action, scale: Scale) -> None:
    for write in (lambda a: to_qwen(a, SIZE, scale), lambda a: to_openai(a, SIZE), lambda a: to_anthropic(a, SIZE)):
        try:
            said = write(action)
        except BadProposal as refused:
            assert refused.reason is Reason.UNSUPPORTED
            continue
        in_scale = scale if isinstance(said, str) else Scale.PIXELS
        (back,) = parse(said, None, in_scale, SIZE).actions
        assert back.kind is action.kind
        assert (back.text, back.keys) == (action.text, action.keys)
        assert action.kind is not Kind.KEY or (back.seconds or 0.0) == (action.seconds or 0.0)
        assert back.dy == pytest.approx(action.dy, abs=50)
        for mine, its in ((action.point, back.point), (action.to, back.to)):
            if mine is not None:
                assert its is not None
                assert (its.x, its.y) == pytest.approx((mine.x, mine.y), abs=0.51)


def test_held_keys_are_written_where_a_form_has_words_for_them() -> None:
    click = Action(Kind.CLICK, Point(1, 2), keys=("ctrl", "shift"))
    assert to_openai(click, SIZE)["action"] == {
        "type": "click",
        "button": "left",
        "x": 1,
        "y": 2,
        "keys": ["ctrl", "shift"],
    }
    assert to_anthropic(click, SIZE)["input"] == {"action": "left_click", "coordinate": [1, 2], "text": "ctrl+shift"}
    held = Action(Kind.KEY, keys=("a",), seconds=2.0)
    assert to_anthropic(held, SIZE)["input"] == {"action": "hold_key", "text": "a", "duration": 2.0}
    for write, action in (
        (to_openai, held),
        (to_anthropic, Action(Kind.DRAG, Point(1, 2), Point(3, 4), keys=("alt",))),
    ):
        with pytest.raises(BadProposal, match="with keys held") as caught:
            write(action, SIZE)
        assert caught.value.reason is Reason.UNSUPPORTED
