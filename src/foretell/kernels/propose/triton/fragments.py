"""Text that the Triton templates share: the head of a source, blocks of statements, lane orders, misspelt words."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import indent

from foretell.kernels.propose.template import Knobs

HEAD = "import torch\nimport triton\nimport triton.language as tl\n\n\n"
MULTIPROCESSORS = 132

_MISSPELT = (("tl.sum(", "tl.total("), ("tl.max(", "tl.maxi("), ("tl.program_id(", "tl.program_index("))


def block(statements: Iterable[str], depth: int = 1) -> str:
    """The statements, one below the other, indented by `depth` steps."""
    return indent("\n".join(line for line in statements if line), "    " * depth)


def nested(head: str, statements: Iterable[str]) -> str:
    """A statement with a body: `head` and the statements below it."""
    return f"{head}\n{block(statements)}"


def lanes(knobs: Knobs, size: str = "B") -> str:
    """Offsets 0 to size - 1: neighbouring lanes side by side (`near`) or a chunk apart (`far`)."""
    if knobs["lanes"] == "near":
        return f"tl.arange(0, {size})"
    return f"tl.arange(0, {size}) % 32 * ({size} // 32) + tl.arange(0, {size}) // 32"


def load(pointer: str, mask: str, other: str = "0.0") -> str:
    """A load; without a mask where `mask` is empty."""
    return f"tl.load({pointer}, mask={mask}, other={other})" if mask else f"tl.load({pointer})"


def source(body: str, slip: str = "none") -> str:
    """The whole module; with `undefined`, the first known function that it calls is called by a name that is none."""
    if slip == "undefined":
        for word, wrong in _MISSPELT:
            if word in body:
                return HEAD + body.replace(word, wrong, 1)
        raise ValueError("the source calls none of the functions whose names can be misspelt")
    return HEAD + body
