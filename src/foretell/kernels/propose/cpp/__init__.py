"""C++ templates: a module for each family of the library, each with a tuple `TEMPLATES`."""

from __future__ import annotations

from functools import cache

from foretell.kernels.library import FAMILIES
from foretell.kernels.propose.template import Template, load_templates


@cache
def templates() -> dict[str, Template]:
    """The C++ template of each task that has one, by task name."""
    return load_templates(__name__, FAMILIES)
