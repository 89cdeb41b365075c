"""A tolerant lexer for C and C++: tokens without comments, whatever the text is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple


class Token(NamedTuple):
    """`kind` is one of `directive`, `text` (string or character), `number`, `name`, `mark` (operator or bracket)."""

    kind: str
    text: str


# Every alternative that opens something also accepts the end of the text (or of the line), so that no opening is tried
# twice and the whole is linear even in text made to be slow.
_TOKEN = re.compile(
    r"""
      (?P<blank>//[^\n]*|/\*.*?(?:\*/|\Z)|\s+)
    | (?P<directive>(?<![^\n])\#(?:[^\n\\/]|\\(?:\n|.)|\\\Z|/(?![/*]))*)
    | (?P<text>"(?:[^"\\\n]|\\.)*(?:"|\n|\\?\Z)|'(?:[^'\\\n]|\\.)*(?:'|\n|\\?\Z))
    | (?P<number>\.?[0-9](?:[eEpP][+-]|'(?=\w)|[\w.])*)
    | (?P<name>[^\W\d]\w*)
    | (?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||::|[-+*/%&|^]=|.)
    """,
    re.DOTALL | re.VERBOSE,
)


def tokens(source: str) -> Iterator[Token]:
    """Lex the source; comments and blanks are dropped, unterminated ones included. Never fails."""
    # Indentation before a directive is legal but would need a look-behind of unknown length.
    for match in _TOKEN.finditer(re.sub(r"(?m)^[ \t]+(?=#)", "", source)):
        kind = match.lastgroup
        if kind is not None and kind != "blank":
            yield Token(kind, match.group())


def integer(text: str) -> int | None:
    """The value of an integer literal such as `64`, `0x40`, `64L` or `1'024`; None for anything else."""
    plain = text.replace("'", "").lower().rstrip("ul")
    if len(plain) > 18:
        return None
    try:
        return int(plain, 16) if plain.startswith("0x") else int(plain, 2) if plain.startswith("0b") else int(plain)
    except ValueError:
        return None
