"""Namesakes in rows and cards on rendered pages as wide as a browser: Delete of Alice is not Delete of Bob."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from PIL import Image

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.adapters.playwright import GuardedPage
from foretell.gui.contradiction import Contradiction
from foretell.gui.critic import EmbeddedCritic
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.evidence_contradiction import CONFIRMED, against_page
from foretell.gui.guard import Guard, Limits
from foretell.gui.history import Historian, History
from foretell.gui.judgement import ErrorClass, Judgement
from foretell.gui.namesakes import other_row
from foretell.gui.observation import Observation, Proposal
from foretell.gui.ocr import Ocr
from foretell.gui.places import Place, Places
from foretell.gui.reading import Interest, lines_to_read
from foretell.gui.sight import Eyes
from foretell.gui.verdict import Mode
from foretell.gui.words import Word

READER = Ocr()
CRITIC = EmbeddedCritic(eyes=Eyes(READER), pictures=False)
MESSAGES = {
    "Alice": "Lunch tomorrow?", "Bob": "Quarterly report", "Carol": "Photos of the fair", "Dmitri": "Invoice 2043",
}  # fmt: skip
ACTIONS = ("Open", "Edit", "Delete")
GOAL, INTENT = "Delete the message from Bob", "click Delete in the row of Bob"
OPEN_GOAL, OPEN_INTENT = "Open the message from Alice", "click Open in the row of Alice"
SCREENS = [(1280, 720), (1920, 1080)]


def mailbox(kind: str, dark: bool) -> str:
    """A mailbox whose messages are rows of a table, rows of boxes, or cards, each with three buttons."""
    ink, ground, line, button = (
        ("#e6e6e6", "#1c1f24", "#3a3f47", "#2b3038") if dark else ("#222", "#fff", "#ddd", "#f4f4f4")
    )
    row, cell = {"table": ("tr", "td"), "div": ("div", "span"), "cards": ("div", "p")}[kind]
    styles = {
        "table": f"table{{width:100%;border-collapse:collapse}}td{{padding:12px 20px;border-bottom:1px solid {line}}}",
        "div": f".row{{display:flex;gap:16px;padding:12px;border-bottom:1px solid {line}}}.row span{{flex:1}}",
        "cards": "main{display:grid;grid-template-columns:1fr 1fr;gap:20px}"
        f".row{{border:2px solid {line};padding:16px}}",
    }
    buttons = "".join(f"<button>{action}</button> " for action in ACTIONS)
    rows = "".join(
        f"<{row} class=row><{cell}>{who}</{cell}><{cell}>{what}</{cell}><{cell}>{buttons}</{cell}></{row}>"
        for who, what in MESSAGES.items()
    )
    return f"""<style>body{{font-family:sans-serif;margin:30px;color:{ink};background:{ground}}}{styles[kind]}
        button{{font-size:15px;padding:7px 16px;border:1px solid {line};color:{ink};background:{button}}}</style>
        <h2>Inbox</h2><main>{f"<table>{rows}</table>" if kind == "table" else rows}</main>"""


def opened(browser: Any, kind: str, size: tuple[int, int], dark: bool = False) -> Any:
    page = browser.new_page(viewport={"width": size[0], "height": size[1]})
    page.set_content(mailbox(kind, dark))
    return page


def at(page: Any, who: str, action: str) -> Point:
    found = page.locator(".row").nth(list(MESSAGES).index(who)).locator("button").nth(ACTIONS.index(action))
    box = found.bounding_box()
    return Point(round(box["x"] + box["width"] / 2), round(box["y"] + box["height"] / 2))


def click(page: Any, who: str, action: str, intent: str) -> Proposal:
    return Proposal((Action(Kind.CLICK, at(page, who, action)),), intent)


def judged(page: Any, goal: str, who: str, action: str, intent: str) -> Judgement:
    pixels = np.asarray(Image.open(BytesIO(page.screenshot())).convert("RGB"))
    return CRITIC.judge(Observation(goal, pixels), click(page, who, action, intent), History())


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", SCREENS)
@pytest.mark.parametrize("kind", ["table", "div", "cards"])
def test_another_row_and_another_action_are_near_certainly_wrong_by_pixels(
    browser: Any, kind: str, size: tuple[int, int], dark: bool
) -> None:
    page = opened(browser, kind, size, dark)
    limit = CRITIC.threshold(0.02)
    for goal, intent, who, action in (
        (GOAL, INTENT, "Alice", "Delete"),
        (GOAL, INTENT, "Dmitri", "Delete"),
        (OPEN_GOAL, OPEN_INTENT, "Bob", "Open"),
        (OPEN_GOAL, OPEN_INTENT, "Alice", "Delete"),
    ):
        wrong = judged(page, goal, who, action, intent)
        assert wrong.p_bad >= 0.95 and limit.cleared_by(wrong.p_bad, "step", True, wrong.model), (who, action)
        assert "is not that of" in wrong.explanation or "stands elsewhere" in wrong.explanation
    for goal, intent, who, action in ((GOAL, INTENT, "Bob", "Delete"), (OPEN_GOAL, OPEN_INTENT, "Alice", "Open")):
        right = judged(page, goal, who, action, intent)
        assert right.p_bad < 0.5, (who, action)
    page.close()


@pytest.mark.parametrize("kind", ["table", "div"])
def test_a_guarded_page_with_evidence_sends_the_click_in_another_row_back(browser: Any, kind: str) -> None:
    page = opened(browser, kind, SCREENS[0])
    page.evaluate("document.querySelectorAll('button').forEach(b => b.onclick = () => b.closest('.row').remove())")
    guard = Guard(
        CRITIC, Historian(READER), CRITIC.threshold(0.02), mode=Mode.ENFORCE, limits=Limits(judgement_s=120.0)
    )
    guarded = GuardedPage(page, guard, OPEN_GOAL, evidence=True)
    wrong, right = (click(page, who, "Open", OPEN_INTENT) for who in ("Bob", "Alice"))
    answers = iter((wrong, right))
    outcome = guarded.step(lambda observation, text: next(answers))
    assert outcome.interrupted and outcome.proposal == right
    assert page.locator(".row").first.inner_text().startswith("Bob")
    page.close()


def box_of(text: str, x: int, y: int) -> Word:
    return Word(text, (x, y, 9 * len(text), 14))


def screen(rows: dict[str, int], twice: bool = False) -> Places:
    """A name and a Delete in each row; `twice` adds a second column of the same names to the right."""
    words = [box_of(name, 20, y) for name, y in rows.items()] + [box_of("Delete", 900, y) for y in rows.values()]
    words += [box_of("Delete", 300, y) for y in rows.values()] if twice else []
    return Places(tuple(Place("text", word.box, word.text) for word in words), tuple(words), None)


def test_only_what_is_surely_another_row_contradicts() -> None:
    rows = {"Alice": 100, "Bob": 140, "Carol": 180}
    places = screen(rows)
    first, second = (p for p in places.all if p.text == "Delete" and p.box[1] in (100, 140))
    found = other_row(places, first, ("Bob",))
    assert found is not None and (found.phrase, found.count) == ("Bob", 3)
    assert other_row(places, second, ("Bob",)) is None
    assert other_row(places, first, ("Zoe",)) is None  # no such row in view
    assert other_row(places, first, ("2",)) is None  # the second row, or a name: not known
    both = screen(rows, twice=True)
    near = next(p for p in both.all if p.box[:2] == (300, 140))
    assert other_row(both, near, ("Bob",)) is None  # two in the row that is named
    unread = Places((*places.all, Place("text", (20, 100, 60, 14))), places.words, None)
    assert other_row(unread, first, ("Bob",)) is None  # what stands in its own row is not known


def test_rows_are_read_on_top_of_the_rest_of_a_dense_page() -> None:
    lines = [(x, 40 * row, width, 13) for row in range(40) for x, width in ((20, 30), (300, 400), (900, 49))]
    about = Interest((Point(920, 86),), ("Delete",))
    first, more = (lines_to_read(lines, one) for one in (about, Interest(about.points, about.names, ("Bob",))))
    assert len(lines) > len(more) > len(first) and more[: len(first)] == first
    assert {line for line in lines if line[1] == 80 and line[2] < 100} <= set(more)


ALICE, BOB = ElementAt("Delete", "button", context="Alice Lunch"), ElementAt("Delete", "button", context="Bob Report")
POINT = Point(5, 5)


@pytest.mark.parametrize(
    ("here", "strength", "expected"),
    [
        (ALICE, 0.95, CONFIRMED),  # both say so
        (ALICE, 0.0, CONFIRMED),  # the page alone
        (BOB, 0.95, 0.0),  # misread
        (ElementAt("Delete", "button"), 0.95, CONFIRMED),  # the page knows the label, and pixels the row
        (ElementAt("Delete", "button"), 0.0, 0.0),
        (ElementAt(), 0.95, 0.95),  # the page says nothing
    ],
)
def test_a_page_confirms_or_refutes_a_contradiction_of_rows(here: ElementAt, strength: float, expected: float) -> None:
    found = Contradiction(strength, ErrorClass.CONSTRAINT, "seen") if strength else Contradiction()
    evidence = Evidence({POINT: here}, seen=(ALICE, BOB))
    assert against_page(evidence, Action(Kind.CLICK, POINT), INTENT, found).strength == expected


@pytest.mark.parametrize(("name", "expected"), [("Open", 0.0), ("Edit", CONFIRMED)])
def test_a_page_confirms_or_refutes_another_label(name: str, expected: float) -> None:
    found = Contradiction(0.95, ErrorClass.SEMANTIC, "seen")
    evidence = Evidence({POINT: ElementAt(name, "button")}, seen=())
    assert against_page(evidence, Action(Kind.CLICK, POINT), "click Open", found).strength == expected
