"""What newcomers met: screens that are not busy, and values, keys, scrolls and ticks that contradict what is said."""

from __future__ import annotations

import pytest

pytest.importorskip("cv2")
pytest.importorskip("onnxruntime")

from foretell.gui.busy import says_busy
from foretell.gui.elements import look
from foretell.gui.evidence import ElementAt, Evidence
from foretell.gui.notices import is_busy
from foretell.gui.places import Places
from foretell.gui.sight import Sight
from foretell.gui.words import Word
from tests.gui.test_grounds import PAGE


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
