"""Templates in `triton`, one module per family, each with a tuple `TEMPLATES`; modules without one are shared parts."""

from __future__ import annotations

from functools import cache

from foretell.kernels.propose.template import Template, load_templates


@cache
def templates() -> dict[str, Template]:
    """The template of each task that has one, by task name."""
    return load_templates(__name__)
