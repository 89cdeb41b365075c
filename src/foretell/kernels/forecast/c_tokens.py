"""A tolerant lexer for C and C++: tokens without comments, whatever the text is."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class Token(NamedTuple):
    """`kind` is one of `directive`, `text` (string or character), `number`, `name`, `mark` (operator or bracket)."""

    kind: str
    text: str


# Every alternative that opens something also accepts the end of the text (or of the line), so that no opening is tried
# twice and the whole is linear even in text made to be slow. Blanks before a token are never given back.
_TOKEN = re.compile(
    r"""
      (?://[^\n]*|/\*.*?(?:\*/|\Z)|\s+)*+
      (?:
        (?P<name>[^\W\d]\w*)
      | (?P<directive>(?<![^\n])\#(?:[^\n\\/]|\\(?:\n|.)|\\\Z|/(?![/*]))*)
      | (?P<text>"(?:[^"\\\n]|\\.)*(?:"|\n|\\?\Z)|'(?:[^'\\\n]|\\.)*(?:'|\n|\\?\Z))
      | (?P<number>\.?[0-9](?:[eEpP][+-]|'(?=\w)|[\w.])*)
      | (?P<mark><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||::|[-+*/%&|^]=|.)
      | \Z
      )
    """,
    re.DOTALL | re.VERBOSE,
)
_token = lru_cache(maxsize=4096)(Token)  # most tokens of a source have occurred before
_INDENTED = re.compile(r"\n[ \t]+(?=#)")


def tokens(source: str) -> list[Token]:
    """Lex the source; comments and blanks are dropped, unterminated ones included. Never fails."""
    # Indentation before a directive is legal but would need a look-behind of unknown length.
    text = _INDENTED.sub("\n", "\n" + source)
    return [_token(m.lastgroup, m[m.lastgroup]) for m in _TOKEN.finditer(text) if m.lastgroup is not None]


@lru_cache(maxsize=4096)
def integer(text: str) -> int | None:
    """The value of an integer literal such as `64`, `0x40`, `64L` or `1'024`; None for anything else."""
    plain = text.replace("'", "").lower().rstrip("ul")
    if len(plain) > 18:
        return None
    try:
        return int(plain, 16) if plain.startswith("0x") else int(plain, 2) if plain.startswith("0b") else int(plain)
    except ValueError:
        return None
