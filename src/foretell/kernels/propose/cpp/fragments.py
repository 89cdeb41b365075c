"""Pieces of C++ that several templates share. Rendered sources carry no comments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HEADER = "#include <algorithm>\n#include <cmath>\n#include <cstdint>\n"

SCHEDULES = ("static", "dynamic, 1", "static, 16")

_EXP_SERIES = """\
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    union { int32_t i; float f; } scale;
    scale.i = ((int)n + 127) << 23;
"""

FAST_EXP = f"""
static inline float exp_poly(float v) {{
    v = v < -87.0f ? -87.0f : (v > 88.0f ? 88.0f : v);
    float t = v * 1.44269504f;
    float n = t >= 0.0f ? (float)(int)(t + 0.5f) : (float)(int)(t - 0.5f);
    float r = (v - n * 0.693359375f) + n * 2.12194440e-4f;
{_EXP_SERIES}    return p * scale.f;
}}
"""

# No arithmetic stands under a condition, so the compiler may turn this one into vector code at strict floating point.
ROUNDED_EXP = f"""
static inline float exp_poly(float v) {{
    v = v < -87.0f ? -87.0f : v;
    v = v > 88.0f ? 88.0f : v;
    const float n = (v * 1.44269504f + 12582912.0f) - 12582912.0f;
    const float r = (v - n * 0.693359375f) + n * 2.12194440e-4f;
{_EXP_SERIES}    return p * scale.f;
}}
"""

# Far below zero the result is exactly zero, not a number so small that later arithmetic leaves the normal range.
FLUSHED_EXP = f"""
static inline float exp_poly(float v) {{
    const float given = v;
    v = v < -80.0f ? -80.0f : v;
    v = v > 88.0f ? 88.0f : v;
    const float n = (v * 1.44269504f + 12582912.0f) - 12582912.0f;
    const float r = (v - n * 0.693359375f) + n * 2.12194440e-4f;
{_EXP_SERIES}    const float e = p * scale.f;
    return given < -80.0f ? 0.0f : e;
}}
"""

COARSE_EXP = """
static inline float exp_poly(float v) {
    float t = 1.0f + v * 0.00390625f;
    t *= t; t *= t; t *= t; t *= t;
    t *= t; t *= t; t *= t; t *= t;
    return t;
}
"""

EXPONENTIALS: Mapping[str, str] = {
    "libm": "",
    "poly": FAST_EXP,
    "rounded": ROUNDED_EXP,
    "flushed": FLUSHED_EXP,
    "coarse": COARSE_EXP,
}


def parallel_for(threads: str, schedule: str = "static") -> str:
    """The OpenMP line before an outer loop: `threads` is `one` or `all`."""
    return "" if threads == "one" else f"#pragma omp parallel for schedule({schedule})\n    "


def schedule_fits(knobs: Mapping[str, Any]) -> bool:
    """A schedule other than the plainest makes sense with several threads only."""
    return bool(knobs["threads"] == "all" or knobs["schedule"] == SCHEDULES[0])


@dataclass(frozen=True)
class Fold:
    """One accumulator of a reduction loop: the variable `into` gathers `value(j)` by `op` (`sum` or `max`)."""

    into: str
    value: Callable[[str], str]
    op: str = "sum"
    scalar: str = "float"

    def step(self, target: str, value: str) -> str:
        if self.op == "sum":
            return f"{target} += {value};"
        return f"{{ const {self.scalar} v = {value}; {target} = v > {target} ? v : {target}; }}"

    @property
    def start(self) -> str:
        return "0" if self.op == "sum" else "-INFINITY"

    @property
    def clause(self) -> str:
        return f"reduction({'+' if self.op == 'sum' else 'max'}:{self.into})"


def fold_loop(folds: Sequence[Fold], style: str | int, count: str = "cols", tail: str = "full", also: str = "") -> str:
    """A loop over j < `count` that feeds every fold.

    `style` is `plain`, `simd` (an OpenMP simd reduction) or a number of independent partial accumulators;
    with the latter, `tail="dropped"` leaves out what does not fill a whole group. The statement `also` is
    executed once for each turn of the main loop.
    """
    plain = " ".join(fold.step(fold.into, fold.value("j")) for fold in folds)
    if isinstance(style, str):
        pragma = f"#pragma omp simd {' '.join(fold.clause for fold in folds)}" if style == "simd" else ""
        return f"""{{
            {pragma}
            for (int64_t j = 0; j < {count}; ++j) {{ {also} {plain} }}
        }}"""
    declare = " ".join(f"{fold.scalar} {fold.into}_part[{style}];" for fold in folds)
    start = " ".join(f"{fold.into}_part[l] = {fold.start};" for fold in folds)
    lane = " ".join(fold.step(f"{fold.into}_part[l]", fold.value("j + l")) for fold in folds)
    combine = " ".join(fold.step(fold.into, f"{fold.into}_part[l]") for fold in folds)
    rest = "" if tail == "dropped" else f"for (; j < {count}; ++j) {{ {plain} }}"
    return f"""{{
            {declare}
            for (int l = 0; l < {style}; ++l) {{ {start} }}
            int64_t j = 0;
            for (; j + {style} <= {count}; j += {style}) {{
                {also}
                for (int l = 0; l < {style}; ++l) {{ {lane} }}
            }}
            {rest}
            for (int l = 0; l < {style}; ++l) {{ {combine} }}
        }}"""


def tidy(source: str) -> str:
    """The source without the blank lines that unused parts of a template leave behind."""
    return "\n".join(line for line in source.splitlines() if line.strip()) + "\n"
