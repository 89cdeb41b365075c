"""Knobs of C, C++ and CUDA text: named constants, launch shapes, launch bounds, unroll factors."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from foretell.kernels.propose.knobs.arithmetic import bytes_of, evaluate
from foretell.kernels.propose.knobs.findings import Findings
from foretell.kernels.propose.knobs.kinds import Kind, kind_of
from foretell.kernels.propose.knobs.space import Setting, Site

MOST_THREADS = 1024
STATIC_SHARED_BYTES = 48 << 10
_NUMBER = r"\d+[uUlL]*\b(?!\.)"
_TYPE = r"(?:unsigned\s+int|unsigned|int|size_t|int32_t|uint32_t|int64_t|long\s+long|long|auto)"
_DEFINE = re.compile(
    rf"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(?:\([ \t]*)?({_NUMBER})(?:[ \t]*\))?[ \t]*$", re.MULTILINE
)
_DEFINE_EXPRESSION = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+(\S[^\n]*)$", re.MULTILINE)
_DECLARATION = re.compile(rf"\b{_TYPE}\s+(?=\w+\s*=)")
_DECLARATOR = re.compile(r"\s*(\w+)\s*=\s*([^,;=]+?)\s*([,;])")
_DEFAULT = re.compile(rf"\b{_TYPE}\s+(\w+)\s*=\s*({_NUMBER})(?=\s*[,>])")
_LAUNCH = re.compile(r"<<<(?P<shape>[^;]*?)>>>")
_DIM3 = re.compile(r"\bdim3\s+(\w+)\s*[({]([^;(){}]*)[)}]\s*;")
_TEMPLATE_ARGUMENTS = re.compile(r"(\w+)\s*<([^<>;(){}]*)>\s*$")
_BOUNDS = re.compile(r"__launch_bounds__\s*\(([^()]*)\)")
_UNROLL = re.compile(r"#[ \t]*pragma[ \t]+unroll[ \t]*\(?[ \t]*(\d+)\b")
_SHARED = re.compile(
    r"__shared__\s+(?:__align__\s*\([^)]*\)\s*|alignas\s*\([^)]*\)\s*)?([\w:]+)\s+"
    r"(\w+(?:\[[^\]]*\])+(?:\s*,\s*\w+(?:\[[^\]]*\])+)*)\s*;"
)
_ARRAY = re.compile(r"\w+((?:\[[^\]]*\])+)")
_ROUNDED_UP = re.compile(r"\+\s*(\d+)\s*\)\s*/\s*(\d+)\b")
_MASKED = re.compile(
    r"""//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*(?:"|$)|'(?:\\.|[^'\\\n])+(?:'|$)"""
    r"""|^[ \t]*\#[ \t]*if[ \t]+0[ \t]*$.*?^[ \t]*\#[ \t]*(?:endif|else|elif)""",
    re.DOTALL | re.MULTILINE,
)


def masked(text: str) -> str:
    """The text with comments, strings and what `#if 0` leaves out as blanks: every offset stays."""
    return _MASKED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


@dataclass
class CText:
    """One piece of C text within a source: `start` is its offset there."""

    start: int
    text: str  # masked
    blocks: list[tuple[str, ...]] = field(default_factory=list)  # sizes of the blocks that are launched


def find(source: str, pieces: list[tuple[int, int]], findings: Findings) -> None:
    """Add the knobs of the C text at these spans of a source."""
    texts = [CText(start, masked(source[start:end])) for start, end in pieces]
    definitions = {name: value for text in texts for name, value in _definitions(text.text)}
    launched = {sizes[0] for text in texts for sizes in _block_sizes(text) if len(sizes) == 1}
    for text in texts:
        for name, start, end in _constants(text.text):
            value = _integer(text.text[start:end])
            kind = Kind.THREADS if name in launched and "warp" not in name.lower() else kind_of(name)
            if value is None or kind is None or value < 1 or _is_counter(name, text.text, start):
                continue
            findings.add(name, kind, value, [_site(text, start, end), *_linked(text, value, kind)])
        _literals(text, findings)
        _bounds(text, findings)
        for match in _UNROLL.finditer(text.text):
            findings.add("unroll", Kind.UNROLL, int(match[1]), [_site(text, *match.span(1))])
    for text in texts:
        for sizes in text.blocks:
            findings.limit((), partial(_fits_block, sizes, definitions))
        shared = [(bytes_of(m[1]), a[1]) for m in _SHARED.finditer(text.text) for a in _ARRAY.finditer(m[2])]
        if shared:
            findings.limit((), partial(_fits_shared, shared, definitions))


