"""Reasons that a person could check: without one, a learned score interrupts nothing on a larger screen."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.cascade import CascadeCritic
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.elements import look
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.explain import explain
from foretell.gui.grounds import ALONE, SURE, Ground, grounds
from foretell.gui.guard import Guard
from foretell.gui.history import History, Step
from foretell.gui.judgement import ErrorClass, Judgement
from foretell.gui.meaning import inflected, match, meaning
from foretell.gui.observation import Observation, Proposal
from foretell.gui.places import Places
from foretell.gui.rivals import Thing, opposed, rival
from foretell.gui.sight import Sight
from foretell.gui.typed_value import difference
from foretell.gui.verdict import Mode, Reason
from tests.gui.screens import FakeCritic

AT = Point(50, 60)
CLICK = Action(Kind.CLICK, AT)
PAGE = np.full((720, 1280, 3), 255, np.uint8)
BLANK = Sight(PAGE, "", look(PAGE), Places((), (), None))


def button(name: str, context: str = "") -> ElementAt:
    return ElementAt(name, "button", context=context)


def field(name: str, value: str = "") -> ElementAt:
    return ElementAt(name, "textbox", editable=True, value=value)


def reasons(
    here: ElementAt, intent: str, *seen: ElementAt, action: Action = CLICK, history: History | None = None
) -> list[Ground]:
    """The reasons against an action at an element, with these others in view."""
    page = Evidence({AT: here}, focused=here, seen=(here, *seen))
    return grounds(page, action, action, intent, "the goal", history or History(), BLANK, (), {})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("administration", "admin", True),
        ("downloads", "download", True),
        ("deletion", "delete", True),
        ("e-mail", "email", True),
        ("tools", "toolshed", False),
        ("read", "unread", False),
        ("report-2025", "report-2026", False),
        ("recipes", "receipts", False),
    ],
)
def test_words_are_inflected_but_numbers_and_compounds_are_other_words(one: str, other: str, same: bool) -> None:
    assert inflected(one, other) is same


def test_a_label_is_said_in_other_usual_words() -> None:
    assert match("Create directory", meaning("make a new folder")).whole
    assert match("Allow Downloads", meaning("let her download books")).whole
    assert match("refresh (Ctrl+R)", meaning("refresh the list on the right")).whole
    assert match("HSBC 1,350.40", meaning("open the HSBC account")).whole
    assert not match("Edit Users", meaning("create a new user")).whole


@pytest.mark.parametrize(
    ("intent", "here", "other"),
    [
        ("start a new shelf", "About", "Create a shelf"),
        ("create a new user", "Edit users", "Add new user"),
        ("mark report-2026.txt", "report-2025.txt", "report-2026.txt"),
        ("untick Confirm copy", "Confirm move", "Confirm copy"),
        ("confirm with OK", "Help", "OK"),
        ("set it to Monday", "Tuesday", "Monday"),
        ("open the Oak account", "Elm 20.10", "Oak 1,350.40"),
    ],
)
def test_what_the_intent_names_is_in_view_elsewhere(intent: str, here: str, other: str) -> None:
    assert [one.error for one in reasons(button(here), intent, button(other))] == [ErrorClass.SEMANTIC]
    assert reasons(button(other), intent, button(here)) == []


@pytest.mark.parametrize(
    ("intent", "here", "other"),
    [
        ("compare the two versions", button("Compare versions"), button("Versions")),
        ("open the administration", button("Admin"), button("Open a file")),
        ("show the advanced settings", button("Show advanced settings"), button("Settings")),
        ("create the folder", button("make directory"), button("Folder view")),
        ("go to the Category cell", ElementAt("Categorize", "span"), button("Category")),
        ("click the Payment cell", ElementAt("0.00", "span"), button("Payment")),
        ("close the empty row with Cancel", button("Cancel"), button("Add")),
        ("click the search box", field("Search"), button("Payment")),
        ("click where the name of the file goes", field("holiday-plans"), button("name")),
        ("open the menu of Photos", button("More actions"), ElementAt("Photos", "link")),
        ("tick Ana Ruiz", ElementAt("", "checkbox", context="Ana Ruiz 3 messages"), ElementAt("Ana Ruiz", "link")),
        ("open the page's menu", button(""), button("Create page")),
        ("show everything", ElementAt("A long text " * 8, "main"), button("Settings")),
    ],
)
def test_what_may_be_meant_has_no_rival(intent: str, here: ElementAt, other: ElementAt) -> None:
    assert reasons(here, intent, other) == []


def test_a_field_has_only_fields_for_rivals() -> None:
    typing = Action(Kind.TYPE, text="ana@example.org")
    assert reasons(field("Password"), "put in her e-mail", field("Email"), action=typing)
    assert not reasons(field("Email"), "put in her e-mail", field("Password"), action=typing)
    assert rival(Thing("Search", "textbox", True), [Thing("Filter", "button")], "filter for plums", types=True) is None


@pytest.mark.parametrize(
    ("intent", "here", "other", "is_opposed"),
    [
        ("save the page", "Cancel", "Save", True),
        ("store the change", "Discard", "Save", True),
        ("say yes to the warning", "Cancel", "OK", True),
        ("confirm the deletion", "Cancel", "Delete", True),
        ("cancel the empty row", "Add", "Cancel", True),
        ("close the form", "Cancel", "Send", False),
        ("cancel and go on", "Cancel", "Save", False),
        ("delete the draft", "Discard", "Delete all", False),
        ("done here, go to the overview", "Back", "Add", False),
        ("save the page", "Cancel", "Help", False),
    ],
)
def test_labels_that_refuse_contradict_what_agrees(intent: str, here: str, other: str, is_opposed: bool) -> None:
    assert opposed(Thing(here), [Thing(other)], intent) is is_opposed


@pytest.mark.parametrize(
    ("text", "intent", "goal", "said"),
    [
        ("350", "enter 250", "Budget 250 for food", "250"),
        ("5000", "make it 500", "Ask above 500 files", "500"),
        ("compost", "search for shed", "Look up where the word shed stands", "shed"),
        ("Receipts", "put in the name", "Make a folder called Recipes", "Recipes"),
        ("anna@example.com", "put in Ana's e-mail", "Add Ana with ana@example.org", "ana@example.org"),
        ("May 25", "put in the date", "Add a card due May 20", "may 20"),
        ("250.00", "enter 250", "Budget 250 for food", None),
        ("todo.md", "name it todo", "Write a file called todo", None),
        ("Ana", "give the first name", "Add Ana Ruiz", None),
        ("Dilan takes week 4", "say what was changed", "Put Dilan in for week 4", None),
        ("receive", "put in the right word", "Correct the spelling of recieve", None),
        ("secret words", "enter the password", "Log in with the password", None),
    ],
)  # fmt: skip
def test_a_text_that_differs_from_what_is_said_of_it(text: str, intent: str, goal: str, said: str | None) -> None:
    found = difference(text, intent, goal)
    assert (None if found is None else found.said) == said


def test_the_row_that_the_intent_names_is_another_one() -> None:
    ana, bob = button("Viewer", "Ana Ruiz ana@example.org"), button("Editor", "Bob Hill bob@example.org")
    assert [one.error for one in reasons(ana, "open the role menu in the row of Bob Hill", bob)] == [
        ErrorClass.CONSTRAINT
    ]
    assert reasons(bob, "open the role menu in the row of Bob Hill", ana) == []
    users = ElementAt("Users", "link", context="Users")
    assert reasons(ElementAt("Ana", "link", context="Ana 3"), "open Ana on the Users page", users) == []


def test_what_is_done_already_is_not_done_again() -> None:
    box, toggle = ElementAt("Hide decimals", "checkbox", checked=True), button("Toggle theme")
    assert reasons(box, "tick Hide decimals")[0].bar == ALONE
    assert reasons(box, "untick Hide decimals") == []
    before = History(steps=(Step(CLICK, "", changed=True, intent="switch on the dark theme"),), count=1)
    assert reasons(toggle, "switch on the dark theme", history=before)[0].error is ErrorClass.SUBOPTIMAL
    assert reasons(toggle, "make the page light again", history=before) == []


def test_nothing_ends_while_a_question_is_open() -> None:
    ends = Action(Kind.TERMINATE, success=True)
    question = "Delete this file?"
    found = reasons(button("x"), "done", button("Cancel", question), button("OK", question), action=ends)
    assert [one.error for one in found] == [ErrorClass.TERMINATION]
    form = "Profile"
    assert reasons(button("x"), "done", button("Cancel", form), button("Save", form), action=ends) == []
    dialog = ElementAt("Save changes", "dialog")
    saved = History(steps=(Step(CLICK, "", changed=True, intent="save the page"),), count=1)
    assert reasons(button("x"), "done", dialog, action=ends, history=saved)
    assert reasons(button("x"), "done", dialog, action=ends) == []


@pytest.mark.parametrize("state", [{"disabled": True}, {"covered_by": "a backdrop"}])
def test_what_is_disabled_or_covered_interrupts_by_itself(state: dict[str, str | bool]) -> None:
    critic = EmbeddedCritic(pictures=False)
    here = ElementAt("Set up", "button", **state)  # type: ignore[arg-type]
    observation = Observation("Set it up", PAGE, evidence=Evidence({AT: here}, seen=(here,)))
    guard = Guard(critic, threshold=critic.threshold(0.02), mode=Mode.ENFORCE)
    verdict = guard.after_proposal(observation, Proposal((CLICK,), "press Set up"))
    assert verdict.intervene and verdict.judgement is not None and verdict.judgement.p_bad >= SURE


class Advises(FakeCritic):
    def judge(self, observation: Observation, proposal: Proposal, history: History) -> Judgement:
        return Judgement(0.99, ErrorClass.SEMANTIC, "A score.", advice=True)


def test_a_doubt_without_a_reason_is_advice_in_every_mode() -> None:
    guard, proposal = Guard(Advises(), threshold=0.5, mode=Mode.ENFORCE), Proposal((CLICK,), "click it")
    verdict = guard.after_proposal(Observation("g", PAGE), proposal)
    assert not verdict.intervene and verdict.reason is Reason.DOUBTED and "had doubts" in verdict.feedback
    guard.executed(proposal)
    assert verdict.feedback in guard.before_action(Observation("g", PAGE, step=1))
    final = Proposal((CLICK,), "delete the account")
    assert guard.after_proposal(Observation("g", PAGE, step=1), final).intervene


def test_a_cascade_asks_the_second_about_a_doubt_without_a_reason() -> None:
    both = CascadeCritic(Advises(), FakeCritic(0.1), 0.2, 0.9)
    assert both.judge(Observation("g", PAGE), Proposal((CLICK,), "click it"), History()).p_bad == 0.1
    sure = CascadeCritic(FakeCritic(0.99), FakeCritic(0.1), 0.2, 0.9)
    assert sure.judge(Observation("g", PAGE), Proposal((CLICK,), "click it"), History()).p_bad == 0.99


def test_a_new_step_begins_with_all_its_revisions() -> None:
    guard, proposal = Guard(FakeCritic(0.99), threshold=0.5, mode=Mode.ENFORCE), Proposal((CLICK,), "click it")
    assert guard.after_proposal(Observation("g", PAGE), proposal).intervene  # and the agent drops it
    guard.before_action(Observation("g", PAGE, step=1))
    assert guard.after_proposal(Observation("g", PAGE, step=1), proposal).intervene
    assert guard.after_proposal(Observation("g", PAGE, step=1), proposal).reason is Reason.QUIET


@pytest.mark.parametrize(
    ("element", "words"),
    [
        (button("Compare versions"), "a button called 'Compare versions'"),
        (ElementAt("Find", "text", editable=True), "a field called 'Find'"),
        (button(""), "a button without a name"),
    ],
)
def test_what_the_page_told_is_not_described_by_its_looks(element: ElementAt, words: str) -> None:
    proposal = Proposal((CLICK,), "click it")
    text = explain(Observation("g", PAGE), proposal, History(), BLANK, {}, element=element)
    assert words in text and "empty ground" not in text and "plain text" not in text


def test_words_that_only_begin_alike_are_other_words() -> None:
    assert not inflected("ticked", "ticket") and inflected("logs", "log")
    assert meaning("Log Out") == ("logout",) and not match("Log Out", meaning("open the log page")).said


@pytest.mark.parametrize(
    ("intent", "here", "other"),
    [
        ("unfold further filters", button("more"), ElementAt("Where to see the", "link")),
        ("open the menu for the ticked ones", button("Actions"), button("Ticket: Activate to sort")),
        ("open the one that was found", ElementAt("Minutes of May", "link"), ElementAt("Open", "status")),
        ("store the group", button("Create"), ElementAt("New: Group", "link")),
        ("store the group", button("Create"), ElementAt("Group", "heading")),
        ("open the log page", ElementAt("Logs", "menuitem"), button("Log Out")),
        ("repeat the password", field("Confirm Password"), field("Password")),
    ],
)
def test_what_cannot_be_acted_on_or_is_hardly_said_is_no_rival(intent: str, here: ElementAt, other: ElementAt) -> None:
    assert reasons(here, intent, other) == []


def test_the_head_of_a_column_is_meant_by_who_sorts() -> None:
    head = Thing("Status: Activate to sort", "button")
    assert head.can_be_meant("sort by status") and not head.can_be_meant("open the status page")
    assert not Thing("Status", "heading").can_be_meant("open the status page")


def test_a_label_that_stands_in_the_intent_word_for_word_is_meant() -> None:
    mine, new = ElementAt("My Tickets", "link"), ElementAt("New Ticket", "link")
    assert reasons(mine, "begin a new ticket", new) and not reasons(new, "begin a new ticket", mine)
    broken, disabled = ElementAt("broken", "link"), ElementAt("disabled", "link")
    assert reasons(broken, "show the disabled feeds", disabled) and not reasons(
        disabled, "show the disabled feeds", broken
    )


@pytest.mark.parametrize(
    "intent", ["clear the tick of Permanent", "remove the check from Permanent", "take the tick of Permanent out"]
)
def test_a_tick_that_is_cleared_is_off_afterwards(intent: str) -> None:
    assert reasons(ElementAt("Permanent", "checkbox", checked=True), intent) == []
    assert reasons(ElementAt("Permanent", "checkbox", checked=False), intent)[0].error is ErrorClass.SUBOPTIMAL


def test_letters_choose_the_entry_of_a_list_that_has_the_focus() -> None:
    typing = Action(Kind.TYPE, text="Close")
    assert reasons(ElementAt("", "combobox"), "jump to the entry that closes", action=typing) == []
    assert reasons(button("Go"), "jump to the entry that closes", action=typing)[0].error is ErrorClass.PREREQUISITE


@pytest.mark.parametrize(
    ("text", "goal", "said"),
    [
        ("The man comes on Monday", "Reply 'The man comes on Friday'", "The man comes on Friday"),
        ("Lamp is broken", "Create a card 'Lamp is dark'", "Lamp is dark"),
        ("I bring the wine", "Tell them that I bring the bread", "i bring the bread"),
        ("https://a.test/drinks", "Lead it to https://a.test/food", "https://a.test/food"),
        ("https://a.test", "Lead it to https://a.test/food", None),
        ("https://b.test/food", "Compare it with https://a.test/food", None),
        (", #kitchen", "Join #garden and #kitchen", None),
        ("I will bring bread", "Tell them that I bring the bread", None),
    ],
)
def test_a_text_that_repeats_the_goal_but_for_a_word(text: str, goal: str, said: str | None) -> None:
    found = difference(text, "write it", goal)
    assert (None if found is None else found.said) == said
