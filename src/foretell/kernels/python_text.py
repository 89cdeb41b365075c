"""Python texts that may have come from someone else: parsed within bounds, for a syntax tree takes far more memory.

It takes about 2 kB a statement and 500 bytes a name or number, a thousand times the text where statements are short.
Up to Python 3.11 the parser also goes over an f-string from its start again for each field in it, in C code that no
signal interrupts; so f-strings are bounded by their characters times their fields. Other strings may be of any length.
"""

from __future__ import annotations

import ast
import re
import warnings

MOST_BYTES, MOST_STATEMENTS, MOST_WORDS = 1 << 20, 100_000, 300_000
MOST_FSTRING_STEPS = 2_000_000_000  # characters times braces: about a second
_FEW_CHARACTERS = 100_000  # within all of these bounds, whatever they are
_WORD = re.compile(r"\w+")
# Comments, and strings with their prefix; one that does not end, where the tokenizer gives up, is taken to end there.
_LITERAL = re.compile(
    r"""
      \#[^\n]*
    | (?P<prefix>[A-Za-z]{0,2})
      (?: \"{3}(?:[^"\\]|\\.|"(?!""))*+(?:\"{3}|\Z) | '{3}(?:[^'\\]|\\.|'(?!''))*+(?:'{3}|\Z)
        | "(?:[^"\\\n]|\\.)*+ "? | '(?:[^'\\\n]|\\.)*+ '? )
    """,
    re.VERBOSE | re.DOTALL,
)


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
    if _fstring_steps(source) > MOST_FSTRING_STEPS:
        raise SyntaxError("its f-strings are too long for so many fields; shorter ones are read")


def tree(source: str) -> ast.Module:
    """The syntax tree of a text of bounded size; raises as `ast.parse` does, SyntaxError if it is too large.

    What the parser warns of (invalid escapes in strings, for one) is the concern of whoever wrote the text.
    """
    check_size(source)
    with warnings.catch_warnings(action="ignore"):
        return ast.parse(source)


def _fstring_steps(source: str) -> int:
    """How many characters the parser looks at for the fields of f-strings: of each, its length times its braces."""
    steps = 0
    for match in _LITERAL.finditer(source.replace("\r\n", "\n").replace("\r", "\n")):
        if "f" in (match["prefix"] or "").lower():
            steps += len(match[0]) * match[0].count("{")
    return steps
