"""Messages of compilers on a terminal: first and last lines, for compilers differ in where they say what is wrong."""

from __future__ import annotations

FIRST_LINES, LAST_LINES = 8, 4


def shown_lines(message: str) -> list[str]:
    """The lines of a message, with a count in the place of the middle of a long one."""
    lines = message.strip().splitlines()
    left_out = len(lines) - FIRST_LINES - LAST_LINES
    if left_out <= 1:
        return lines
    return [*lines[:FIRST_LINES], f"... ({left_out} more lines; --json has them all)", *lines[-LAST_LINES:]]
