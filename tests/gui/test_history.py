"""Histories: what is kept, what is taken back, and what a language model may say of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.claims import DOTS, HIDDEN_KEY, LOADING, NOTHING
from foretell.gui.history import ACHIEVED_KEPT, STEPS_KEPT, Historian, History, screen_digest, text_for_prompt
from foretell.gui.history_lm import LanguageHistorian, read_answer
from foretell.lm import Failure, Reply, Request, Trouble, Usage
from tests.gui.screens import BOX, FIELD, FakeReader, blank, fill, form, frame, word, written

EMPTY = form()
FOCUSED = frame(EMPTY, FIELD, 5, (16, 16, 16))
FILLED = written(FOCUSED, "Paula", (72, 112))
CLICK = Action(Kind.CLICK, point=Point(100, 120))
TYPE = Action(Kind.TYPE, text="Paula")


def reader() -> FakeReader:
    return FakeReader((FILLED, [word("Paula", (72, 112))]))


def filled() -> History:
    historian = Historian(reader())
    history = historian.update(History(), EMPTY, FOCUSED, CLICK, "click the field")
    return historian.update(history, FOCUSED, FILLED, TYPE, "type Paula")


def test_a_click_into_a_field_and_what_is_typed_there() -> None:
    history = filled()
    assert history.achieved == (
        "what was clicked at (100, 120) has the focus",
        "'Paula' is in the field that was clicked",
    )
    assert history.count == 2 and history.effect == "'Paula' appeared in the field that was clicked"
    first, second = history.steps
    assert first.screen == screen_digest(EMPTY) and first.changed and first.intent == "click the field"
    assert second.action == TYPE and second.screen == screen_digest(FOCUSED)


def test_what_appears_elsewhere_is_told_with_the_focus() -> None:
    after = written(FOCUSED, "Saved", (300, 300))
    seen = FakeReader((after, [word("Saved", (300, 300))]))
    told = Historian(seen).update(History(), EMPTY, after, CLICK, None).effect
    assert told == "an outline at (100, 120) shows that it has the focus, and 'Saved' appeared"
    moved = frame(EMPTY, (60, 300, 200, 40), 5, (16, 16, 16))
    again = Historian(seen).update(History(), moved, FOCUSED, CLICK, None).effect
    assert again == "an outline at (100, 120) shows that it has the focus"


def test_a_menu_over_a_field_takes_nothing_back_and_a_cleared_form_does() -> None:
    menu = fill(FILLED, (50, 90, 330, 80), 200)
    for row in range(2):
        menu = written(menu, "an entry of a menu", (64, 98 + 32 * row))
    covered = Historian(reader()).update(filled(), FILLED, menu, Action(Kind.CLICK, point=Point(300, 40)), None)
    assert "'Paula' is in the field that was clicked" in covered.achieved
    back = Historian(reader()).update(covered, menu, FILLED, Action(Kind.KEY, keys=("escape",)), None)
    assert "'Paula' is in the field that was clicked" in back.achieved
    cleared = fill(fill(FILLED, (50, 90, 330, 80), 200), (62, 102, 290, 40), 255)
    emptied = Historian(reader()).update(filled(), FILLED, cleared, Action(Kind.CLICK, point=Point(300, 40)), None)
    assert "'Paula' is in the field that was clicked" not in emptied.achieved


@pytest.mark.parametrize("action", [Action(Kind.CLICK, point=Point(9, 9)), Action(Kind.NAVIGATE, text="a.example")])
def test_another_page_takes_nothing_back(action: Action) -> None:
    page = written(fill(blank(), (0, 0, 480, 360), 60), "Another page", (40, 40))
    history = Historian(reader()).update(filled(), FILLED, page, action, None)
    assert "'Paula' is in the field that was clicked" in history.achieved


def test_the_shade_under_the_pointer_is_no_news() -> None:
    button = (60, 300, 120, 40)
    before, shaded = fill(EMPTY, button, 200), fill(EMPTY, button, 240)
    after = written(shaded, "Saved", (300, 60))
    seen = FakeReader((after, [word("Saved", (300, 60))]))
    told = Historian(seen).update(History(), before, after, Action(Kind.CLICK, point=Point(100, 320)), None).effect
    assert "'Saved' appeared" in told and "pointer" not in told
    alone = Historian(seen).update(History(), before, shaded, Action(Kind.CLICK, point=Point(100, 320)), None).effect
    assert "as it does under a pointer" in alone


def test_a_page_may_still_be_loading() -> None:
    click = Action(Kind.CLICK, point=Point(100, 320))
    went = Historian().update(History(), fill(EMPTY, (0, 0, 480, 300), 90), blank(), click, None)
    assert went.effect.endswith(LOADING) and not went.achieved
    notice = written(EMPTY, "Loading...", (200, 300))
    seen = FakeReader((notice, [word("Loading...", (200, 300))]))
    assert LOADING in Historian(seen).update(History(), EMPTY, notice, Action(Kind.CLICK, Point(9, 9)), None).effect


def test_what_is_deleted_is_taken_back() -> None:
    history = Historian(reader()).update(filled(), FILLED, FOCUSED, Action(Kind.KEY, keys=("delete",)), None)
    assert "'Paula' is in the field that was clicked" not in history.achieved
    assert "changed" in history.effect


def test_a_click_into_a_filled_field_takes_nothing_back() -> None:
    marked = fill(FILLED, (70, 108, 80, 6), (0, 0, 255))
    history = Historian(reader()).update(
        filled(), FILLED, marked, Action(Kind.TRIPLE_CLICK, point=Point(90, 115)), None
    )
    assert "'Paula' is in the field that was clicked" in history.achieved


def test_the_focus_is_where_the_last_click_was() -> None:
    other = Action(Kind.CLICK, point=Point(80, 320))
    ringed = frame(EMPTY, (60, 300, 200, 40), 5, (16, 16, 16))
    first = Historian().update(History(), EMPTY, FOCUSED, CLICK, None)
    assert Historian().update(first, FOCUSED, ringed, other, None).achieved == (
        "what was clicked at (80, 320) has the focus",
    )
    assert Historian().update(first, FOCUSED, FILLED, TYPE, None).achieved == first.achieved


def test_another_page_leaves_what_was_achieved_on_the_last() -> None:
    other = fill(blank(), (0, 0, 480, 300), 60)
    history = Historian().update(filled(), FILLED, other, Action(Kind.KEY, keys=("enter",)), None)
    assert history.achieved == ("'Paula' is in the field that was clicked", "most of the screen changed")
    assert history.claims == ()


def test_unticking_replaces_ticking() -> None:
    full = fill(EMPTY, BOX, (0, 117, 255))
    click = Action(Kind.CLICK, point=Point(80, 220))
    history = Historian().update(History(), EMPTY, full, click, None)
    assert history.achieved == ("the box at (80, 220) was ticked",)
    history = Historian().update(history, full, EMPTY, click, None)
    assert history.achieved == ("the box at (80, 220) was unticked",)


def test_it_stays_bounded() -> None:
    history, screens = History(), [fill(blank(), (40 * i, 40, 30, 30), 30) for i in range(10)]
    for i in range(60):
        at = Point(40 * (i % 10) + 15, 55 + i % 7)
        history = Historian().update(history, blank(), screens[i % 10], Action(Kind.CLICK, point=at), None)
    assert len(history.achieved) == ACHIEVED_KEPT and len(history.steps) == STEPS_KEPT and history.count == 60
    assert len(history.claims) <= ACHIEVED_KEPT


def test_text_for_the_prompt() -> None:
    assert text_for_prompt(History()) == ""
    text = text_for_prompt(filled())
    assert text.splitlines()[0] == "Achieved so far, as the screen shows:"
    assert "- 'Paula' is in the field that was clicked" in text and "changed nothing" not in text
    history = History()
    for _ in range(3):
        history = Historian().update(history, EMPTY, EMPTY, CLICK, None)
    text = text_for_prompt(history)
    assert "nothing that the screen confirms" in text and f"the last action: {NOTHING}." in text
    assert "The last 3 actions changed nothing" in text


def test_screens_have_digests() -> None:
    assert screen_digest(EMPTY) == screen_digest(form()) != screen_digest(FOCUSED)


class FakeModel:
    name = "fake"

    def __init__(self, *answers: Reply | Failure | Exception) -> None:
        self._answers = list(answers)
        self.asked: list[Request] = []

    def ask(self, requests: Sequence[Request]) -> list[Reply | Failure]:
        self.asked += requests
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return [answer]


def said(achieved: list[str], effect: str) -> Reply:
    return Reply(json.dumps({"achieved": achieved, "effect": effect}), Usage(100, 20))


def by_model(model: FakeModel, history: History | None = None) -> tuple[History, LanguageHistorian]:
    historian = LanguageHistorian(model, Historian(reader()))
    before = Historian(reader()).update(History(), EMPTY, FOCUSED, CLICK, None) if history is None else history
    return historian.update(before, FOCUSED, FILLED, TYPE, "type Paula"), historian


def test_the_model_says_what_was_achieved() -> None:
    model = FakeModel(said(["The name field holds 'Paula'."], "The name appeared."))
    history, historian = by_model(model)
    assert history.achieved == ("'The name field holds ’Paula’.'",) and history.effect == "'The name appeared'"
    assert history.count == 2 and history.steps[-1].action == TYPE
    assert historian.totals.tokens == 120 and not historian.fallbacks
    asked = model.asked[0].messages[1].content
    assert '"text_after": "Paula"' in asked and "'Paula' is in the field" in asked


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Failure(Trouble.TIMEOUT, "too slow"), "request:timeout"),
        (Failure(Trouble.OVER_BUDGET, "spent"), "request:over_budget"),
        (Reply("I would rather not."), "answer"),
        (Reply('{"achieved": "all", "effect": "x"}'), "answer"),
        (replace(said(["x"], "y"), cut_off=True), "answer"),
        (RuntimeError("broken"), "model:RuntimeError"),
    ],
)
def test_on_any_failure_the_embedded_history_stands(answer: Reply | Failure | Exception, reason: str) -> None:
    history, historian = by_model(FakeModel(answer))
    assert history == filled_without_intent() and historian.fallbacks == {reason: 1}


def filled_without_intent() -> History:
    historian = Historian(reader())
    return historian.update(
        historian.update(History(), EMPTY, FOCUSED, CLICK, None), FOCUSED, FILLED, TYPE, "type Paula"
    )


def test_the_model_is_not_asked_where_nothing_changed_or_a_secret_was_typed() -> None:
    model = FakeModel()
    historian = LanguageHistorian(model, Historian(reader()))
    assert historian.update(History(), EMPTY, EMPTY, CLICK, None).effect == NOTHING
    history = historian.update(History(), FOCUSED, FILLED, Action(Kind.TYPE, text=DOTS), "type the PIN")
    assert "Paula" not in history.effect and model.asked == []
    history = historian.update(History(), FOCUSED, FILLED, Action(Kind.KEY, keys=(HIDDEN_KEY,)), "type the PIN")
    assert "Paula" not in history.effect and model.asked == []


def test_pictures_go_along_for_models_that_see() -> None:
    model = FakeModel(said([], "The name appeared."))
    LanguageHistorian(model, Historian(reader()), pictures=True).update(History(), FOCUSED, FILLED, TYPE, None)
    assert len(model.asked[0].messages[1].images) == 2


def test_answers_are_read_with_care() -> None:
    assert read_answer('```json\n{"achieved": ["a", "a", " "], "effect": " b. "}\n```') == (("a",), "b")
    assert read_answer(json.dumps({"achieved": ["x" * 999] * 40, "effect": "e"})) == (("x" * 200,), "e")
    for text in ("", "{}", "[1]", '{"achieved": [1], "effect": "e"}', '{"achieved": [], "effect": ""}', "}{"):
        assert read_answer(text) is None
