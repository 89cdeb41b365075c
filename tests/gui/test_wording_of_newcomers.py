"""Intents as people word them: clicks on just what they name are set apart from clicks on its twins."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cv2")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.called import goal_margin, is_called_on_page, is_called_on_screen, is_new_label
from foretell.gui.contradiction import Contradiction
from foretell.gui.elements import look
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.evidence_contradiction import CONFIRMED, against_page
from foretell.gui.history import History, Step
from foretell.gui.judgement import ErrorClass
from foretell.gui.naming import EXACT, likeness
from foretell.gui.places import Place, PlaceKind, Places
from foretell.gui.sight import Sight
from foretell.gui.untaught import is_untaught
from foretell.gui.words import Word

TRAM, HOTEL = "Bruno Tram tickets 18.50", "Alice Hotel deposit 240.00"


def seen(*texts: tuple[str, int, int], kind: PlaceKind = "text") -> Sight:
    """A screen with these texts, each 20 pixels high."""
    image = np.full((300, 400, 3), 255, dtype=np.uint8)
    words = tuple(Word(text, (x, y, 9 * len(text), 20)) for text, x, y in texts)
    return Sight(image, "", look(image), Places(tuple(Place(kind, w.box, w.text) for w in words), words, None))


def click(x: float, y: float) -> Action:
    return Action(Kind.CLICK, Point(x, y))


@pytest.mark.parametrize(
    ("intent", "label", "other"),
    [
        ("go to Settings", "Settings", "Statistics"),
        ("Navigate to the Statistics page", "Statistics", "Settle"),
        ("Show the filters", "Show filters", "Clear filters"),
        ("now the narration", "Narration", "Payee"),
        ("select the current title", "Title", "Web page URL"),
        ("Go to the list of bills", "Bills", "Settle"),
        ("Save the change with Submit", "Submit", "Cancel"),
        ("click into 'What?'", "What?", "How much?"),
        ("confirm with 'Are you sure?'", "Are you sure?", "edit"),
        ("Click the red 'Are you sure?' button", "Are you sure?", "edit"),
        ("click 'Edit' in the row of 'Bob'", "Edit", "Bob"),
        ("click the X in the row of the museum", "delete", "edit"),
        ("click the pencil of the tram tickets", "edit", "delete"),
        ("click the question mark next to Help", "?", "Help"),
        ("Click the '+' beside Editor", "+", "Editor"),
    ],
)
def test_what_an_intent_names_and_what_it_does_not(intent: str, label: str, other: str) -> None:
    assert likeness(label, intent) == EXACT
    assert likeness(other, intent) != EXACT


def test_only_one_of_that_name_is_surely_meant() -> None:
    intent = "go to Settings"
    one = seen(("Settings", 100, 20), ("Statistics", 250, 20))
    assert is_called_on_screen(one, click(120, 30), intent)
    assert not is_called_on_screen(one, click(270, 30), intent)
    assert not is_called_on_screen(seen(("Settings", 100, 20), ("Settings", 100, 200)), click(120, 30), intent)


def test_beside_its_words_a_link_is_still_clicked() -> None:
    editor = seen(("Editor", 100, 20))
    assert is_called_on_screen(editor, click(154 + 3, 30), "open the editor")
    assert not is_called_on_screen(editor, click(154 + 12, 30), "open the editor")


def test_a_page_tells_the_named_row_from_its_twin() -> None:
    intent = "Edit the tram tickets"
    tram, hotel = ElementAt("edit", "link", context=TRAM), ElementAt("edit", "link", context=HOTEL)
    assert is_called_on_page(tram, (tram, hotel), intent)
    assert not is_called_on_page(hotel, (tram, hotel), intent)
    evidence = Evidence({Point(5, 5): hotel}, seen=(tram, hotel))
    assert against_page(evidence, click(5, 5), intent, Contradiction()).strength == CONFIRMED
    right = Evidence({Point(5, 5): tram}, seen=(tram, hotel))
    assert against_page(right, click(5, 5), intent, Contradiction()).strength == 0.0


def test_what_is_disabled_or_covered_is_not_set_aside() -> None:
    for here in (ElementAt("Settings", disabled=True), ElementAt("Settings", covered_by="Cookies")):
        assert not is_called_on_page(here, (here,), "go to Settings")


def test_a_goal_names_nothing_by_letters_or_by_what_was_typed() -> None:
    screen = seen(("Narration", 100, 20), ("A", 300, 20), ("Bar Luce", 100, 100))
    goal, intent = "Enter a coffee at Bar Luce", "Click the Narration field"
    typed = History(steps=(Step(Action(Kind.TYPE, text="Bar Luce"), "", True),))
    assert goal_margin(screen, click(120, 30), intent, goal, typed, -0.85) > -0.6
    assert goal_margin(screen, click(120, 30), intent, goal, History(), -0.85) <= -0.6


def test_a_confirmation_in_place_is_another_thing_to_click() -> None:
    asks, same = seen(("Are you sure?", 100, 20), kind="button"), seen(("Load more", 100, 20), kind="button")
    assert is_new_label(asks, click(120, 30), History(effect="'0x' was clicked and changed; another area changed"))
    assert not is_new_label(same, click(120, 30), History(effect="'Load more' was clicked and changed"))
    assert not is_new_label(asks, click(120, 30), History(effect="nothing changed"))


@pytest.mark.parametrize(("most", "set_aside"), [(0.0, True), (0.25, False)])
def test_a_repetition_stays_doubted_even_where_it_is_named(most: float, set_aside: bool) -> None:
    features = {"check.most": most, "at.goal_margin": 0.0}
    assert is_untaught(click(5, 5), "go to Settings", False, features, ErrorClass.MISALIGNMENT, True) is set_aside
