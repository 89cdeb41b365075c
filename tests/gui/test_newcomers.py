"""Words and things that newcomers met: what an intent asks, what a button does, and values that contradict it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.checks.words import _DECISIVE
from foretell.gui.elements import look
from foretell.gui.evidence import ElementAt
from foretell.gui.final_intents import says_final
from foretell.gui.final_wishes import wished, wishes
from foretell.gui.guard import Guard
from foretell.gui.judgement import ErrorClass
from foretell.gui.observation import Observation, Proposal
from foretell.gui.places import Place, Places
from foretell.gui.pressed import reads_as
from foretell.gui.rivals import Thing, rival
from foretell.gui.sight import Sight
from foretell.gui.typed_value import difference
from foretell.gui.verdict import Mode
from foretell.gui.words import Word
from tests.gui.screens import FakeCritic
from tests.gui.test_grounds import AT, CLICK, PAGE, Advises, button, reasons


@pytest.mark.parametrize(
    ("intent", "here", "other"),
    [
        ("See who changed this page and when", Thing("View history", "link"), Thing("Recent changes", "link")),
        ("open the list of who may read which page", Thing("Access Control", "link"), Thing("Show page [v]", "link")),
        ("take the pencil to open its source", Thing("Edit this page [e]", "link"), Thing("Edit", "button")),
        ("freeze the print", Thing("Suspend", "button"), Thing("Print", "button")),
        ("knock off the print", Thing("Halt", "button"), Thing("Print", "button")),
        ("file it", Thing("Create", "submit"), Thing("Files", "link")),
        ("collect the authorised 505.40", Thing("Settle payment", "button"), Thing("Collections", "link")),
        ("follow this bug, so that mails arrive", Thing("Watch", "link"), Thing("Bug #6", "link")),
        ("subscribe to this ticket", Thing("Notify me", "link"), Thing("Ticket 12", "link")),
        ("list all wiki pages alphabetically", Thing("Index by title", "link"), Thing("Wiki", "link")),
        ("show all categories again", Thing("All (10)", "link"), Thing("CATEGORIES", "link")),
        ("customers pay nothing for the delivery", Thing("Free shipping", "button"), Thing("Customers", "link")),
        ("open the order of Ada by its code", Thing("7RXZUGBQ", "link"), Thing("Orders", "link")),
        ("open the order of Ada by its code", Thing("7RXZUGBQ", "link"), Thing("Create draft order", "link")),
        (
            "open the list of actions for the selected customer",
            Thing("With 1 selected", "button"),
            Thing("Customers", "link"),
        ),
    ],
)
def test_what_is_asked_for_in_other_words_has_no_rival(intent: str, here: Thing, other: Thing) -> None:
    assert rival(here, [other], intent) is None


@pytest.mark.parametrize(
    ("intent", "here", "other"),
    [
        ("open the orders", Thing("Settings", "link"), Thing("Orders", "link")),
        ("go to the customer list", Thing("Products", "link"), Thing("Customers", "link")),
        ("show all categories", Thing("Tags", "link"), Thing("Categories", "link")),
        ("open the settings", Thing("Help", "link"), Thing("Settings", "link")),
        ("create a new order", Thing("Refresh", "link"), Thing("Create order", "link")),
        ("open bug 6", Thing("Watch", "link"), Thing("Bug #6", "link")),
    ],
)
def test_a_list_that_is_meant_is_a_rival(intent: str, here: Thing, other: Thing) -> None:
    assert rival(here, [other], intent) is not None


@pytest.mark.parametrize(
    ("intent", "is_final"),
    [
        ("order the table by size", False),
        ("order the files by when they came", False),
        ("order the flowers by card", True),
        ("order by price, lowest first", False),
        ("order two of them by Friday", True),
        ("send it to the top of the queue with the first of the four arrows", False),
        ("send it to the very bottom", False),
        ("send the mail to the top manager", True),
        ("send the message to the front desk", True),
        ("customers pay nothing for the delivery", False),
        ("pay for the delivery", True),
    ],
)
def test_verbs_that_also_move_and_sort(intent: str, is_final: bool) -> None:
    assert says_final(intent) is is_final


def test_a_known_verb_has_rivals_and_heads_of_columns_are_meant_by_that_word() -> None:
    assert rival(Thing("Archive", "button"), [Thing("Delete", "button")], "delete the print") is not None
    hours, total = (Thing(name, "columnheader") for name in ("hours", "total"))
    assert rival(hours, [total], "open the menu of the total column") is not None
    assert rival(hours, [total], "show the total") is None


ROWS = [replace(button("block"), context=f"{name} member since 2024") for name in ("Rosa", "Spamking4000")]


def test_the_equal_button_of_the_row_that_is_named_is_meant() -> None:
    wrong = reasons(ROWS[0], "Block Spamking4000", ROWS[1])
    assert [one.error for one in wrong] == [ErrorClass.CONSTRAINT]
    assert "Spamking4000" in wrong[0].sentence
    assert reasons(ROWS[1], "Block Spamking4000", ROWS[0]) == []
    assert reasons(ROWS[0], "Block the account", ROWS[1]) == []


def test_a_box_without_a_name_is_known_by_its_row() -> None:
    box = ElementAt("", "checkbox", context="intern22 Summer Intern", checked=True)
    assert [one.error for one in reasons(box, "put a tick at Summer Intern")] == [ErrorClass.SUBOPTIMAL]
    assert reasons(replace(box, checked=False), "put a tick at Summer Intern") == []


@pytest.mark.parametrize(
    ("text", "intent", "goal", "said"),
    [
        ("M112", "type M115 into the terminal", "Ask the printer, by a M115, which firmware it runs", "M115"),
        ("nowak@harbour.test", "type nowak@boatyard.test", "His address is nowak@boatyard.test", "nowak@boatyard.test"),
        ("47", "type 45 as the temperature", "Heat the bed to 45 degrees", "45"),
        ("12", "type the amount in row 3", "a dozen in row 3", None),
        ("2026-11-20", "enter the day 3 days later", "3 nights from 2026-11-17", None),
        ("Slipway", "put in Slipway Notes", "Call it 'Slipway Notes'", "Slipway Notes"),
        ("Slipway", "search for Slipway Notes", "Open 'Slipway Notes'", None),
        ("Tuesdays", "put in the new day", "It is emptied on Mondays now", "monday"),
        ("Tuesday", "type the day after", "The bin goes out on Mondays, its notice a day later on Tuesday", None),
        ("march", "put in the month", "Close the books of April", "april"),
    ],
)
def test_values_that_contradict_what_is_said(text: str, intent: str, goal: str, said: str | None) -> None:
    found = difference(text, intent, goal)
    assert (found.said if found else None) == said


@pytest.mark.parametrize(
    ("goal", "sort", "about"),
    [
        ("The intern's account has to go.", "remove", "intern"),
        ("Throw that old advert away", "remove", "advert"),
        ("Let Rosa know when we meet", "send", "Rosa"),
        ("Put it online today", "publish", "today"),
        ("Settle the bill of May", "pay", "bill"),
        ("Roll the page back", "overwrite", ""),
        ("throw this announcement about the long maintenance on Friday away", "remove", "maintenance"),
        ("strike Carla off the member list", "remove", "Carla"),
        ("She shall not be a member of this project any more", "remove", ""),
        ("There is spam about a phone. Throw that request away.", "remove", "phone"),
    ],
)
def test_wishes_are_known_in_plain_words(goal: str, sort: str, about: str) -> None:
    assert sort in wishes(goal)
    if about:
        assert any(about in clause for clause in wished(goal, frozenset((sort,))))


def test_what_is_only_said_of_a_menu_is_not_done() -> None:
    assert not says_final("Show the hidden page commands, deleting is among them")
    assert says_final("deleting the page")


@pytest.mark.parametrize(
    ("intent", "waits"),
    [("wait for the page", True), ("wait", True), ("wait 2 seconds", True), ("Leave out the wait responses", False)],
)
def test_a_wait_is_a_verb(intent: str, waits: bool) -> None:
    assert bool(_DECISIVE["a wait"][0].search(intent)) is waits


def test_of_labels_that_are_read_as_one_the_one_under_the_point_counts() -> None:
    line = (100, 50, 110, 20)
    place = Place("text", line, "Delete Save", "", (0, 0, 0), 0.0, False)
    sight = Sight(PAGE, "", look(PAGE), Places((place,), (Word("Delete Save", line, 1.0),), None))
    at = {x: Action(Kind.CLICK, Point(x, 60)) for x in (120, 195)}
    assert reads_as(sight, at[195], "Save") and not reads_as(sight, at[120], "Save")
    assert reads_as(sight, at[120], "Delete") and not reads_as(sight, at[195], "Store")


def test_an_agent_that_insists_gets_by_a_score_without_a_reason() -> None:
    guard = Guard(Advises(0.999), threshold=0.5, mode=Mode.ENFORCE)
    seen = Observation("The page has to go", PAGE, 0)
    proposal = Proposal((CLICK,), "delete the page")
    first = guard.after_proposal(seen, proposal)
    assert first.intervene and "cannot be taken back" in first.feedback
    assert not guard.after_proposal(seen, proposal).intervene
    named = Guard(FakeCritic(0.999), threshold=0.5, mode=Mode.ENFORCE)
    assert named.after_proposal(seen, proposal).intervene and named.after_proposal(seen, proposal).intervene


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    context = browser.new_context(viewport={"width": 640, "height": 600})
    yield context.new_page()
    context.close()


def evidence_of(page: Any, html: str, at: Point = AT) -> Any:
    from foretell.gui.adapters.playwright import PlaywrightScreen

    page.set_content(html)
    screen = PlaywrightScreen(page, evidence=True)
    screen.observe()
    return screen.gather([at])


def test_what_a_dialog_lies_over_is_not_in_view(page: Any) -> None:
    behind = "<button style='position:absolute;left:300px;top:300px'>Save</button><p>text</p><button>Help</button>"
    over = (
        "<div style='position:fixed;inset:0;background:#000a'></div><div role=dialog style='position:fixed;left:200px;"
        "top:200px;width:300px;height:300px;background:white'><button>Confirm</button></div>"
    )
    assert {one.name for one in evidence_of(page, behind).seen} == {"Save", "Help"}
    names = {one.name for one in evidence_of(page, behind + over).seen}
    assert "Confirm" in names and "Save" not in names


def test_a_button_is_called_as_the_picture_on_it_is(page: Any) -> None:
    html = (
        "<body style='margin:0'><a href='#x'><img alt='Pause' title='Pause it' width=100 height=100 src='data:,'></a>"
    )
    assert evidence_of(page, html).at[AT].name == "Pause"
    drawn = "<svg width=100 height=100><title>Move up</title><rect width=100 height=100 /></svg>"
    assert evidence_of(page, f"<body style='margin:0'><button>{drawn}</button>").at[AT].name == "Move up"
    assert evidence_of(page, f"<body style='margin:0'><button>Save{drawn}</button>").at[AT].name == "Save"


def test_a_link_to_the_page_itself_is_nothing_to_go_to_and_titles_are_told(page: Any) -> None:
    html = (
        "<title>Ticket 13</title><h1>Win a free phone</h1><h2 hidden>Gone</h2><a href='#top'>Top</a>"
        "<a href='/wiki'>Here</a><a href='/files'>There</a><a aria-current=page href='/wiki/x'>This</a>"
    )
    page.route("**/*", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto("http://application.test/wiki")
    from foretell.gui.adapters.playwright import PlaywrightScreen

    screen = PlaywrightScreen(page, evidence=True)
    screen.observe()
    found = screen.gather([AT])
    assert found is not None and found.titles == ("Ticket 13", "Win a free phone")
    assert {one.name for one in found.seen or ()} == {"Top", "There"}


def test_a_link_without_an_address_is_pressed_all_the_same(page: Any) -> None:
    html = (
        "<body style='margin:0'><div role=tabpanel aria-label=Terminal style='height:200px'>"
        "<a style='cursor:pointer;display:block;width:100px;height:100px' onclick='x()'><b>Send</b></a>text</div>"
    )
    found = evidence_of(page, html)
    assert (found.at[AT].name, found.at[AT].role) == ("Send", "link")
    assert "Send" in {one.name for one in found.seen}
    other = Point(400, 150)
    assert evidence_of(page, html, other).at[other].name == "Terminal"
