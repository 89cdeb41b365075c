"""Boxes, ticks, shapes and lines are found by their pixels, and the instruction is told from the page."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cv2")

from foretell.gui.elements import Element, Screen, connected, distance, look
from foretell.gui.places import Place, Places, as_rows, instruction, places
from foretell.gui.words import Word
from tests.gui.drawn import CANCEL, FIELD, GOAL, SUBMIT, TICK, form, middle


@pytest.fixture(scope="module")
def screen() -> Screen:
    return look(form())


@pytest.mark.parametrize("box, kind", [(SUBMIT, "box"), (CANCEL, "box"), (FIELD, "box"), (TICK, "square")])
def test_controls_are_found_where_they_are(screen: Screen, box: tuple[int, int, int, int], kind: str) -> None:
    found = screen.under(*middle(box))[0]
    assert found.kind == kind
    left, top, w, h = found.box
    assert np.allclose((left, top, left + w, top + h), box, atol=6)


@pytest.mark.parametrize("connectivity", [4, 8])
def test_sizes_of_connected_pixels_are_those_of_opencv(connectivity: int) -> None:
    import cv2

    rng = np.random.default_rng(0)
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        mask = (rng.random((37, 53)) < share).astype(np.uint8)
        _, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=connectivity)
        own_labels, own_stats = connected(cv2, mask, connectivity)
        assert np.array_equal(own_labels, labels) and np.array_equal(own_stats[1:], stats[1:])
        assert not own_stats[0].any()


def test_shapes_and_empty_ground(screen: Screen) -> None:
    disc = screen.under(410, 210)[0]
    assert disc.kind == "disc" and disc.colour == (255, 0, 0)
    assert screen.under(60, 590) == [] and not screen.ink[580:600, 50:70].any()


def test_a_blank_or_tiny_picture_has_nothing_on_it() -> None:
    for shape in ((200, 300, 3), (1, 1, 3), (5, 400, 3)):
        blank = look(np.full(shape, 200, dtype=np.uint8))
        assert blank.elements == () and blank.lines == ()


def test_noise_does_no_harm() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (120, 160, 3), dtype=np.uint8)
    assert look(noise).ink.any()


def test_distance_is_negative_inside() -> None:
    assert distance((10, 10, 20, 20), 20, 20) < 0
    assert distance((10, 10, 20, 20), 5, 20) == 5
    assert distance((10, 10, 20, 20), 7, 6) == 5


def test_lines_that_repeat_the_goal_are_the_instruction() -> None:
    words = [
        Word('Enter "karrie" into the text', (8, 8, 300, 24)),
        Word("field and press Submit.", (8, 40, 250, 24)),
        Word("Submit", (200, 420, 80, 24)),
    ]
    assert instruction(words, GOAL) == {0, 1}
    assert instruction(words[2:], GOAL) == set() == instruction([], GOAL) == instruction(words, "")


def test_a_button_that_says_what_the_goal_says_is_no_instruction() -> None:
    words = [Word("Welcome", (8, 8, 300, 24)), Word("Create account", (8, 140, 150, 24))]
    assert instruction(words, "Create account") == set()
    assert instruction(words[1:], "Create account") == {0}
    page = [
        Word("Example", (8, 8, 90, 24)),
        Word("operations", (8, 90, 120, 24)),
        Word("More information", (8, 140, 150, 24)),
    ]
    assert instruction(page, "Open the page with more information") == set()


def test_places_have_kinds_texts_and_labels(screen: Screen) -> None:
    words = [
        Word("Remember me", (96, 204, 150, 24)),
        Word("Username", (20, 310, 110, 24)),
        Word("Submit", (198, 416, 80, 24)),
    ]
    found = places(form(), screen, words, GOAL)
    at = {name: found.under(*middle(box)) for name, box in (("submit", SUBMIT), ("field", FIELD), ("tick", TICK))}
    kinds = {name: (place.kind, place.name) for name, place in at.items() if place is not None}
    assert kinds == {
        "submit": ("button", "Submit"),
        "field": ("field", "Username"),
        "tick": ("checkbox", "Remember me"),
    }
    assert found.under(60, 590) is None


def text(words: str, x: int, y: int, width: int) -> Place:
    return Place("text", (x, y, width, 24), words)


def test_an_entry_of_a_menu_is_meant_and_not_the_menu() -> None:
    menu, first, second = (
        Place("button", (16, 166, 153, 105)),
        text("Jorrie", 29, 178, 75),
        text("Mahalia", 31, 229, 104),
    )
    assert Places((menu, first, second), (), None).under(60, 190) is first
    label = Place("button", (16, 166, 153, 80)), text("Sign", 29, 178, 75), text("up", 31, 206, 60)  # two lines of one
    assert Places(label, (), None).under(60, 190) is label[0]


def test_entries_of_a_list_reach_as_far_as_the_widest() -> None:
    entries = [text("abcd"[i], 17, 180 + 50 * i, width) for i, width in enumerate((90, 230, 140, 60))]
    beside = text("x", 150, 180, 20)
    found = as_rows([*entries, beside])
    assert [place.box[2] for place in found] == [90, 230, 230, 230, 20]  # something else stands in the first row
    assert as_rows(entries[:3]) == entries[:3] and as_rows([]) == []


def _named(text: str, x: int, y: int) -> Word:
    return Word(text, (x, y, 12 * len(text), 20))


def _field_at(x: int, y: int, words: list[Word], wide: int = 1000) -> Place:
    """The only field of a screen with some words on it."""
    image = np.full((400, wide, 3), 255, np.uint8)
    box = Element("box", (x, y, 200, 30), (255, 255, 255), 6000)
    boxes = tuple(word.box for word in words)
    ink = np.zeros((400, wide), dtype=bool)
    found = places(image, Screen(wide, 400, (box,), boxes, ink, (240, 240, 240)), words, "Fill in the form")
    return next(place for place in found.all if place.kind == "field")


def test_a_label_in_a_column_far_to_the_left_is_the_fields() -> None:
    labels = [_named("Name", 40, 100), _named("Street", 40, 160)]
    assert _field_at(330, 156, labels).label == "Street"
    assert _field_at(330, 96, labels).label == "Name"
    assert _field_at(330, 156, [*labels, _named("Optional", 200, 160)]).label == "Optional"  # what stands between
    assert _field_at(700, 156, labels).label == ""  # too far to be a label


def test_words_in_chinese_are_words_where_the_page_or_the_goal_is_in_chinese() -> None:
    screen = Screen(400, 400, (), (), np.zeros((400, 400), dtype=bool), (255, 255, 255))
    image = np.full((400, 400, 3), 255, np.uint8)
    words = [_named("提交", 10, 10), _named("取消", 10, 60), _named("用户名", 10, 110)]

    def texts(words: list[Word], goal: str) -> set[str]:
        return {word.text for word in places(image, screen, words, goal).words}

    assert texts(words, "Click 3 times") == texts(words, "点击3次") == {"提交", "取消", "用户名"}
    assert texts([_named("三", 10, 10), _named("Save", 10, 60)], "Click Save") == {"Save"}  # an icon of three bars
    assert texts([_named("三", 10, 10)], "点击三") == {"三"}