def _integer(text: str) -> int | None:
    """The value of a decimal literal, with or without a suffix."""
    plain = text.rstrip("uUlL")
    return int(plain) if plain.isdecimal() and len(plain) < 10 else None


def _site(text: CText, start: int, end: int, offset: int = 0) -> Site:
    return Site(text.start + start, text.start + end, offset=offset)


def _definitions(text: str) -> Iterator[tuple[str, str]]:
    """Every constant with the text of its value."""
    for match in _DEFINE_EXPRESSION.finditer(text):
        yield match[1], match[2]
    for name, expression, _ in _declared(text):
        yield name, expression


def _declared(text: str) -> Iterator[tuple[str, str, int]]:
    """Declared integers: name, text of the value and its offset."""
    for match in _DECLARATION.finditer(text):
        at = match.end()
        while (one := _DECLARATOR.match(text, at)) is not None:
            yield one[1], one[2], one.start(2)
            if one[3] == ";":
                break
            at = one.end()


def _constants(text: str) -> Iterator[tuple[str, int, int]]:
    """Named constants with a number: name and span of the number."""
    for match in _DEFINE.finditer(text):
        yield match[1], match.start(2), match.end(2)
    for name, expression, at in _declared(text):
        if re.fullmatch(_NUMBER, expression):
            yield name, at, at + len(expression)
    for match in _DEFAULT.finditer(text):
        yield match[1], match.start(2), match.end(2)


def _is_counter(name: str, text: str, at: int) -> bool:
    """Whether a variable is counted up or assigned anew: `int block = 0; block < n; ++block`."""
    head = text[:at]
    declared = re.search(rf"(const|constexpr|define|<|,)?[^;{{}}()\n]*\b{re.escape(name)}\s*=?\s*\(?\s*$", head[-160:])
    if declared is not None and declared[1] in ("const", "constexpr", "define"):
        return False
    changed = rf"(?:\+\+|--)\s*{re.escape(name)}\b|\b{re.escape(name)}\s*(?:\+\+|--|[-+*/|&]=|>>=|<<=|=(?!=))"
    return len(re.findall(changed, text)) > 1


def _block_sizes(text: CText) -> list[tuple[str, ...]]:
    """The sizes of the blocks of all launches, as expressions; kept in `text.blocks`."""
    shapes = {match[1]: tuple(part.strip() for part in match[2].split(",")) for match in _DIM3.finditer(text.text)}
    for match in _LAUNCH.finditer(text.text):
        parts = _split(match["shape"])
        if len(parts) < 2:
            continue
        block = parts[1].strip()
        direct = re.fullmatch(r"dim3\s*\((.*)\)", block, re.DOTALL)
        sizes = shapes.get(block) or tuple(part.strip() for part in _split(direct[1] if direct else block))
        text.blocks.append(sizes)
    return text.blocks


