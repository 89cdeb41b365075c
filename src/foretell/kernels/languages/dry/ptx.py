"""A tolerant reader of PTX, the compiler's readable output for NVIDIA GPUs: a kernel as basic blocks of instructions.

PTX is what both Triton and NVRTC write before machine code. Everything is kept as text and numbers; what an instruction
does is said elsewhere.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

_COMMENTS = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)  # what looks like one in a string is none
_LINES_WITHOUT_END = re.compile(r"^[ \t]*\.(?:loc|file)\b[^\n]*$", re.MULTILINE)
_BLANKS, _EMPTY_LINES = re.compile(r"[^\S\n]+"), re.compile(r"\n[\s]*")
_STATEMENT = re.compile(r"\s*(?:(?P<label>[$%\w]+):(?!:)|(?P<brace>[{}])|(?P<body>[^;]*);)")
_INSTRUCTION = re.compile(r"(?:@(?P<guard>!?%?[\w$]+)\s+)?(?P<op>[a-z][\w.:]*)\s*(?P<operands>.*)", re.DOTALL)
_OPERANDS = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,{}\[\]\s][^,{}\[\]]*")
_PARAMETER = re.compile(
    r"\.param\s+(?:\.align\s+\d+\s+)?\.(?P<type>\w+)\s+(?:\.ptr\s+[^,)]*?)?(?P<name>[\w$%]+)(?:\[\d+\])?\s*[,)\n]"
)
MOST_STATEMENTS = 100_000  # of a kernel that is read; following more would take minutes
_FUNCTION = re.compile(r"(?:\.extern\s+)?\.func\b\s*(?:\([^)]*\)\s*)?(?P<name>[\w$]+)")
_WORD, _INDIRECT_CALL = re.compile(r"[\w$]+"), re.compile(r"(?<![\w$%.])call\b[^;]*%")
_BEFORE_BODY, _BRACE = re.compile(r"[^{;]*\{"), re.compile(r"[{}]")
_ENDS = ("bra", "ret", "exit", "brx", "trap")


class NotPtx(ValueError):
    """The text holds no kernel of that name."""


@dataclass(frozen=True)
class Instruction:
    """`op` is the operation with all its suffixes; `guard` the predicate in front, with `!` where it is negated."""

    op: str
    parts: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str = ""


@dataclass
class Block:
    """Instructions that run one after the other; `target` is where a branch at the end goes, if there is one."""

    instructions: list[Instruction] = field(default_factory=list)
    branch: Instruction | None = None
    target: int = -1


@dataclass(frozen=True)
class Directive:
    """A statement that is no instruction, such as a declaration of registers."""

    text: str


@dataclass(frozen=True)
class Body:
    """What stands in an entry: its instructions, other statements, and its text up to the brace that closes it.

    `functions` is the text of the functions that it may call, directly or not.
    """

    instructions: tuple[Instruction, ...]
    directives: tuple[str, ...]
    text: str
    functions: str


@dataclass(frozen=True)
class Kernel:
    """An entry: its parameters' names and types in order, and its blocks, each falling through to the next."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    blocks: tuple[Block, ...]


def read_ptx(text: str, name: str) -> Kernel:
    """The kernel of that name; NotPtx where there is none, or it cannot be read."""
    text = plain(text)
    head, start = _head(text, name)
    matches = _PARAMETER.finditer(head["parameters"] or "")
    parameters = tuple((match["name"], match["type"]) for match in matches)
    return Kernel(name, parameters, tuple(_blocks(text, start)))


def body_of(text: str, name: str) -> Body:
    """All statements of the kernel of that name; NotPtx where there is none, or it cannot be read."""
    text = plain(text)
    _, start = _head(text, name)
    instructions, directives, end = [], [], start
    for position, one in _statements(text, start):
        end = position
        if isinstance(one, Instruction):
            instructions.append(one)
        elif isinstance(one, Directive):
            directives.append(one.text)
    own = text[start:end]
    return Body(tuple(instructions), tuple(directives), own, _callable(own, "".join(_outside(text))))


