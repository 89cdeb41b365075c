"""Each check finds its own fault, stays quiet on sound proposals, and shows nothing that is typed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.gui.actions import Action, Kind, Platform, Point
from foretell.gui.checks import Finding, caret, check, coarse_digest, digest, focus_ring
from foretell.gui.history import History, Step
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Observation, Pixels, Proposal

GOAL = "Log in and press Submit."


def screen(seed: int = 0, width: int = 240, height: int = 320) -> Pixels:
    """Grey blocks on white, others for another seed."""
    image = np.full((height, width, 3), 255, np.uint8)
    for x, y in np.random.default_rng(seed).integers(20, 200, (6, 2)):
        image[y : y + 15, x : x + 30] = 90
    return image


def click(x: float = 50, y: float = 60) -> Action:
    return Action(Kind.CLICK, Point(x, y))


def typing(text: str = "bob") -> Action:
    return Action(Kind.TYPE, text=text)


def scrolling(dy: float) -> Action:
    return Action(Kind.SCROLL, dy=dy)


def step(action: Action, changed: bool = True, on: Pixels | None = None) -> Step:
    return Step(action, "elsewhere" if on is None else digest(on), changed)


def after(*steps: Step) -> History:
    return History(steps=steps, count=len(steps))


def found(
    *actions: Action,
    history: History | None = None,
    intent: str | None = None,
    goal: str = GOAL,
    image: Pixels | None = None,
    platform: Platform = "web",
) -> dict[str, Finding]:
    observation = Observation(goal, screen() if image is None else image, platform=platform)
    findings = check(observation, Proposal(actions, intent=intent), history or History())
    assert all(0.0 <= finding.strength <= 1.0 for finding in findings)
    assert [f.strength for f in findings] == sorted((f.strength for f in findings), reverse=True)
    return {finding.check: finding for finding in reversed(findings)}


FOCUSED = after(step(click()))


def test_a_sound_proposal_finds_nothing() -> None:
    assert found(click(), intent="Click the Submit button") == {}
    assert found(typing(), intent='Type "bob" into the "User" field', history=FOCUSED) == {}
    assert found(scrolling(300), intent="Scroll down to see more") == {}
    assert found(Action(Kind.TERMINATE, success=True), history=FOCUSED) == {}
    assert found(Action(Kind.KEY, keys=("ctrl", "a")), intent="Press ctrl+a to select everything") == {}


def test_faults_are_formulation_errors() -> None:
    observation = Observation(GOAL, screen())
    unreadable = check(observation, Proposal((), fault="unreadable: no call"), History())[0]
    unsupported = check(observation, Proposal((), fault="unsupported: mouse down"), History())[0]
    assert unreadable.error is unsupported.error is ErrorClass.FORMULATION
    assert unsupported.strength < 0.5 < unreadable.strength
    assert check(observation, Proposal(()), History())[0].error is ErrorClass.FORMULATION


@pytest.mark.parametrize(
    "action",
    [
        Action(Kind.CLICK),
        Action(Kind.DRAG, Point(1, 1)),
        Action(Kind.TYPE, text=""),
        Action(Kind.KEY),
        Action(Kind.KEY, keys=("flurb",)),
        Action(Kind.SCROLL),
        Action(Kind.HOME),
    ],
)
def test_what_cannot_be_carried_out_is_a_formulation_error(action: Action) -> None:
    assert found(action)["formulation"].error is ErrorClass.FORMULATION


def test_what_a_phone_has_is_allowed_there() -> None:
    assert found(Action(Kind.HOME), platform="mobile") == {}
    assert "formulation" in found(Action(Kind.RIGHT_CLICK, Point(1, 1)), platform="mobile")


@pytest.mark.parametrize("point", [Point(240, 10), Point(10, 320), Point(-1, 0), Point(float("nan"), 0)])
def test_out_of_bounds(point: Point) -> None:
    assert found(Action(Kind.CLICK, point))["out_of_bounds"].strength > 0.9
    assert "out_of_bounds" in found(Action(Kind.DRAG, Point(1, 1), point))


def test_scrolls_and_drags_of_next_to_nothing() -> None:
    assert found(scrolling(3))["too_small"].error is ErrorClass.VECTOR
    assert found(Action(Kind.DRAG, Point(1, 1), Point(2, 2)))["too_small"].error is ErrorClass.VECTOR
    assert "too_small" not in found(Action(Kind.SCROLL, dx=200))


def test_the_same_again_on_an_unchanged_screen() -> None:
    image = screen()
    again = found(click(51, 61), image=image, history=after(step(click(), False, image)))["repeated"]
    assert again.error is ErrorClass.GROUNDING
    assert again.strength > 0.8
    elsewhere = found(click(51, 61), image=image, history=after(step(click(), False)))["repeated"]
    assert elsewhere.strength < again.strength
    twice = after(step(click(), False, image), step(click(150, 150), False, image))
    assert "repeated" in found(click(), image=image, history=twice)
    assert "repeated" not in found(click(90, 90), image=image, history=twice)
    assert found(click(), history=after(step(click())))["repeated"].strength < 0.5
    waited = after(step(Action(Kind.WAIT), False, image))
    assert found(Action(Kind.WAIT), image=image, history=waited)["repeated"].strength < 0.5


def test_circles_are_seen_by_their_screens() -> None:
    one, other = screen(1), screen(2)
    forth, back = click(10, 10), click(100, 100)
    once = after(step(forth, on=one), step(back, on=other))
    assert "circling" not in found(back, image=one, history=once)
    first = found(forth, image=one, history=once)["circling"].strength
    more = after(*once.steps, *once.steps)
    assert found(forth, image=one, history=more)["circling"].strength > first
    assert "circling" in found(back, image=screen(3), history=after(step(back), step(forth), step(back), step(forth)))


def test_typing_on_where_something_was_typed() -> None:
    history = after(step(click()), step(typing("bob")))
    assert found(typing("secret"), history=history)["continued"].error is ErrorClass.PREREQUISITE
    moved = after(*history.steps, step(Action(Kind.KEY, keys=("tab",))))
    assert found(typing("secret"), history=moved) == {}


def test_one_key_after_another() -> None:
    press = Action(Kind.KEY, keys=("down",))
    assert "pressing" not in found(press, history=after(*[step(press)] * 2))
    assert found(press, history=after(*[step(press)] * 5))["pressing"].error is ErrorClass.SUBOPTIMAL
    letters = after(*(step(typing(letter)) for letter in "bobb"))
    assert "pressing" in found(typing("y"), history=letters)
    assert "pressing" in found(scrolling(40), history=after(*[step(scrolling(40))] * 3))


@pytest.mark.parametrize("goal", ["What is the price of tea?", "Find out who sent it", "How many circles are there"])
def test_an_answer_comes_before_the_end(goal: str) -> None:
    end, answer = Action(Kind.TERMINATE, success=True), Action(Kind.ANSWER, text="42")
    assert found(end, goal=goal, history=FOCUSED)["ending"].error is ErrorClass.TERMINATION
    assert found(answer, end, goal=goal, history=FOCUSED) == {}
    assert found(end, goal=goal, history=after(step(click()), step(answer, False))) == {}
    assert found(Action(Kind.TERMINATE, text="42", success=True), goal=goal, history=FOCUSED) == {}
    assert found(Action(Kind.TERMINATE, success=False), goal=goal, history=FOCUSED) == {}


@pytest.mark.parametrize("goal", ["Could you press Submit?", "Do the dishes", "When it has loaded, press Submit"])
def test_a_goal_that_asks_for_no_answer_needs_none(goal: str) -> None:
    assert found(Action(Kind.TERMINATE, success=True), goal=goal, history=FOCUSED) == {}


def test_stopping_too_early_and_going_on() -> None:
    end = Action(Kind.TERMINATE, success=True)
    assert found(end)["ending"].strength > 0.5
    assert found(end, history=after(step(click(), False)))["ending"].strength < 0.5
    assert found(end, click(), history=FOCUSED)["ending"].strength > 0.5


def with_ring(image: Pixels, colour: int | tuple[int, int, int] = 16, inside: int = 255) -> Pixels:
    shown = image.copy()
    shown[250:290, 30:200] = colour
    shown[252:288, 32:198] = inside
    return shown


def with_caret(image: Pixels, width: int = 1, x: int = 60) -> Pixels:
    shown = image.copy()
    shown[260:276, x : x + width] = 0
    return shown


def test_typing_without_focus() -> None:
    never = found(typing())["unfocused"]
    assert never.error is ErrorClass.PREREQUISITE
    assert found(typing(), history=after(step(click(), False)))["unfocused"].strength < never.strength
    assert "unfocused" in found(typing(), history=after(step(click()), step(Action(Kind.NAVIGATE, text="a.example"))))
    assert "unfocused" not in found(typing(), history=after(step(click()), step(Action(Kind.WAIT), False)))
    assert "unfocused" not in found(typing(), history=after(step(Action(Kind.KEY, keys=("tab",)), False)))
    assert "unfocused" not in found(click(), typing())
    assert "unfocused" not in found(Action(Kind.TYPE, Point(1, 1), text="a"))
    assert "unfocused" not in found(typing(), image=with_ring(screen()))
    assert "unfocused" not in found(typing(), image=with_caret(screen()))


@pytest.mark.parametrize("colour", [(230, 230, 230), (120, 180, 255), (240, 160, 40), (180, 90, 240)])
def test_focus_rings_on_dark_pages(colour: tuple[int, int, int]) -> None:
    dark = np.full_like(screen(), 24)
    assert focus_ring(with_ring(dark, colour, 32)) == pytest.approx((30, 250, 200, 290), abs=3)
    assert "unfocused" not in found(typing(), image=with_ring(dark, colour, 32))
    assert focus_ring(with_ring(dark, 70, 32)) is None  # an ordinary border
    assert "unfocused" in found(typing(), image=with_ring(dark, 70, 32))


@pytest.mark.parametrize("colour", [16, (0, 95, 204), (134, 183, 254), (200, 40, 90), (20, 140, 60), (240, 130, 0)])
def test_focus_rings(colour: int | tuple[int, int, int]) -> None:
    assert focus_ring(screen()) is None
    left, top, right, bottom = focus_ring(with_ring(screen(), colour)) or (0, 0, 0, 0)
    assert (left, top, right, bottom) == pytest.approx((30, 250, 200, 290), abs=3)
    filled = screen()
    filled[250:290, 30:200] = colour
    assert focus_ring(filled) is None


def test_carets() -> None:
    assert not caret(screen())
    assert caret(with_caret(screen(), 1))
    assert caret(with_caret(screen(), 2, x=100))
    assert not caret(with_caret(screen(), 8))
    assert caret(255 - with_caret(screen()))
    after_a_letter = with_caret(screen(), 2, x=100)
    after_a_letter[266:272, 90:100] = 40
    assert caret(after_a_letter)
    framed = with_ring(screen(), 0)
    assert not caret(framed)
    framed[[250, 289], 30:200] = 255
    assert not caret(framed)


def test_a_digest_is_exact_and_its_coarse_kin_forgives_a_caret_and_a_clock() -> None:
    image = screen()
    clock = image.copy()
    clock[2:8, 200:230] = 0
    assert digest(image) == digest(image.copy())
    assert len({digest(image), digest(clock), digest(with_caret(image))}) == 3
    assert coarse_digest(image) == coarse_digest(clock) == coarse_digest(with_caret(image, 2))
    assert coarse_digest(image) != coarse_digest(screen(1))
    assert coarse_digest(image) != coarse_digest(image[:, :-1])


def test_a_history_may_keep_either_digest() -> None:
    image = screen()
    kept = after(Step(click(), coarse_digest(image), changed=False))
    assert found(click(), image=with_caret(image), history=kept)["repeated"].strength > 0.8


@pytest.mark.parametrize(
    ("action", "intent", "wrong"),
    [
        (scrolling(-300), "Scroll down to find the item", True),
        (scrolling(300), "Scroll down to find the item", False),
        (scrolling(300), "Scroll the list back to the top", True),
        (scrolling(300), "Scroll the left panel down", False),
        (scrolling(-300), "Swipe up to see more", True),
        (Action(Kind.SCROLL, dx=-300), "Scroll right", True),
        (Action(Kind.SCROLL, dx=300), "Scroll down to find the item", True),
        (Action(Kind.DRAG, Point(50, 50), Point(50, 200)), "Swipe up to see more", True),
        (Action(Kind.DRAG, Point(50, 200), Point(50, 50)), "Scroll down the page", False),
        (Action(Kind.DRAG, Point(50, 50), Point(10, 50)), "Drag the slider to the right", True),
        (Action(Kind.DRAG, Point(50, 50), Point(10, 50)), "Drag the file to the right panel", False),
        (scrolling(-300), "Look for the item", False),
    ],
)
def test_directions(action: Action, intent: str, wrong: bool) -> None:
    assert ("wrong_way" in found(action, intent=intent)) is wrong


def test_a_goal_states_a_direction_less_surely_than_an_intent() -> None:
    goal = "Scroll the textarea to the bottom of the text and press Submit."
    by_goal = found(scrolling(-300), goal=goal)["wrong_way"].strength
    assert by_goal < found(scrolling(-300), intent="scroll down", goal=goal)["wrong_way"].strength
    assert found(scrolling(-300), intent="scroll back up", goal=goal) == {}


@pytest.mark.parametrize(
    ("action", "intent", "least"),
    [
        (typing(), "Click the Submit button", 0.7),
        (typing(), "Click Search", 0.7),
        (typing(), "I will click on the open link", 0.7),
        (scrolling(300), "Click the Submit button", 0.7),
        (Action(Kind.TERMINATE, success=True), "Click the Submit button", 0.7),
        (click(), "Scroll down a little", 0.5),
        (click(), "Double-click the file", 0.5),
        (click(), "Right-click the file", 0.5),
        (Action(Kind.RIGHT_CLICK, Point(1, 1)), "Click the file", 0.5),
        (click(), "Type the name into the box", 0.2),
        (click(), "Select the second option", 0.0),
        (click(), "Tap the third one", 0.0),
        (click(), "Click and type the name", 0.0),
        (click(), "Focus the input field", 0.0),
        (click(), 'Press the button that says "scroll down"', 0.0),
        (Action(Kind.KEY, keys=("enter",)), "Press Enter to submit", 0.0),
        (Action(Kind.DOUBLE_CLICK, Point(1, 1)), "Double-click the file", 0.0),
        (Action(Kind.DRAG, Point(1, 1), Point(99, 99)), "Click and drag the file", 0.0),
    ],
)
def test_verbs_against_kinds(action: Action, intent: str, least: float) -> None:
    findings = found(action, intent=intent, history=after(step(click(200, 200))))
    if least == 0.0:
        assert findings == {}
    else:
        assert findings["against_intent"].error is ErrorClass.MISALIGNMENT
        assert findings["against_intent"].strength > least


@pytest.mark.parametrize(
    ("text", "intent", "wrong"),
    [
        ("bob", 'Type "bob"', False),
        ("Bob\n", "Enter 'bob' and submit", False),
        ("alice", 'Type "bob"', True),
        ("bbo", 'Type "bob"', True),
        ("alice", 'Type the name into the "User" field', False),
        ("alice", "Type alice's name", False),
        ("04032010", "Type '04/03/2010' into the date field", False),
        ("0615AM", "Type '6:15 AM' into the time field", False),
        ("0715AM", "Type '6:15 AM' into the time field", True),
        ("alice", 'Type "alice" into the field "User"', False),
    ],
)
def test_typed_text_against_the_quoted(text: str, intent: str, wrong: bool) -> None:
    assert ("typed_text" in found(typing(text), intent=intent, history=FOCUSED)) is wrong


def test_typed_text_against_the_goal() -> None:
    goal = 'Enter "bob" into the text field and press Submit.'
    assert found(typing("alice"), goal=goal, history=FOCUSED)["typed_text"].error is ErrorClass.CONSTRAINT
    assert found(typing("bob"), goal=goal, history=FOCUSED) == {}
    named = 'Find the first word, type it into the textbox and press "Submit".'
    assert found(typing("tempor"), goal=named, history=FOCUSED) == {}


def test_another_key_than_the_one_named() -> None:
    tab = Action(Kind.KEY, keys=("tab",))
    assert found(tab, intent="Press Enter to submit")["wrong_key"].error is ErrorClass.MISALIGNMENT
    assert found(tab, intent="Press the Tab key") == {}
    assert found(tab, intent="Press the blue button with the keyboard") == {}


_ACTIONS = st.builds(
    Action,
    kind=st.sampled_from(Kind),
    point=st.none() | st.builds(Point, st.floats(), st.floats()),
    to=st.none() | st.builds(Point, st.floats(-9, 999), st.floats(-9, 999)),
    text=st.none() | st.sampled_from(["hunter2", "", "x", "hunter2\n"]),
    keys=st.lists(st.sampled_from(["tab", "a", "zork", ""]), max_size=2).map(tuple),
    dx=st.floats(-999, 999),
    dy=st.floats(-999, 999),
)
_STEPS = st.builds(Step, _ACTIONS, st.sampled_from(["", "coarse-0", digest(screen())]), st.booleans())


@given(
    st.lists(_ACTIONS, max_size=3),
    st.lists(_STEPS, max_size=5),
    st.none()
    | st.text()
    | st.sampled_from(['Type "bob"', "Press ctrl +", "scroll 'down' up", "swipe left drag right"]),
    st.sampled_from([(1, 1), (9, 9), (240, 320), (8, 400), (400, 8)]),
)
@settings(max_examples=60)
def test_nothing_breaks_it_and_nothing_typed_is_shown(
    actions: list[Action], steps: list[Step], intent: str | None, size: tuple[int, int]
) -> None:
    image = screen() if size == (240, 320) else np.zeros((size[1], size[0], 3), np.uint8)
    proposal = Proposal(tuple(actions), intent=intent)
    for finding in check(Observation("How many?", image), proposal, after(*steps)):
        assert "hunter2" not in finding.sentence
