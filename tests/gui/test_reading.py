"""Dense pages: what is near the point, and what may be the named thing, is read first; a budget is kept."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.contradiction import contradiction
from foretell.gui.elements import look
from foretell.gui.history import History, Step
from foretell.gui.observation import Observation, Pixels, Proposal
from foretell.gui.ocr import Ocr, strip_width
from foretell.gui.reading import MOST_PX, Interest, interest, lines_to_read
from foretell.gui.sight import Eyes
from foretell.gui.words import Box

ROW_PX, COLUMN_PX, ROWS, COLUMNS = 34, 200, 28, 6
KINDS = ("Item", "Stock", "Place", "Owner")
GOAL = "Remove the entry"
SEND = (4, 20)  # column and row of the only button of that name


def cell(column: int, row: int) -> tuple[int, int]:
    return 30 + COLUMN_PX * column, 20 + ROW_PX * row


def dense() -> Pixels:
    """A table of 168 cells, one of which says "Send monthly report"."""
    picture = Image.new("RGB", (1280, 1000), "white")
    draw = ImageDraw.Draw(picture)
    for row in range(ROWS):
        for column in range(COLUMNS):
            name = f"{KINDS[row % 4]} {row}{column}"
            text = "Send monthly report" if (column, row) == SEND else name
            draw.text(cell(column, row), text, fill="black", font=ImageFont.load_default(size=18))
    return np.asarray(picture)


LINES: list[Box] = [(*cell(c, r), 90, 14) for r in range(ROWS) for c in range(COLUMNS)]


def test_little_text_is_read_as_a_whole() -> None:
    about = Interest((Point(40, 30),), ("Send",))
    assert lines_to_read(LINES[:6], about) == LINES[:6]
    assert lines_to_read(LINES, None) == LINES


def test_a_budget_is_kept_and_the_nearest_lines_come_first() -> None:
    x, y = cell(3, 10)
    read = lines_to_read(LINES, Interest((Point(x + 40, y + 5),)))
    assert sum(map(strip_width, read)) <= MOST_PX
    assert read[0] == (x, y, 90, 14)
    assert {cell(2, 10), cell(4, 10), cell(3, 9), cell(3, 11)} <= {box[:2] for box in read}


def test_lines_as_long_as_a_name_are_read_wherever_they_are() -> None:
    far: Box = (*cell(5, 27), 150, 14)
    lines = [line for line in LINES if line[:2] != far[:2]] + [far]
    x, y = cell(0, 0)
    assert far not in lines_to_read(lines, Interest((Point(x, y),)))
    assert far in lines_to_read(lines, Interest((Point(x, y),), ("Download archive",)))


def test_a_long_line_is_read_around_the_point() -> None:
    long: Box = (0, 500, 3000, 14)
    part = lines_to_read([*LINES, long], Interest((Point(2000, 505),)))[0]
    assert part[1] == 500 and part[2] < 400 and part[0] < 2000 < part[0] + part[2]


def test_what_a_proposal_makes_worth_reading() -> None:
    clicked = History(steps=(Step(Action(Kind.CLICK, Point(5, 6)), "s", True),), count=1)
    typed = interest(Proposal((Action(Kind.TYPE, text="x"),), "type into 'Name'"), clicked, 'Enter "x"')
    assert typed.points == (Point(5, 6),) and set(typed.names) == {"Name", "x"}
    nowhere = Proposal((Action(Kind.CLICK, Point(float("nan"), 1)),))
    assert interest(nowhere, History(), GOAL) == Interest()


def test_a_contradiction_on_a_dense_page_is_found_with_a_few_lines_read() -> None:
    reader = Ocr()
    seen = Observation(GOAL, dense())
    x, y = cell(0, 2)
    proposal = Proposal((Action(Kind.CLICK, Point(x + 30, y + 8)),), "click 'Send monthly report'")
    sight = Eyes(reader).see(seen, interest(proposal, History(), GOAL))
    assert len(sight.places.words) < 40 < len(sight.screen.lines)
    assert not [place for place in sight.places.all if place.kind == "icon"]  # what was not read is no icon
    found = contradiction(sight, proposal.actions[0], proposal.intent)
    assert found.strength > 0.9 and "'Send monthly report' stands elsewhere" in found.sentence


def test_small_pages_are_read_as_a_whole() -> None:
    seen = Observation(GOAL, np.ascontiguousarray(dense()[:500, :800]))
    about = Interest((Point(*cell(0, 0)),))
    assert len(lines_to_read(look(seen.image).lines, about)) < 30
    assert len(Eyes().see(seen, about).places.words) > 50
