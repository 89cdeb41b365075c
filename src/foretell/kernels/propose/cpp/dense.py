"""What the templates over dense arrays share: which knobs a scheme uses, threads, vector types, shortened floats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from foretell.kernels.propose.template import Knobs

HEADER = "#include <algorithm>\n#include <cstdint>\n#include <cstring>\n"

NARROW = """
static inline float narrow(float v) {
    uint32_t u;
    std::memcpy(&u, &v, 4);
    u &= 0xffff0000u;
    std::memcpy(&v, &u, 4);
    return v;
}
"""

Rules = Mapping[str, Callable[[Knobs], bool]]


def vector_type(width: int) -> str:
    """A type `vec` of `width` floats that the compiler keeps in registers."""
    return f"\ntypedef float vec __attribute__((vector_size({4 * width})));\n"


def parallel(knobs: Knobs) -> str:
    """The OpenMP line before the outermost loop: `threads` is `one`, `all` or `pairs` (two loops collapsed).

    The slip `twice` forgets that the loop is to be shared out, so that every thread runs all of it.
    """
    if knobs["slip"] == "twice":
        return "#pragma omp parallel\n    "
    more = {"one": None, "all": "", "pairs": "collapse(2) "}[knobs["threads"]]
    return "" if more is None else f"#pragma omp parallel for {more}schedule(static)\n    "


def fits(knobs: Knobs, values: Mapping[str, tuple[Any, ...]], uses: Mapping[str, set[str]], rules: Rules) -> bool:
    """Whether a combination makes sense: knobs that its scheme does not use are at their plainest value, and the
    scheme's and the slip's rules hold. `rules` is keyed by scheme and by slip.
    """
    used = {"scheme", "slip", *uses[knobs["scheme"]]}
    if any(knobs[name] != options[0] for name, options in values.items() if name not in used):
        return False
    return rules[knobs["scheme"]](knobs) and (knobs["slip"] == "none" or rules[knobs["slip"]](knobs))