def _split(text: str) -> list[str]:
    """Parts between the commas that are in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{<") - (character in ")]}>")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _linked(text: CText, value: int, kind: Kind) -> list[Site]:
    """Numbers without a name that go with a thread count: array sizes, bounds, and `(n + 255) / 256`."""
    if kind is not Kind.THREADS:
        return []
    sites = []
    for match in _ROUNDED_UP.finditer(text.text):
        if int(match[2]) == value and int(match[1]) == value - 1:
            sites += [_site(text, *match.span(1), offset=-1), _site(text, *match.span(2))]
    for match in _SHARED.finditer(text.text):
        for number in re.finditer(rf"\[\s*({value})\s*\]", match[0]):
            sites.append(_site(text, match.start() + number.start(1), match.start() + number.end(1)))
    for match in _BOUNDS.finditer(text.text):
        if (bound := re.match(rf"\s*({value})\s*(?:,|$)", match[1])) is not None:
            sites.append(_site(text, match.start(1) + bound.start(1), match.start(1) + bound.end(1)))
    return sites


def _literals(text: CText, findings: Findings) -> None:
    """Numbers in launches: the block size, the sizes of a `dim3` block, and template arguments."""
    blocks = set()
    kernels: dict[str, list[re.Match[str]]] = {}
    for match in _LAUNCH.finditer(text.text):
        parts = _split(match["shape"])
        if len(parts) < 2:
            continue
        blocks.add(parts[1].strip())
        start = match.start("shape") + len(parts[0]) + 1
        number = re.match(rf"\s*({_NUMBER})\s*$", parts[1])
        if number is not None and (value := _integer(number[1])) is not None:
            site = _site(text, start + number.start(1), start + number.end(1))
            findings.add("threads", Kind.THREADS, value, [site, *_linked(text, value, Kind.THREADS)])
        arguments = _TEMPLATE_ARGUMENTS.search(text.text, max(0, match.start() - 160), match.start())
        if arguments is not None:
            kernels.setdefault(arguments[1], []).append(arguments)
    for match in _DIM3.finditer(text.text):
        if match[1] in blocks:
            _shape(text, match, findings)
    for name, launches in kernels.items():
        if len({launch[2] for launch in launches}) == 1:  # several: a choice by size, each made for its own
            _template_arguments(text, name, launches, findings)


def _shape(text: CText, match: re.Match[str], findings: Findings) -> None:
    at = match.start(2)
    for axis, part in zip("xyz", match[2].split(","), strict=False):
        number = re.fullmatch(rf"\s*({_NUMBER})\s*", part)
        value = _integer(number[1]) if number is not None else None
        if number is not None and value is not None and value > 1:
            single = "," not in match[2]
            site = _site(text, at + number.start(1), at + number.end(1))
            linked = _linked(text, value, Kind.THREADS) if single else []
            findings.add(match[1] if single else f"{match[1]}.{axis}", Kind.THREADS if single else Kind.TILE, value,
                         [site, *linked])  # fmt: skip
        at += len(part) + 1


def _template_arguments(text: CText, name: str, launches: list[re.Match[str]], findings: Findings) -> None:
    parameters = _template_parameters(text.text, name)
    at = 0
    for number, part in enumerate(launches[0][2].split(",")):
        value = _integer(part.strip())
        parameter = parameters[number] if number < len(parameters) else ""
        kind = kind_of(parameter) if parameter else None
        if value is not None and kind is not None and value >= 1:
            lead = len(part) - len(part.lstrip())
            sites = [
                _site(text, one.start(2) + at + lead, one.start(2) + at + lead + len(part.strip())) for one in launches
            ]
            findings.add(parameter, kind, value, [*sites, *_linked(text, value, kind)])
        at += len(part) + 1


def _template_parameters(text: str, name: str) -> list[str]:
    """The names of the parameters of a kernel template."""
    found = re.search(rf"template\s*<([^<>]*)>[^;{{}}]*?\b{re.escape(name)}\s*\(", text)
    if found is None:
        return []
    return [(re.findall(r"\w+", part.partition("=")[0]) or [""])[-1] for part in found[1].split(",")]


def _bounds(text: CText, findings: Findings) -> None:
    """The least number of blocks per multiprocessor, which says how many registers a thread may have."""
    for match in _BOUNDS.finditer(text.text):
        parts = match[1].split(",")
        if len(parts) == 1:
            end = text.start + match.end(1)
            site = Site(end, end, before=", ")
            findings.add("min_blocks", Kind.OCCUPANCY, 0, [site])
        elif len(parts) == 2 and (value := _integer(parts[1].strip())) is not None:
            at = match.start(1) + len(parts[0]) + 1 + len(parts[1]) - len(parts[1].lstrip())
            values = tuple(sorted({1, 2, 3, 4, 6, 8, value}))
            findings.add("min_blocks", Kind.OCCUPANCY, value, [_site(text, at, at + len(parts[1].strip()))], values)


def _fits_block(sizes: tuple[str, ...], definitions: dict[str, str], setting: Setting) -> bool:
    """At most 1024 threads, in whole warps as far as that can be told."""
    total = 1
    for size in sizes:
        value = evaluate(size, definitions, setting)
        if value is None:
            return True
        total *= value
    return 32 <= total <= MOST_THREADS and total % 32 == 0


def _fits_shared(shared: list[tuple[int, str]], definitions: dict[str, str], setting: Setting) -> bool:
    """Whether the largest array in shared memory fits; what cannot be told fits."""
    for width, dimensions in shared:
        total = width
        for dimension in re.findall(r"\[([^\]]*)\]", dimensions):
            total *= evaluate(dimension, definitions, setting) or 0
        if total > STATIC_SHARED_BYTES:
            return False
    return True
