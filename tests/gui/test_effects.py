"""Pixels that changed, and what the rules say of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.claims import DOTS, NOTHING, Effect, Scene, Sort, effect_of, in_order
from foretell.gui.effects import MAX_REGIONS, difference, holds, vertical_shift_px
from foretell.gui.observation import Pixels
from foretell.gui.shapes import dots_in
from foretell.gui.words import Box
from tests.gui.screens import BOX, FIELD, FakeReader, blank, dotted, fill, form, frame, word, written

AT_FIELD = Point(100, 120)
AT_BOX = Point(80, 220)


def told(
    action: Action, before: Pixels, after: Pixels, reader: FakeReader | None = None, at: Point | None = None
) -> Effect:
    return effect_of(Scene(action, before, after, difference(before, after), reader, at))


def click(point: Point) -> Action:
    return Action(Kind.CLICK, point=point)


def typed(text: str) -> Action:
    return Action(Kind.TYPE, text=text)


def test_the_same_screen_has_no_difference() -> None:
    found = difference(form(), form())
    assert not found.changed and found.regions == () and found.share == 0.0 and found.caret is None


def test_regions_are_tight_and_apart_and_the_largest_comes_first() -> None:
    small, large = (300, 40, 20, 10), (40, 200, 120, 60)
    found = difference(blank(), fill(fill(blank(), small), large))
    assert found.regions == (large, small)
    assert found.share == (20 * 10 + 120 * 60) / (480 * 360)
    assert found.region_at(Point(310, 45), 0) == small and found.region_at(Point(10, 10), 5) is None


def test_what_lies_close_together_is_one_region() -> None:
    found = difference(blank(), written(blank(), "Paula", (100, 110)))
    assert len(found.regions) == 1


@given(st.lists(st.tuples(*[st.integers(0, 300)] * 2, *[st.integers(1, 60)] * 2), min_size=1, max_size=20))
@settings(max_examples=40, deadline=None)
def test_every_changed_pixel_lies_in_a_region_unless_there_are_too_many(boxes: list[Box]) -> None:
    after = blank()
    for box in boxes:
        after = fill(after, box)
    found = difference(blank(), after, ignore_caret=False)
    assert 1 <= len(found.regions) <= MAX_REGIONS
    if len(found.regions) < MAX_REGIONS:
        rows, columns = np.nonzero(found.mask)
        inside = np.zeros(rows.shape, dtype=bool)
        for x, y, width, height in found.regions:
            inside |= (columns >= x) & (columns < x + width) & (rows >= y) & (rows < y + height)
        assert inside.all()


def test_a_blinking_caret_is_no_change_unless_it_may_be_a_letter() -> None:
    caret = (100, 108, 3, 30)
    after = fill(form(), caret)
    assert not difference(form(), after).changed
    assert difference(form(), after).caret == caret
    assert difference(form(), after, ignore_caret=False).changed


def test_faint_shades_are_no_change_and_another_size_is_a_change_of_all() -> None:
    assert not difference(fill(blank(), FIELD, 239), fill(blank(), FIELD, 229)).changed
    other = difference(blank(), blank(480, 400))
    assert other.changed and other.whole_page and other.share == 1.0


def test_typed_text_that_can_be_read_in_the_field_is_achieved() -> None:
    after = written(form(), "Paula", (72, 112))
    reader = FakeReader((after, [word("Paula", (72, 112)), word("Name", (400, 300))]))
    found = told(typed("Paula"), form(), after, reader, AT_FIELD)
    assert [claim.sort for claim in found.claims] == [Sort.TYPED]
    assert found.claims[0].sentence == "'Paula' is in the field that was clicked"
    assert found.claims[0].text == "Paula"
    # Only the field is read, not the page.
    assert reader.largest_read <= 300 * 48


def test_what_else_stands_in_the_field_is_told() -> None:
    before = written(form(), "Ann", (72, 112))
    after = written(before, "Paula", (120, 112))
    reader = FakeReader((after, [word("AnnPaula", (72, 112))]))
    found = told(typed("Paula"), before, after, reader, AT_FIELD)
    assert found.claims[0].sentence == "'Paula' is in the field that was clicked, which reads 'AnnPaula'"


def test_another_text_than_the_typed_one_is_an_effect_and_no_achievement() -> None:
    after = written(form(), "Pau", (72, 112))
    found = told(typed("Paula"), form(), after, FakeReader((after, [word("Pau", (72, 112))])), AT_FIELD)
    assert found.claims == () and found.sentence.endswith("is now 'Pau'")


def test_typing_is_never_achieved_without_a_reader_nor_by_an_unsure_one() -> None:
    after = written(form(), "Paula", (72, 112))
    assert told(typed("Paula"), form(), after).claims == ()
    unsure = FakeReader((after, [word("Paula", (72, 112), confidence=0.3)]))
    assert told(typed("Paula"), form(), after, unsure).claims == ()


def test_look_alikes_are_forgiven() -> None:
    after = written(form(), "Oil 10", (72, 112))
    found = told(typed("Oil 10"), form(), after, FakeReader((after, [word("0il1O", (72, 112))])), AT_FIELD)
    assert [claim.sort for claim in found.claims] == [Sort.TYPED]


def test_dots_are_hidden_text() -> None:
    after = dotted(form(), 7, (72, 118))
    found = told(typed("hunter2"), form(), after, FakeReader(), AT_FIELD)
    assert [claim.sort for claim in found.claims] == [Sort.HIDDEN]
    assert found.sentence == "7 dots appeared in the field that was clicked"
    assert told(typed("hunter"), form(), after, FakeReader(), AT_FIELD).claims == ()
    assert dots_in(written(form(), "lllll", (72, 112)), (72, 112, 64, 24)) == 0


def test_of_a_secret_nothing_is_told_but_that_it_is_hidden() -> None:
    after = written(form(), "1234", (72, 112))
    reader = FakeReader((after, [word("1234", (72, 112))]))
    found = told(typed(DOTS), form(), after, reader, AT_FIELD)
    assert found.claims == () and reader.boxes == [] and "1234" not in found.sentence
    dots = told(typed(DOTS), form(), dotted(form(), 4, (72, 118)), reader, AT_FIELD)
    assert [claim.sort for claim in dots.claims] == [Sort.HIDDEN]


def test_nothing_changed() -> None:
    for action in (click(AT_BOX), typed("x y"), Action(Kind.SCROLL, dy=90), Action(Kind.WAIT), Action(Kind.KEY)):
        found = told(action, form(), form())
        assert found.sentence.startswith(NOTHING) and found.claims == ()


def test_a_caret_after_a_click_is_told_and_is_no_achievement() -> None:
    found = told(click(AT_FIELD), form(), fill(form(), (102, 108, 3, 30)))
    assert found.sentence == "nothing changed but a text cursor near the point" and found.claims == ()


def test_a_box_is_ticked_and_unticked_under_the_name_beside_it() -> None:
    empty = form()
    x, y, width, height = BOX
    full = fill(fill(empty, BOX, (0, 117, 255)), (x + 12, y + 15, width - 24, height - 28), 255)
    words = [word("Apples", (110, 206))]
    reader = FakeReader((empty, words), (full, words))
    on, off = told(click(AT_BOX), empty, full, reader), told(click(AT_BOX), full, empty, reader)
    assert (on.claims[0].sort, on.sentence) == (Sort.TICKED, "'Apples' was ticked")
    assert (off.claims[0].sort, off.sentence) == (Sort.UNTICKED, "'Apples' was unticked")


def test_a_blot_of_the_size_of_a_box_is_not_ticked() -> None:
    found = told(click(AT_BOX), blank(), fill(blank(), BOX, 80))
    assert [claim.sort for claim in found.claims] == [Sort.CHANGED]


def test_an_outline_around_the_point_is_the_focus() -> None:
    found = told(click(AT_FIELD), form(), frame(form(), FIELD, 4, (16, 16, 16)))
    assert [claim.sort for claim in found.claims] == [Sort.FOCUSED]


@pytest.mark.parametrize(("ground", "border"), [(24, 70), (255, 118)])
@pytest.mark.parametrize("colour", [(120, 180, 255), (240, 130, 0), (150, 60, 220)])
def test_outlines_in_colour_and_on_dark_pages_are_the_focus(
    ground: int, border: int, colour: tuple[int, int, int]
) -> None:
    page = frame(fill(blank(), (0, 0, 480, 360), ground), FIELD, 3, border)
    found = told(click(AT_FIELD), page, frame(page, FIELD, 4, colour))
    assert [claim.sort for claim in found.claims] == [Sort.FOCUSED]


def test_the_focus_moves_between_fields_that_lie_close() -> None:
    below = (60, 154, 300, 48)
    page = frame(frame(blank(), FIELD, 3, 118), below, 3, 118)
    before, after = frame(page, FIELD, 5, (16, 16, 16)), frame(page, below, 5, (16, 16, 16))
    assert len(difference(before, after).regions) == 1
    found = told(click(Point(100, 175)), before, after)
    assert [claim.sort for claim in found.claims] == [Sort.FOCUSED]


def test_a_chosen_colour_with_an_outline_is_not_focused() -> None:
    tile = (60, 100, 90, 48)
    before = fill(blank(), tile, (200, 30, 30))
    after = fill(fill(blank(), tile), (65, 105, 80, 38), (200, 30, 30))
    assert [claim.sort for claim in told(click(Point(100, 120)), before, after).claims] == [Sort.ELSEWHERE]


def test_boxes_that_change_side_by_side_are_told_apart() -> None:
    other = (106, 200, 40, 40)
    empty = frame(form(), other, 3, 118)
    before, after = fill(empty, other, (0, 90, 200)), fill(fill(empty, other, (0, 117, 255)), BOX, (0, 90, 200))
    found = told(click(AT_BOX), before, after)
    assert [claim.sort for claim in found.claims] == [Sort.TICKED] and found.claims[0].box == BOX


def test_a_drawn_dot_is_no_box_that_was_unticked() -> None:
    found = told(click(Point(75, 121)), blank(), dotted(blank(), 1, (70, 116)))
    assert [claim.sort for claim in found.claims] == [Sort.CHANGED]


def test_what_changed_beside_the_point_was_not_clicked() -> None:
    number, arrow = (200, 100, 30, 40), Point(236, 130)
    found = told(click(arrow), blank(), fill(blank(), number))
    assert [claim.sort for claim in found.claims] == [Sort.ELSEWHERE] and "beside it changed" in found.sentence


def test_a_faint_change_may_be_the_pointer_and_is_no_achievement() -> None:
    arrow = (200, 100, 30, 20)
    found = told(click(Point(210, 110)), fill(blank(), arrow, 119), fill(blank(), arrow, 69))
    assert found.claims == () and "as it does under a pointer" in found.sentence


def test_a_light_dot_that_turns_blue_was_not_ticked() -> None:
    before = fill(blank(), (70, 116, 12, 12), 204)
    found = told(click(Point(75, 121)), before, fill(blank(), (70, 116, 12, 12), (0, 117, 255)))
    assert Sort.TICKED not in {claim.sort for claim in found.claims}


def test_what_was_clicked_and_changed_is_named() -> None:
    row = (60, 250, 200, 40)
    before = written(form(), "Item", (80, 256))
    after = written(fill(before, row, (0, 90, 200)), "Item", (80, 256))
    found = told(click(Point(90, 265)), before, after, FakeReader((before, [word("Item", (80, 256))])))
    assert found.claims[0].sentence == "'Item' was clicked and changed"


def test_a_change_elsewhere_is_claimed_as_that() -> None:
    found = told(click(AT_FIELD), form(), fill(form(), (350, 300, 60, 30)))
    assert [claim.sort for claim in found.claims] == [Sort.ELSEWHERE] and "not where the click was" in found.sentence
    assert "another part of the page changed" in found.claims[0].sentence
    small = told(click(AT_FIELD), form(), fill(form(), (350, 300, 14, 14)))
    assert small.claims == ()


def test_a_change_of_looks_elsewhere_is_told_and_not_claimed() -> None:
    cell, at = (300, 250, 120, 40), (310, 256)
    before = written(form(), "Elm", at)
    bold = fill(written(form(), "Elm", at), cell, 200)
    oak = fill(form(), cell, 200)
    same = FakeReader((before, [word("Elm", at)]), (bold, [word("Elm", at)]))
    other = FakeReader((before, [word("Elm", at)]), (oak, [word("Oak", at)]))
    found = told(click(AT_FIELD), before, bold, same)
    assert found.claims == () and "not where the click was" in found.sentence
    assert [claim.sort for claim in told(click(AT_FIELD), before, oak, other).claims] == [Sort.ELSEWHERE]


def test_a_box_with_a_glow_around_it_was_ticked() -> None:
    x, y, width, height = BOX
    glow = fill(form(), (x - 4, y - 4, width + 8, height + 8), (190, 215, 255))
    found = told(click(AT_BOX), form(), fill(glow, BOX, (0, 90, 200)))
    assert [claim.sort for claim in found.claims] == [Sort.TICKED]


def test_another_page() -> None:
    found = told(click(AT_FIELD), form(), fill(blank(), (0, 0, 480, 200), 40))
    assert [claim.sort for claim in found.claims] == [Sort.PAGE]


def test_a_drag_needs_both_ends_changed() -> None:
    before = fill(blank(), (50, 50, 30, 30), 90)
    after = fill(blank(), (300, 250, 30, 30), 90)
    drag = Action(Kind.DRAG, point=Point(65, 65), to=Point(315, 265))
    assert [claim.sort for claim in told(drag, before, after).claims] == [Sort.DRAGGED]
    assert told(drag, before, fill(before, (300, 250, 30, 30), 90)).claims == ()


def test_a_scroll_tells_how_far_the_view_moved() -> None:
    rng = np.random.default_rng(0)
    page = np.repeat(rng.integers(0, 255, (600, 480, 1)), 3, axis=2).astype(np.uint8)
    before, after = page[100:460], page[160:520]
    assert vertical_shift_px(before, after, (0, 0, 480, 360)) == 60
    assert told(Action(Kind.SCROLL, dy=60), before, after).sentence == "the view moved down by 60 pixels"
    assert vertical_shift_px(before, rng.integers(0, 255, before.shape).astype(np.uint8), (0, 0, 480, 360)) is None


def test_rows_that_repeat_do_not_turn_a_scroll_around() -> None:
    rng = np.random.default_rng(0)
    row = np.repeat(rng.integers(0, 255, (40, 480, 1)), 3, axis=2).astype(np.uint8)
    page = np.concatenate([row] * 20)
    before, after = page[:360], page[30:390]
    assert vertical_shift_px(before, after, (0, 0, 480, 360), towards=200.0) == 30
    assert (vertical_shift_px(before, after, (0, 0, 480, 360), towards=-200.0) or 0) < 0
    assert "down" in told(Action(Kind.SCROLL, dy=300), before, after).sentence


@pytest.mark.parametrize(
    ("was", "now", "appeared"),
    [
        ([("Saved", (300, 300))], [("Saved", (300, 306))], False),  # a few pixels further down
        ([("ann@example.com", (200, 300))], [("ann@exampl.com", (200, 300))], False),  # a letter read otherwise
        ([("Balance", (300, 240))], [("Balance", (300, 300))], False),  # its row moved
        ([("Draft", (300, 300))], [("Published", (300, 300))], True),
        ([], [("Saved", (300, 300))], True),
    ],
)
def test_only_what_was_not_there_appeared(
    was: list[tuple[str, tuple[int, int]]], now: list[tuple[str, tuple[int, int]]], appeared: bool
) -> None:
    before, after = form(), frame(form(), FIELD, 5, (0, 90, 200))
    for text, at in was:
        before = written(before, text, at)
    for text, at in now:
        after = written(after, text, at)
    reader = FakeReader((before, [word(*one) for one in was]), (after, [word(*one) for one in now]))
    sentence = told(click(AT_FIELD), before, after, reader).sentence
    assert ("appeared" in sentence) is appeared, sentence


def test_words_are_put_in_reading_order() -> None:
    words = [word("there", (100, 53)), word("below", (10, 100)), word("hello", (10, 50))]
    assert [one.text for one in in_order(words)] == ["hello", "there", "below"]


def test_boxes_are_half_open() -> None:
    assert holds((10, 10, 5, 5), Point(10, 14.9)) and not holds((10, 10, 5, 5), Point(15, 12))