@lru_cache(maxsize=4)
def plain(text: str) -> str:
    """The text without comments, contents of strings, line numbers and needless blanks."""
    text = _COMMENTS.sub(lambda match: '""' if match[0].startswith('"') else " ", text)
    return _EMPTY_LINES.sub("\n", _BLANKS.sub(" ", _LINES_WITHOUT_END.sub("", text)))


def _head(text: str, name: str) -> tuple[re.Match[str], int]:
    """The head of an entry, and where its body begins. What ends before a brace is a declaration."""
    heads = re.finditer(rf"\.entry\s+{re.escape(name)}(?![\w$])\s*(?P<parameters>\([^)]*\))?", text)
    head = next((each for each in heads if _BEFORE_BODY.match(text, each.end())), None)
    if head is None:
        raise NotPtx(f"there is no entry {name} with a body")
    return head, text.index("{", head.end()) + 1


def _callable(text: str, outside: str) -> str:
    """The functions outside of entries that are named in `text` or by each other; all if a call is indirect."""
    heads = list(_FUNCTION.finditer(outside))
    ends = [*(head.start() for head in heads[1:]), len(outside)]
    functions: dict[str, str] = {}
    for head, end in zip(heads, ends, strict=False):
        functions[head["name"]] = functions.get(head["name"], "") + outside[head.start() : end]
    reached: set[str] = set()
    waiting = [text]
    while waiting:
        part = waiting.pop()
        if _INDIRECT_CALL.search(part):
            return outside
        named = functions.keys() & set(_WORD.findall(part)) - reached
        reached |= named
        waiting += [functions[name] for name in named]
    return "".join(functions[name] for name in sorted(reached))


def _outside(text: str) -> Iterator[str]:
    """The parts of a text that are in no entry."""
    at = 0
    for entry in re.finditer(r"\.entry\b", text):
        before = _BEFORE_BODY.match(text, entry.end())
        if entry.start() < at or before is None:
            continue
        yield text[at : entry.start()]
        at, depth = before.end(), 1
        while depth and (brace := _BRACE.search(text, at)):
            depth += 1 if brace[0] == "{" else -1
            at = brace.end()
        if depth:
            return
    yield text[at:]


def _blocks(text: str, at: int) -> list[Block]:
    """Basic blocks up to the brace that closes the body. Labels may repeat in inner braces: the nearest is meant."""
    following = (one for _, one in _statements(text, at) if not isinstance(one, Directive))
    statements = list(itertools.islice(following, MOST_STATEMENTS + 1))
    if len(statements) > MOST_STATEMENTS:
        raise NotPtx(f"it has more than {MOST_STATEMENTS} instructions")
    targets = {one.operands[-1] for one in statements if isinstance(one, Instruction) and _goes(one)}
    blocks = [Block()]
    labels: dict[str, list[int]] = {}
    for one in statements:
        if isinstance(one, str):
            if one in targets:
                if blocks[-1].instructions:
                    blocks.append(Block())
                labels.setdefault(one, []).append(len(blocks) - 1)
        elif one.parts[0] in _ENDS:
            blocks[-1].branch = one
            blocks.append(Block())
        else:
            blocks[-1].instructions.append(one)
    for number, block in enumerate(blocks):
        if block.branch is not None and _goes(block.branch):
            places = labels.get(block.branch.operands[-1], [])
            block.target = min(places, key=lambda place: abs(place - number), default=-1)
    return blocks


def _goes(one: Instruction) -> bool:
    return one.parts[0] == "bra" and bool(one.operands)


def _statements(text: str, at: int) -> Iterator[tuple[int, Instruction | Directive | str]]:
    """Instructions, directives and labels in order, each with the place where it ends."""
    depth = 0
    while depth >= 0:
        match = _STATEMENT.match(text, at)
        if match is None:
            raise NotPtx("the body does not end")
        at = match.end()
        if match["brace"]:
            depth += 1 if match["brace"] == "{" else -1
        elif match["label"] is not None:
            yield at, match["label"]
        elif body := match["body"].strip():
            yield at, _instruction(body) or Directive(body)


def _instruction(body: str) -> Instruction | None:
    match = _INSTRUCTION.match(body)
    if match is None:
        return None
    operands = tuple(o.strip() for o in _OPERANDS.findall(match["operands"]))
    return Instruction(match["op"], tuple(match["op"].split(".")), operands, match["guard"] or "")
