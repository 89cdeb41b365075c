"""Words from a page in the guard's sentences: in quotes that nothing in them can close, on one line, and short.

Whoever wrote a page must not be able to speak to the agent in the guard's voice. Everything read off a screen passes
through here before it is told.
"""

from __future__ import annotations

import unicodedata

QUOTED_CHARACTERS = 60
_MARKS = dict.fromkeys(map(ord, "'\"“”„‟‘’‚‛`´«»‹›＂＇「」『』〝〞"), "’")
_SIGNS = dict.fromkeys(map(ord, "<>{}[]|\\^~"), " ")


def plain_line(text: str, most: int) -> str:
    """A text on one line without control characters, invisible or direction marks; cut with a sign where it is long."""
    visible = "".join(c if unicodedata.category(c)[0] not in "CZ" else " " for c in unicodedata.normalize("NFKC", text))
    line = " ".join(visible.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def quoted(text: str, most: int = QUOTED_CHARACTERS) -> str:
    """A text from a page in quotes that nothing in it can close."""
    return f"'{plain_line(text.translate(_MARKS | _SIGNS), most).translate(_MARKS)}'"
