"""What newcomers met: screens that are not busy, and values, keys, scrolls and ticks that contradict what is said."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from foretell.gui.actions import Action, Kind, Point
from foretell.gui.busy import says_busy
from foretell.gui.checks import Finding, check
from foretell.gui.elements import look
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.grounds import ALONE, Ground, grounds
from foretell.gui.history import History
from foretell.gui.judgement import ErrorClass
from foretell.gui.notices import is_busy
from foretell.gui.observation import Observation, Proposal
from foretell.gui.places import Place, Places
from foretell.gui.sight import Sight
from foretell.gui.typed_value import difference
from foretell.gui.words import Word
from tests.gui.screens import fill
from tests.gui.test_grounds import AT, BLANK, CLICK, PAGE, reasons


def sight_of(*lines: str) -> Sight:
    words = tuple(Word(text, (100, 100 + 40 * number, 120, 14)) for number, text in enumerate(lines))
    return Sight(PAGE, "", look(PAGE), Places((), words, None))


@pytest.mark.parametrize(
    "text",
    [
        "Search Tickets..",
        "Limit upload rate...",
        "Upload files…",
        "Refresh…",
        "Connect...",
        "Submit..",
        "Saved..",
        "Downloading (9)",
    ],
)
def test_commands_with_dots_are_no_notices(text: str) -> None:
    assert not is_busy(text)


@pytest.mark.parametrize("text", ["Searching...", "Uploading…", "Refreshng...", "Connecting to the server..."])
def test_what_goes_on_is_a_notice(text: str) -> None:
    assert is_busy(text)


@pytest.mark.parametrize(
    "element",
    [
        ElementAt("Downloading...", "link"),
        ElementAt("sintel.bin", "checkbox", context="sintel.bin 7.0 MiB Downloading... 0 B/s"),
    ],
)
def test_what_a_page_knows_as_an_entry_or_a_part_of_a_row_is_no_notice(element: ElementAt) -> None:
    sight = sight_of("All (20)", "Downloading...")
    assert says_busy(sight) and says_busy(sight, Evidence())
    assert says_busy(sight, Evidence(seen=(ElementAt("All (20)", "listitem"),)))
    assert not says_busy(sight, Evidence(seen=(element,)))


def test_the_title_of_a_dialog_is_a_notice() -> None:
    cancel = ElementAt("Cancel", "button", context="Please wait")
    assert says_busy(sight_of("Please wait", "Cancel"), Evidence(seen=(cancel,)))


MAGNET = "magnet:?xt=urn:btih:0123456789abcdef01234567"
VOUCHER = "FRIENDS15 shall give 15 percent off"


@pytest.mark.parametrize(
    ("text", "intent", "goal", "said"),
    [
        ("Ferry link is mis", 'enter "Ferry link is missing"', "File a bug", "Ferry link is missing"),
        ("erry link is missing", 'enter "Ferry link is missing"', "File a bug", "Ferry link is missing"),
        ("Ferry link", 'enter "Ferry link is missing"', "File a bug", None),
        ("Ferry link is mis", 'search for "Ferry link is missing"', "File a bug", None),
        (MAGNET[:-1], "paste the link", f"Fetch {MAGNET} at once.", MAGNET),
        (MAGNET, "paste the link", f"Fetch {MAGNET} at once.", None),
        (MAGNET[:-1], "look for the link", f"Fetch {MAGNET} at once.", None),
        ("316555021", "put in her number", "Her number is +43316555021", None),
        ("2026-11-19", "put in the day", "It was on 2026-11-19T10:00", None),
        (
            "Linear algebra, summer term",
            "type it",
            "Call it 'Linear algebra, winter term'",
            "Linear algebra, winter term",
        ),
        ("Carla", "type the beginning of Bruno's name", "Bruno should look at it", "Bruno"),
        ("Bru", "type the beginning of Bruno's name", "Bruno should look at it", None),
        ("Carla", "type the beginning of the name", "Bruno's deputy should look at it", None),
        ("19", "set the day to yesterday, the 18th", "What she did yesterday", "18"),
        ("2026-11-19", "put in the 18th", "What she did yesterday", "18"),
        ("18", "set the day to yesterday, the 18th", "What she did yesterday", None),
        ("3", "put in the hours of the 18th", "Three hours", None),
        ("11", "type the date, the 18th of November", "What she did", None),
        ("4", "set the day in the 3rd field", "The fourth", None),
        ("2.15", "two and a quarter hours", "Put it on record", "two and a quarter"),
        ("2,25", "two and a quarter hours", "Put it on record", None),
        ("2:15", "two and a quarter hours", "Put it on record", None),
        ("1.75", "fill in the hours", "One and three-quarters hours", None),
        ("29.70", "put the new price there", "The cushion is to cost 27.90", "27.90"),
        ("30.69", "put the new price there", "Raise the price of 27.90 by 10 percent", None),
        ("27,90", "put the new price there", "The cushion is to cost 27.90", None),
        ("FRIENDS10", "write the code", VOUCHER, "FRIENDS15"),
        ("FRIENDS15", "write the code", VOUCHER, None),
        ("FRIENDS16", "write the code", f"After {VOUCHER}, make the next one", None),
        ("python3.13", "put in the version", "Bring python3.11 to the latest one", None),
        ("FRIENDS10", "write the code", f"{VOUCHER}; let it be 10 from now on", None),
        ("Black Friday", "type the name", "A promotion called Black week with the code BLACK", "Black week"),
        ("Black weeks", "type the name", "A promotion called Black week with the code BLACK", None),
        ("Ada 1990", "type the login", "An account called Ada Berg", None),
        ("Black promotion", "type the name", "A promotion called Black with free shipping", None),
    ],
)
def test_values_that_are_said_exactly(text: str, intent: str, goal: str, said: str | None) -> None:
    found = difference(text, intent, goal)
    assert (found.said if found else None) == said


@pytest.mark.parametrize(
    ("text", "intent", "said"),
    [
        ("High", "go for Maximum, the highest", "Maximum"),
        ("Max", "go for Maximum, the highest", None),
        ("High", "choose the level High by typing it", None),
        ("High", "choose the second highest", None),
        ("Other", "go for Maximum, the highest", None),
    ],
)
def test_letters_that_choose_another_entry_of_a_list(text: str, intent: str, said: str | None) -> None:
    page = Evidence(focused=ElementAt("", "combobox", context="part2.bin Normal High Maximum Mixed"))
    typing = Action(Kind.TYPE, text=text)
    found = grounds(page, typing, typing, intent, "the goal", History(), BLANK, (), {})
    assert [said in one.sentence for one in found if said] == ([True] if said else [])
    assert bool(found) is bool(said)


@pytest.mark.parametrize(
    ("intent", "keys", "is_wrong"),
    [
        ("start the search with the enter key", ("escape",), True),
        ("start the search with the enter key", ("enter",), False),
        ("start the search with Enter", ("tab",), True),
        ("leave the field with the Esc key", ("escape",), False),
        ("go on with the up or down key", ("up",), False),
        ("move on with the page down key", ("pagedown",), False),
        ("confirm without the enter key", ("ctrl", "s"), False),
        ("confirm that we delete keys of hers", ("enter",), False),
    ],
)
def test_a_key_that_is_named_otherwise(intent: str, keys: tuple[str, ...], is_wrong: bool) -> None:
    action = Action(Kind.KEY, keys=keys)
    found = check(Observation("the goal", PAGE), Proposal((action,), intent), History())
    assert ("wrong_key" in [one.check for one in found]) is is_wrong
    assert [one.bar for one in _by_findings(action, intent, found)] == [ALONE] * is_wrong


@pytest.mark.parametrize(
    ("intent", "dy", "is_wrong"),
    [
        ("find the save button below", -600, True),
        ("find the save button below", 600, False),
        ("find the field below the title", -600, False),
        ("see what is further down", -600, True),
        ("return to the top where Create is", 600, True),
        ("get to the save button at the end of the page", -600, True),
        ("find the header at the top of the table", 600, False),
        ("from the list at the bottom, go back to the top", -600, False),
        ("up again", 600, True),
        ("look up the price", 600, False),
        ("scroll down to the button", -500, True),
        ("scroll to the top of the comments", 500, False),
        ("scroll to the top of the page", 500, True),
    ],
)
def test_a_scroll_away_from_what_is_looked_for(intent: str, dy: float, is_wrong: bool) -> None:
    action = Action(Kind.SCROLL, Point(640, 350), dy=dy)
    found = check(Observation("the goal", PAGE), Proposal((action,), intent), History())
    assert ("wrong_way" in [one.check for one in found]) is is_wrong
    assert [one.bar for one in _by_findings(action, intent, found)] == [ALONE] * is_wrong


def _by_findings(action: Action, intent: str, found: Sequence[Finding]) -> list[Ground]:
    named = [one for one in found if one.check in ("wrong_key", "wrong_way")]
    return grounds(None, action, action, intent, "the goal", History(), BLANK, named, {})


PRIVATE = ElementAt("Note is private", "label")


@pytest.mark.parametrize(
    ("here", "intent", "box", "is_wrong"),
    [
        (PRIVATE, "check the box so that only colleagues can read it", True, True),
        (PRIVATE, "check the box so that only colleagues can read it", False, False),
        (PRIVATE, "clear the box, everybody may read it", True, False),
        (PRIVATE, "keep the note private: tick that", True, True),
        (PRIVATE, "check the box of the newsletter", True, False),
        (ElementAt("Enabled", "label"), "make sure that the voucher is switched on", True, True),
        (ElementAt("Enabled", "label"), "flip the switch so that it is no longer enabled", True, False),
        (ElementAt("Enabled", "label"), "make sure that the voucher is inactive", False, True),
        (ElementAt("Enabled", "label"), "make sure that the voucher is not active", True, False),
        (PRIVATE, "clear the note that is checked", False, False),
        (PRIVATE, "untick the private note that is ticked", False, True),
    ],
)
def test_a_box_that_is_as_the_intent_wants_it(here: ElementAt, intent: str, box: bool, is_wrong: bool) -> None:
    control = ElementAt(here.name, "checkbox", checked=box)
    wanted = [(ErrorClass.SUBOPTIMAL, ALONE)] * is_wrong
    assert [(one.error, one.bar) for one in reasons(here, intent, control)] == wanted
    assert [(one.error, one.bar) for one in reasons(control, intent)] == wanted


def test_of_two_boxes_of_one_name_a_label_tells_nothing() -> None:
    boxes = [ElementAt(PRIVATE.name, "checkbox", context=row, checked=True) for row in ("Ada", "Bea")]
    assert reasons(PRIVATE, "check the box", *boxes) == []


BLUE, WHITE = (0, 120, 255), (255, 255, 255)


def drawn(ground: tuple[int, int, int], tick: tuple[int, int, int], width: int = 14) -> Sight:
    """A screen with a box at the usual point, and a mark in the midst of it."""
    box = (AT.x - width // 2, AT.y - 7, width, 14)
    image = fill(fill(PAGE, box, ground), (AT.x - 2, AT.y - 1, 5, 2), tick)
    return Sight(image, "", look(image), Places((Place("icon", box, "", "", ground, 0.0, False),), (), None))


@pytest.mark.parametrize(
    ("sight", "intent", "is_wrong"),
    [
        (drawn(BLUE, WHITE), "tick the box of the switch for lab B", True),
        (drawn(BLUE, WHITE), "untick the switch for lab B", False),
        (drawn(BLUE, WHITE), "open the switch for lab B", False),
        (drawn(BLUE, BLUE), "tick the box of the switch for lab B", False),
        (drawn(WHITE, WHITE), "tick the box of the switch for lab B", False),
        (drawn(WHITE, BLUE), "tick the box of the switch for lab B", False),
        (drawn(BLUE, WHITE, width=60), "tick the box of the switch for lab B", False),
    ],
)
def test_a_box_that_is_drawn_with_a_tick(sight: Sight, intent: str, is_wrong: bool) -> None:
    row = ElementAt("", "label", context="3 New switch for lab B")
    page = Evidence({AT: row}, seen=(row,))
    found = grounds(page, CLICK, CLICK, intent, "the goal", History(), sight, (), {})
    assert [one.error for one in found] == [ErrorClass.SUBOPTIMAL] * is_wrong
