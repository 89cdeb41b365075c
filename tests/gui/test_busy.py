"""Busy screens: notices that ask to wait, covers that pale the page, and the ordinary things that look like either."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.busy import veil, waiting_features
from foretell.gui.notices import is_busy
from foretell.gui.observation import Observation, Pixels
from foretell.gui.ocr import Ocr
from foretell.gui.sight import Eyes, Sight
from tests.gui.drawn import GOAL, SUBMIT, form, middle
from tests.gui.screens import fill

EYES = Eyes(Ocr())
CLICK = Action(Kind.CLICK, point=Point(*middle(SUBMIT)))


def seen(image: Pixels, goal: str = GOAL) -> Sight:
    return EYES.see(Observation(goal, image))


def lines(texts: list[str], colour: tuple[int, int, int], ground: tuple[int, int, int] = (255, 255, 255)) -> Pixels:
    """A page of lines in one colour."""
    picture = Image.new("RGB", (640, 480), ground)
    draw = ImageDraw.Draw(picture)
    for number, text in enumerate(texts):
        draw.text((40, 40 + 50 * number), text, fill=colour, font=ImageFont.load_default(size=22))
    return np.asarray(picture)


@pytest.mark.parametrize(
    "text",
    ["Loading...", "Loading", "Please wait", "boading..", "Loading, please wat..", "Processing your request",
     "jiboading...", "NIProcessing your", "ssing your request",
     "One moment please", "Saving…", "Bitte warten", "正在加载", "読み込み中...", "טוען", "جاري التحميل"],
)  # fmt: skip
def test_notices_ask_to_wait(text: str) -> None:
    assert is_busy(text)


@pytest.mark.parametrize(
    "text",
    ["In Progress", "Reading list", "Submit", "Processing", "Processing fee", "Busy", "Loading dock schedule",
     "Leading", "The page you were waiting for has moved", "Wait list", "One moment in time", "Heading...", "",
     "If the page is loading for longer than a minute please wait for the administrator"],
)  # fmt: skip
def test_statuses_and_names_are_no_notices(text: str) -> None:
    assert not is_busy(text)


def noticed(size: tuple[int, int], second_row: bool = False) -> Pixels:
    """Pale texts, and over them a crisp row that is read in three pieces."""
    picture = Image.new("RGB", size, (255, 255, 255))
    draw = ImageDraw.Draw(picture)
    font = ImageFont.load_default(size=22)
    for number, text in enumerate(("Departure", "Arrival", "Passengers")):
        draw.text((40, 40 + 60 * number), text, fill=(205, 205, 205), font=font)
    for number, text in enumerate(("Proces", "your", "request")):
        draw.text((40 + 140 * number, 260), text, fill=(20, 30, 60), font=font)
    if second_row:
        draw.text((40, 320), "Cancel", fill=(20, 30, 60), font=font)
    return np.asarray(picture)


def test_one_crisp_row_over_pale_texts_is_a_notice_on_small_pages_alone() -> None:
    point = Point(200, 275)
    assert veil(seen(noticed((480, 630))), point=point) > 0.3
    assert veil(seen(noticed((480, 630), second_row=True)), point=point) == 0.0
    assert veil(seen(noticed((1280, 720))), point=point) == 0.0
    assert veil(seen(noticed((480, 630))), noticed((480, 630)), point) == 0.0  # as pale as it was


def test_a_cover_takes_contrast_from_all_texts() -> None:
    page = form()
    hazy = (0.4 * page + 0.6 * 255).astype(np.uint8)
    dim = (0.45 * page).astype(np.uint8)
    assert veil(seen(page)) == 0.0 < 0.1 < min(veil(seen(hazy)), veil(seen(dim)))
    assert waiting_features(seen(hazy), CLICK)["hasty"] == 1.0
    assert waiting_features(seen(hazy), Action(Kind.WAIT))["hasty"] == 0.0
    assert waiting_features(seen(page), Action(Kind.WAIT))["idle"] == 1.0


def test_dark_wide_and_greyish_pages_are_not_covered() -> None:
    page = form()
    wide = np.full((3 * page.shape[0], 3 * page.shape[1], 3), 255, np.uint8)
    wide[: page.shape[0], : page.shape[1]] = page
    grey = (0.8 * page + 0.2 * 255).astype(np.uint8)
    for image in (255 - page, wide, grey, np.zeros_like(page)):
        assert veil(seen(image)) == 0.0


def test_grey_text_among_some_black_is_ordinary() -> None:
    pale = lines(
        ["Updated yesterday", "by a colleague", "3 comments", "no labels", "archived", "read only"], (150,) * 3
    )
    assert veil(seen(pale)) > 0.0
    headed = np.concatenate([lines(["Projects", "Open issues", "Closed issues"], (20, 20, 20)), pale])
    assert veil(seen(headed)) == 0.0


def test_a_page_that_was_as_pale_before_is_not_covered_and_one_that_paled_is() -> None:
    texts = ["Updated yesterday", "by a colleague", "3 comments", "no labels"]
    pale, black = lines(texts, (150, 150, 150)), lines(texts, (0, 0, 0))
    assert veil(seen(pale), earlier=pale) == 0.0
    assert veil(seen(pale), earlier=black) > 0.3
    other = lines(["Quite another page", "with other words", "on all of its lines", "here"], (0, 0, 0))
    assert veil(seen(pale), earlier=other) == veil(seen(pale))  # nothing to compare with


def test_a_dialog_over_a_shaded_page_can_be_acted_on() -> None:
    texts = ["Quarterly figures", "Open tasks", "Closed tasks", "Archive", "Members", "Billing", "Integrations", "Help"]
    shaded = (0.45 * lines(texts, (0, 0, 0))).astype(np.uint8)
    picture = Image.fromarray(fill(shaded, (350, 100, 250, 200), 255))
    draw = ImageDraw.Draw(picture)
    for number, text in enumerate(["Delete?", "Cancel"]):
        draw.text((370, 120 + 60 * number), text, fill=(0, 0, 0), font=ImageFont.load_default(size=24))
    dialog = seen(np.asarray(picture))
    assert veil(dialog, point=Point(400, 190)) == 0.0
    assert veil(dialog, point=Point(100, 400)) > 0.0


def test_a_screen_that_was_still_changing_is_busy() -> None:
    page = form()
    still = waiting_features(seen(page), CLICK, Observation(GOAL, page, settled=False))
    rest = waiting_features(seen(page), CLICK, Observation(GOAL, page, settled=True))
    assert (still["hasty"], rest["hasty"]) == (1.0, 0.0)
