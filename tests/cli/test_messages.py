"""The end of a compiler's message is shown, where Triton says what is wrong."""

from foretell.cli.messages import FIRST_LINES, LAST_LINES, shown_lines
from foretell.kernels.languages.diagnostics import ends


def test_the_end_of_a_long_message_is_shown() -> None:
    lines = shown_lines("\n".join(f"line {i}" for i in range(40)) + "\nNameError('cols2 is not defined')")
    assert lines[0] == "line 0" and lines[-1] == "NameError('cols2 is not defined')"
    assert len(lines) == FIRST_LINES + 1 + LAST_LINES and "29 more lines" in lines[FIRST_LINES]


def test_a_short_message_is_shown_whole() -> None:
    message = "\n".join(f"line {i}" for i in range(FIRST_LINES + LAST_LINES + 1))
    assert shown_lines(message) == message.splitlines()


def test_a_text_is_cut_in_its_middle() -> None:
    text = "at 6:55:\n" + "x" * 2000 + "\nNameError('cols2 is not defined')"
    cut = ends(text, 500)
    assert len(cut) == 500 and cut.startswith("at 6:55:") and cut.endswith("NameError('cols2 is not defined')")
    assert ends("short", 500) == "short"
