"""Python texts that may have come from someone else: parsed within bounds, for a syntax tree takes far more memory.

It takes about 2 kB a statement and 500 bytes a name or number, a thousand times the text where statements are short.
"""

from __future__ import annotations

import ast
import re

MOST_BYTES, MOST_STATEMENTS, MOST_WORDS = 1 << 20, 100_000, 300_000
_FEW_CHARACTERS = 100_000  # within all of these bounds, whatever they are
_WORD = re.compile(r"\w+")


def check_size(source: str) -> None:
    """SyntaxError that says what of a text there is too much of."""
    if len(source) <= _FEW_CHARACTERS:
        return
    counts = (
        ("bytes", len(source.encode(errors="surrogatepass")), MOST_BYTES),
        ("lines and semicolons", source.count("\n") + source.count("\r") + source.count(";"), MOST_STATEMENTS),
        ("names and numbers", sum(1 for _ in _WORD.finditer(source)), MOST_WORDS),
    )
    for what, count, most in counts:
        if count > most:
            raise SyntaxError(f"it has {count:,} {what}; at most {most:,} are read")


def tree(source: str) -> ast.Module:
    """The syntax tree of a text of bounded size; raises as `ast.parse` does, SyntaxError if it is too large."""
    check_size(source)
    return ast.parse(source)
