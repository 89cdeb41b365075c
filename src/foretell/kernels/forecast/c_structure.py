"""Structure of a C or C++ token stream, found without a grammar: loops, subscripts, arrays, repeated statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from foretell.kernels.forecast.c_tokens import Token, integer

_OPEN = {"(": ")", "[": "]", "{": "}"}
_CLOSE = frozenset(_OPEN.values())
_LOOP_WORDS = frozenset({"for", "while", "do"})
_STRUCTURE = frozenset((*_OPEN, *_CLOSE, *_LOOP_WORDS, ";"))


class Loop(NamedTuple):
    """One loop: tokens `start` to `body` are its header; `depth` counts the loops around its body, itself included."""

    start: int
    body: int
    depth: int


def loop_depths(code: Sequence[Token]) -> tuple[list[int], list[Loop]]:
    """How many loops enclose each token (a header belongs outside), and the loops in the order their bodies begin.

    A loop without braces ends with its statement. Brackets that do not match are forgiven.
    """
    depths: list[int] = []
    loops: list[Loop] = []
    scopes: list[str] = []  # "(", "[", "{", "loop{" (a loop's braces) or "loop" (a loop whose body is one statement)
    depth = 0
    header, header_scopes = -1, 0  # where the header in progress began, and how many scopes were open there
    awaiting_body = False
    for index, (kind, text) in enumerate(code):
        if not awaiting_body and text not in _STRUCTURE:
            depths.append(depth)
            continue
        braced_loop = False
        if awaiting_body and kind != "directive":
            awaiting_body = False
            # `do { } while (x);` ends in a header whose body is the empty statement: no loop of its own.
            if text != ";":
                depth += 1
                loops.append(Loop(header, index, depth))
                braced_loop = text == "{"
                scopes.append("loop{" if braced_loop else "loop")
            header = -1
        depths.append(depth)
        if text in _LOOP_WORDS and header < 0:
            header, header_scopes, awaiting_body = index, len(scopes), text == "do"
        elif text in _OPEN and not braced_loop:
            scopes.append(text)
        elif text in _CLOSE:
            depth -= _close(scopes, text)
            if header >= 0 and text == ")" and len(scopes) <= header_scopes:
                awaiting_body = True
        ends_statement = text == ";" and not (scopes and scopes[-1] in "([")
        if ends_statement or (text == "}" and not _is(code, index + 1, "else")):
            if header >= 0 and not awaiting_body and ends_statement and len(scopes) <= header_scopes:
                header = -1  # a loop word that never got a header
            while scopes and scopes[-1] == "loop":
                scopes.pop()
                depth -= 1
    return depths, loops


def _close(scopes: list[str], text: str) -> int:
    """Close the innermost scope that `text` can close; returns how many loops end with it."""
    if not scopes:
        return 0
    top = scopes[-1]
    if _OPEN.get(top.removeprefix("loop")) == text:
        scopes.pop()
        return int(top == "loop{")
    if text != "}":
        return 0  # a stray ) or ]
    ended = 0
    while scopes:
        scope = scopes.pop()
        ended += scope.startswith("loop")
        if scope.endswith("{"):
            break
    return ended


class Subscript(NamedTuple):
    """One `[...]` after a name or another subscript: where it opens, and what its index is made of."""

    at: int
    multiplied: bool
    added: bool
    nested: bool
    constant: bool


_INDEXING = frozenset({"[", "]", "*", "<<", "+", "-"})


def subscripts(code: Sequence[Token]) -> list[Subscript]:
    """The subscripts of a token stream, in the order they close."""
    found: list[Subscript] = []
    stack: list[tuple[int, int, int, int]] = []  # where it opened; products, sums and subscripts seen until then
    products = sums = inner = 0
    for index, (_, text) in enumerate(code):
        if text not in _INDEXING:
            continue
        if text == "[":
            stack.append((index, products, sums, inner))
        elif text in ("*", "<<"):
            products += 1
        elif text in ("+", "-"):
            sums += 1
        elif stack:
            at, products_then, sums_then, inner_then = stack.pop()
            if at == 0 or not (code[at - 1].kind == "name" or code[at - 1].text in ("]", ")")):
                continue  # a lambda's capture, an attribute
            constant = index == at + 2 and code[at + 1].kind == "number"
            found.append(Subscript(at, products > products_then, sums > sums_then, inner > inner_then, constant))
            inner += 1
    return found


def named_integers(code: Sequence[Token]) -> dict[str, int]:
    """Names bound to integer literals: `constexpr int TILE = 64;`, `#define TILE 64`."""
    found: dict[str, int] = {}
    for index, (kind, text) in enumerate(code):
        if kind == "directive":
            words = text[1:].split()
            if len(words) == 3 and words[0] == "define" and (value := integer(words[2])) is not None:
                found[words[1]] = value
        elif text == "=" and index >= 2 and _is(code, index + 2, ";") and code[index - 1].kind == "name":
            value = integer(code[index + 1].text)
            if value is not None and any(t.text in ("const", "constexpr") for t in code[max(0, index - 5) : index]):
                found[code[index - 1].text] = value
    return found


def local_arrays(code: Sequence[Token], types: frozenset[str], named: Mapping[str, int]) -> list[int]:
    """Item counts of arrays declared with a known size: `float tile[8][TILE];` gives 8 * TILE."""
    found: list[int] = []
    for index, (_, before) in enumerate(code, start=1):
        if before not in types or not _is(code, index + 1, "[") or code[index].kind != "name":
            continue
        items, at = 1, index + 1
        while _is(code, at, "[") and _is(code, at + 2, "]"):
            text = code[at + 1].text
            items *= max(1, min(integer(text) or named.get(text, 1), 1 << 20))
            at += 3
            if items > 1 << 40:
                break
        if at > index + 1:
            found.append(items)
    return found


def repeated_statements(code: Sequence[Token]) -> int:
    """How many statements have the same operators in the same order as the one before: unrolling by hand."""
    repeated = 0
    shape: list[str] = []
    last: list[str] = []
    for kind, text in code:
        if kind != "mark":
            continue
        if text in (";", "{", "}"):
            repeated += len(shape) > 1 and shape == last
            if shape:
                last, shape = shape, []
        else:
            shape.append(text)
    return repeated


def _is(code: Sequence[Token], index: int, text: str) -> bool:
    return index < len(code) and code[index].text == text
