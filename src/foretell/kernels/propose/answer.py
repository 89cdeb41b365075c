"""Reading a program that a language model wrote: a whole file or a patch, strictly. Pure.

An answer holds exactly one block of code between fences (three or more backticks or tildes); prose and a model's
thinking may stand around it. Whatever could be understood in two ways is a misreading with its kind, never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from foretell.kernels.propose.patch import Unapplied, apply_patch, is_patch

MAX_CHARACTERS = 200_000  # no honest answer is longer
PATCH_WORDS = ("diff", "patch", "udiff")

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}+|~{3,}+)\s*+(?P<word>[\w+.-]*+)[^`]*+")


@dataclass(frozen=True)
class Written:
    """A program; `form` is how it was given: `file` or `patch`."""

    source: str
    form: str


@dataclass(frozen=True)
class Unusable:
    """No program, and why: `kind` is for counting, `message` can be shown to the model that is to try again."""

    kind: str
    message: str


def read(text: str, parent: str, form: str = "either") -> Written | Unusable:
    """The program in an answer; patches are of the source `parent`. Takes time linear in the length of the answer.

    `form` is what was asked for: `file`, `patch` or `either`.
    """
    if len(text) > MAX_CHARACTERS:
        return Unusable("too_long", f"the answer has {len(text)} characters; give at most {MAX_CHARACTERS}")
    block = _block(text.rpartition("</think>")[2])  # drafts while thinking are no answers
    if isinstance(block, Unusable):
        return block
    word, code = block
    if not _sound(code):
        return Unusable("not_text", "the code holds characters that no source text can hold")
    if word in PATCH_WORDS or is_patch(code):
        if form == "file":
            return Unusable("off_form", "a whole file was asked for, not a patch")
        patched = apply_patch(parent, code)
        if isinstance(patched, Unapplied):
            return Unusable(f"patch_{patched.kind.value}", f"the patch cannot be applied: {patched.message}")
        return Written(patched, "patch") if patched.strip() else Unusable("no_code", "the patch removes everything")
    if form == "patch":
        return Unusable("off_form", "a unified diff was asked for, between fences that say diff")
    return Written(code, "file")


def _block(text: str) -> tuple[str, str] | Unusable:
    """The one block between fences: what its opening fence says, and its lines."""
    found: dict[tuple[str, str], None] = {}
    mark, word, lines = "", "", list[str]()
    for line in text.replace("\r\n", "\n").split("\n"):
        fence = _FENCE.fullmatch(line)
        if not mark:
            if fence is not None:
                mark, word, lines = fence["mark"], fence["word"].lower(), []
        elif fence is not None and not fence["word"] and fence["mark"].startswith(mark):
            if any(part.strip() for part in lines):
                found[(word, "\n".join(lines) + "\n")] = None
            mark = ""
        else:
            lines.append(line)
    if mark:
        return Unusable("cut_off", "a block of code is not closed: the answer was cut off, so write less around it")
    if len(found) > 1:
        return Unusable("two_answers", f"there are {len(found)} blocks of code; give exactly one")
    if not found:
        return Unusable("no_code", "there is no block of code between lines of three backticks")
    return next(iter(found))


def _sound(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
