"""How far a task has come: the goal's values, what was pressed before, and what an intent names."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.history import History, Step
from foretell.gui.observation import Observation, Pixels
from foretell.gui.ocr import Ocr
from foretell.gui.places import Places, instruction, joined
from foretell.gui.progress import (
    clause_features,
    goal_values,
    intent_values,
    is_geometric,
    key_context,
    past_features,
    typed_against,
    value_features,
)
from foretell.gui.sight import Eyes, Sight
from foretell.gui.wording import wording
from foretell.gui.words import Word
from tests.gui.drawn import CANCEL, FIELD, GOAL, SUBMIT, form, middle
from tests.gui.screens import blank, written

EYES = Eyes(Ocr())


def seen(image: Pixels | None = None, goal: str = GOAL) -> Sight:
    return EYES.see(Observation(goal, form(goal) if image is None else image))


def click(box: tuple[int, int, int, int]) -> Action:
    return Action(Kind.CLICK, point=Point(*middle(box)))


def after(*actions: Action, intent: str | None = None) -> History:
    return History(steps=tuple(Step(action, "before", True, intent) for action in actions), count=len(actions))


def test_values_are_quotes_numbers_and_names_but_no_submit_button() -> None:
    assert goal_values(wording('Enter "karrie" and press "Submit".')) == ("karrie",)
    assert goal_values(wording("Search for movies directed by Burris from year 1973.")) == ("Burris", "1973")
    assert goal_values(wording("Select 01/10/2016 as the date and hit Submit.")) == ("01/10/2016",)
    assert goal_values(wording("Select -10 with the spinner")) == ("-10",)
    assert goal_values(wording("")) == ()


def test_submitting_with_a_value_open_is_told_from_submitting_with_none() -> None:
    goal = wording(GOAL)
    early = value_features(seen(), click(SUBMIT), History(), goal, "")
    late = value_features(seen(form(GOAL, "karrie")), click(SUBMIT), History(), goal, "karrie")
    assert (early["ending"], late["ending"]) == (1.0, 0.0)
    assert early["ending_empty"] > late["ending_empty"]
    assert math.isnan(value_features(seen(), click(CANCEL), History(), goal, "")["ending"])


def test_a_slip_is_near_a_value_and_not_one() -> None:
    typed = [
        value_features(seen(), Action(Kind.TYPE, text=text), History(), wording(GOAL), "")
        for text in ("karrie", "karire", "hello")
    ]
    assert [one["typed_exact"] for one in typed] == [1.0, 0.0, 0.0]
    assert typed[0]["typed_best"] > typed[1]["typed_best"] > typed[2]["typed_best"]


def test_what_was_pressed_before_is_known_by_its_place() -> None:
    goal = wording(GOAL)
    assert math.isnan(past_features(seen(), click(SUBMIT), History(), goal)["submitted"])
    pressed = past_features(seen(), click(SUBMIT), after(click(SUBMIT)), goal)
    assert (pressed["last_submits"], pressed["same_last"], pressed["fresh"]) == (1.0, 1.0, 1.0)
    other = past_features(seen(), click(SUBMIT), after(click(FIELD)), goal)
    assert (other["last_submits"], other["same_last"]) == (0.0, 0.0)
    denied = past_features(seen(), None, after(click(SUBMIT), intent="click the menu item 'Tea'"), goal)
    assert denied["last_submits"] == 0.5


def test_an_enter_takes_what_was_typed() -> None:
    typed, enter = Action(Kind.TYPE, text="ls"), Action(Kind.KEY, keys=("enter",))
    goal = wording(GOAL)
    assert past_features(seen(), enter, after(typed), goal)["typed_open"] == 1.0
    assert past_features(seen(), enter, after(typed, enter), goal)["typed_open"] == 0.0
    assert key_context(enter, after(typed), wording("press enter to run 'ls'"))["quotes_typed"] == 1.0
    assert key_context(enter, after(typed), wording("press enter to run 'rm'"))["quotes_typed"] == 0.0
    assert math.isnan(key_context(click(SUBMIT), after(typed), wording("press 'ls'"))["quotes_typed"])


def test_a_named_button_is_missed_by_pixels() -> None:
    intent, goal = wording("press the button 'Submit'"), wording(GOAL)
    assert intent_values(seen(), click(SUBMIT), goal, intent)["miss"] == 0.0
    assert intent_values(seen(), click(CANCEL), goal, intent)["miss"] > 20.0
    beside = wording("click the plus of 'Submit'")
    assert math.isnan(intent_values(seen(), click(CANCEL), goal, beside)["miss"])
    assert all(math.isnan(value) for value in intent_values(seen(), click(SUBMIT), goal, None).values())


def test_values_that_the_goal_does_not_name_are_foreign() -> None:
    goal = wording(GOAL)
    assert intent_values(seen(), None, goal, wording("type 'karrie' into it"))["foreign"] == 0.0
    assert intent_values(seen(), None, goal, wording("type 'robert' into it"))["foreign"] == 1.0


def test_points_in_pictures_are_asked_for_in_words() -> None:
    assert is_geometric(wording("Click the middle between the two points")) == 1.0
    assert is_geometric(wording(GOAL)) == 0.0
    assert math.isnan(is_geometric(None))


def test_a_field_without_a_border_follows_its_label() -> None:
    goal = "Send it to Ann."
    places: Places = seen(written(written(blank(), "to:", (20, 100)), "subject: Tea for two", (20, 160)), goal).places
    blank_field = places.under(200, 112)
    assert blank_field is not None
    assert (blank_field.kind, blank_field.label) == ("field", "to:")


def test_signs_are_not_sought_among_words() -> None:
    words = wording("click '>' to see 'More'").readable()
    assert words.quoted == ("More",)
    assert len(words.context) == 1


def test_pieces_of_a_word_are_put_together_and_words_stay_apart() -> None:
    pieces = [Word("bm", (228, 537, 52, 31)), Word("it", (283, 537, 19, 31)), Word("S", (178, 538, 25, 30))]
    pieces += [Word("u", (206, 545, 18, 23)), Word("now", (320, 538, 50, 30)), Word("below", (178, 580, 60, 30))]
    assert [word.text for word in joined(pieces)] == ["Submit", "now", "below"]
    assert joined([]) == []


def test_an_instruction_read_word_by_word_is_found() -> None:
    words = [Word("line", (251, 10, 46, 24)), Word("Draw", (10, 11, 69, 23)), Word("a", (87, 15, 17, 19))]
    words += [Word("through", (8, 43, 110, 24)), Word("the", (120, 43, 40, 24)), Word("dot.", (170, 45, 50, 24))]
    words.append(Word("Submit", (178, 538, 80, 30)))
    assert instruction(words, "Draw a line through the dot.") == set(range(6))


def test_slips_in_what_is_typed_are_told_from_the_goals_own_words() -> None:
    goal = wording("Search for satire movies directed by Kelly from year 1970.")

    def of(text: str) -> dict[str, float]:
        return typed_against(Action(Kind.TYPE, text=text), goal)

    assert of("Kelly")["exact"] == 1.0 and math.isnan(of("Kelly")["near"])
    assert of("kELLY") == {"exact": 0.0, "case": 1.0, "near": pytest.approx(0.0)}
    assert of("Kellyy")["near"] > 0.85 > 0.5 > of("zzz")["near"]
    assert all(map(math.isnan, typed_against(click(SUBMIT), goal).values()))


def test_ending_before_the_goals_clauses_are_done_is_counted() -> None:
    goal = wording("Select all the shades of green and press Submit.")
    stop = Action(Kind.TERMINATE, success=True)
    first = clause_features(seen(), click(SUBMIT), History(), goal)
    later = clause_features(seen(), click(SUBMIT), after(click(FIELD)), goal)
    assert first["ahead"] == 1.0 and later["ahead"] == 0.0
    assert clause_features(seen(), stop, after(click(FIELD)), goal)["due"] == 1.0
    assert clause_features(seen(), stop, after(click(SUBMIT)), goal)["due"] == 0.0
    assert clause_features(seen(), stop, after(Action(Kind.KEY, keys=("enter",))), goal)["due"] == 0.0
    assert math.isnan(clause_features(seen(), click(CANCEL), History(), goal)["ahead"])
