"""Templates in `cuda`, one module per family, each with a tuple `TEMPLATES`; `_FAMILIES` registers them."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from foretell.kernels.propose.template import Template

_FAMILIES = (
    "softmax",
    "normalisation",
    "reduction",
    "matmul",
    "elementwise",
    "layout",
    "gather",
    "scan",
    "stencil",
    "histogram",
)


@cache
def templates() -> dict[str, Template]:
    """The template of each task that has one, by task name."""
    found: dict[str, Template] = {}
    for family in _FAMILIES:
        for template in import_module(f"foretell.kernels.propose.cuda.{family}").TEMPLATES:
            found[template.task] = template
    return found
