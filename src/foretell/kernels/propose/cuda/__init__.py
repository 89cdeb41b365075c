"""Templates in `cuda`, one module per family, each with a tuple `TEMPLATES`; `_FAMILIES` registers them."""

from __future__ import annotations

from functools import cache

from foretell.kernels.propose.template import Template, load_templates

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
    return load_templates(__name__, _FAMILIES)
