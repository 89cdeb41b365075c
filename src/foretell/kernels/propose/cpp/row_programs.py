"""C++ templates of operations on rows: order of the loops, partial folds, kind of exponential, threads, usual mistakes.

One machine renders them all: an operation is a table of forms, each some passes of folds over a row and what is written
at the end. In a form `$x` is the item of the array x at hand, `$x_first` the first one of its row, `EXP(` and `LOG(`
the chosen kind of function and `LAST` the chosen way to divide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial

from foretell.kernels.propose.cpp.fragments import (
    EXPONENTIALS,
    SCHEDULES,
    Fold,
    fold_loop,
    parallel_for,
    schedule_fits,
    tidy,
)
from foretell.kernels.propose.template import Knobs

_HEADER = "#include <algorithm>\n#include <cfloat>\n#include <cmath>\n#include <cstdint>\n#include <numeric>\n"

_LOG_POLY = """
static inline float log_poly(float v) {
    union { float f; int32_t i; } bits;
    bits.f = v;
    const int32_t e = (bits.i - 0x3f3504f3) >> 23;
    bits.i -= e * 8388608;
    const float m = bits.f - 1.0f;
    float p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    return m + m * m * (m * p - 0.5f) + (float)e * 0.69314718f;
}
"""

_EXP_CALLS = {"libm": "std::exp(", "double": "std::exp((double)"}
_LOG_CALLS = {
    "libm": "std::log(",
    "double": "std::log((double)",
    "poly": "log_poly(",
    "binary": "0.69314718f * std::log2(",
}
EXP = ("libm", "double", "coarse", "poly", "rounded", "flushed")
LOG = ("libm", "double", "binary", "poly")
_VARIED = ("libm", "rounded", "poly")
_BAND = 64


@dataclass(frozen=True)
class Pass:
    """One pass over a row: numbers folded by name, each from an item, and statements worked out from them."""

    folds: Mapping[str, str]
    op: str = "sum"
    then: str = ""


@dataclass(frozen=True)
class Form:
    """One way to compute a row: `before` all passes, the passes or a `text` instead of them, and the value written."""

    finish: str
    passes: tuple[Pass, ...] = ()
    text: Callable[[Knobs], str] | None = None
    before: str = ""
    helper: str = ""

    @property
    def serial(self) -> bool:
        return not self.passes


@dataclass(frozen=True)
class Operation:
    """A task with its inputs, forms (the first one plainest), wrong forms as `slips` and the knobs of its own."""

    task: str
    inputs: tuple[str, ...]
    forms: Mapping[str, Form]
    slips: Mapping[str, Form]
    maths: tuple[str, ...] = ("libm",)
    lasts: Mapping[str, tuple[str, str]] = field(default_factory=lambda: {"plain": ("", "")})
    whole_rows: bool = False

    @cached_property
    def knobs(self) -> dict[str, tuple[object, ...]]:
        return {
            "order": ("rows", "grouped", "tiles", "columns", "inner"),
            "form": tuple(self.forms),
            "style": ("plain", "simd", 4, 8, 16, 32),
            "block": (64, 512),
            "scalar": ("float", "double"),
            "math": self.maths,
            "last": tuple(self.lasts),
            "buffer": ("none", "private", "shared"),
            "ahead": (0, 128, 512),
            "threads": ("one", "all"),
            "schedule": SCHEDULES,
            "slip": ("none", "tail", "name", "clause", *self.slips),
        }


def _first(op: Operation, knobs: Knobs, *names: str) -> bool:
    return all(knobs[name] == op.knobs[name][0] for name in names)


def _slip_valid(op: Operation, knobs: Knobs) -> bool:
    """Mistakes stand in otherwise sound programs."""
    slip, order, style, every = knobs["slip"], knobs["order"], knobs["style"], knobs["threads"] == "all"
    if not _first(op, knobs, "form", "scalar", "buffer", "ahead", "schedule", "last"):
        return False
    if len(op.maths) > 1 and knobs["math"] != op.maths[-1 if slip == "tail" else 0]:
        return False
    if slip == "clause":
        return bool(
            every and style == "plain" and (order == "columns" or (order == "inner" and _first(op, knobs, "block")))
        )
    if not _first(op, knobs, "block") or order not in ("rows", "grouped"):
        return False
    if slip == "tail":
        return style in ((8, 16) if order == "rows" else (4, 8))
    if order == "grouped":
        return False
    if slip == "name":
        return bool(every and style in ("plain", "simd"))
    return style in (("plain",) if op.slips[slip].serial else ("simd", 8))


def valid(op: Operation, knobs: Knobs) -> bool:
    if not schedule_fits(knobs):
        return False
    if knobs["slip"] != "none":
        return _slip_valid(op, knobs)
    order, style, math, ahead = knobs["order"], knobs["style"], knobs["math"], knobs["ahead"]
    form, every, single = op.forms[knobs["form"]], knobs["threads"] == "all", knobs["scalar"] == "float"
    plain_form, plain_schedule, plain_last = (_first(op, knobs, name) for name in ("form", "schedule", "last"))
    heavy = len(op.maths) > 1
    blocked = order in ("tiles", "columns") or knobs["form"] == "blocked"
    if not blocked and not _first(op, knobs, "block"):
        return False
    if math == "coarse" and not (order == "rows" and plain_form and style == "simd" and plain_schedule and plain_last):
        return False
    if heavy and not single:
        return False
    if heavy and math == "double" and not (order == "rows" and style in ("plain", 8) and plain_schedule and plain_last):
        return False
    if ahead and not (order == "rows" and plain_form and single and plain_last and style in ("plain", "simd", 8, 16)):
        return False
    if ahead and (heavy or not plain_schedule):
        return False
    if knobs["buffer"] != "none":
        sound = order == "rows" and plain_form and single and plain_last and plain_schedule and not ahead
        return bool(sound and style in ("plain", "simd", 8) and math in ("libm", op.maths[-1]))
    if not plain_last and "LAST" not in form.finish:
        return False
    if not plain_last and not (order == "rows" and style in ("plain", "simd", 8) and single and plain_schedule):
        return False
    if form.serial:
        if order != "rows" or not single:
            return False
        if knobs["form"] == "blocked":
            return bool(style in ("simd", 8) and math != "double" and plain_schedule)
        return bool(style == "plain" and (plain_schedule or not heavy))
    if order == "rows":
        if plain_form:
            return not heavy or bool(style != 4 and (plain_schedule or (style in ("simd", 16) and math in _VARIED)))
        return bool(style in ("plain", "simd", 8, 32) and plain_schedule and (single or style == "plain"))
    if heavy and math not in ("libm", op.maths[-1]):
        return False
    if order == "grouped":
        return bool(style in (4, 8, 16) and (plain_form or (single and plain_schedule)))
    if order == "tiles":
        return bool(
            plain_form and plain_schedule and style in ("plain", "simd", 8, 16) and (single or style == "plain")
        )
    if order == "columns":
        return bool(style == "plain" and single and plain_schedule and plain_form)
    return bool(every and plain_schedule and plain_form and style in ("plain", "simd"))


def _fill(text: str, row: str, j: str) -> str:
    """The text with its tokens replaced: items of the row named by a pointer (`row` empty) or by its number."""

    def load(found: re.Match[str]) -> str:
        name = found[1]
        if name.endswith("_first"):
            return f"{name.removesuffix('_first')}[{row or 'i'} * cols]"
        return f"{name}[{row} * cols + {j}]" if row else f"{name}_row[{j}]"

    return re.sub(r"\$(\w+)", load, text)


def _folds(one: Pass, knobs: Knobs, row: str = "", source: str = "") -> list[Fold]:
    """The folds of a pass; the first one takes its items from the array `source`, if named."""
    folds = [
        Fold(name, partial(_fill, item, row), op=one.op, scalar=knobs["scalar"]) for name, item in one.folds.items()
    ]
    if source:
        folds[0] = Fold(folds[0].into, lambda j: f"{source}[{j}]", op=one.op, scalar=knobs["scalar"])
    return folds


def _declared(one: Pass, knobs: Knobs) -> str:
    start = "0" if one.op == "sum" else "-INFINITY"
    return f"{knobs['scalar']} {', '.join(f'{name} = {start}' for name in one.folds)};"


def _pointers(op: Operation, shift: str = "") -> str:
    names = " ".join(f"const float* {name}_row = {name} + i * cols{shift};" for name in op.inputs)
    return names + (f" float* out_row = out + i * cols{shift};" if op.whole_rows else "")


def _row(op: Operation, form: Form, knobs: Knobs) -> str:
    """The statements for row i, one pass after the other."""
    style, tail = knobs["style"], "dropped" if knobs["slip"] == "tail" else "full"
    count = "width" if knobs["slip"] == "name" else "cols"
    ahead = knobs["ahead"]
    also = " ".join(f"__builtin_prefetch({name}_row + j + {ahead});" for name in op.inputs) if ahead else ""
    lines = [_pointers(op), _fill(form.before, "", "j")]
    if form.text:
        lines.append(_fill(form.text(knobs), "", "j"))
    for one in form.passes:
        source = "terms" if knobs["buffer"] != "none" and one is form.passes[-1] else ""
        if source:
            item = _fill(next(iter(one.folds.values())), "", "j")
            lines.append(f"for (int64_t j = 0; j < cols; ++j) terms[j] = {item};")
        loop = fold_loop(_folds(one, knobs, source=source), style, count, tail, also)
        lines += [_declared(one, knobs), loop, one.then]
    before, last = op.lasts[knobs["last"]]
    value = form.finish.replace("LAST", last)
    if op.whole_rows:
        write = f"for (int64_t j = 0; j < cols; ++j) {_fill(f'$out = {value}', '', 'j')};"
    else:
        write = f"out[i] = {_fill(value, '', 'j')};"
    if knobs["buffer"] == "private":
        lines, write = ["float* terms = new float[cols];", *lines], f"{write}\n        delete[] terms;"
    return "\n        ".join((*lines, before, write))


def _rows(op: Operation, form: Form, knobs: Knobs) -> str:
    shared = knobs["buffer"] == "shared"
    return f"""{"float* terms = new float[cols];" if shared else ""}
    {parallel_for(knobs["threads"], knobs["schedule"])}for (int64_t i = 0; i < rows; ++i) {{
        {_row(op, form, knobs)}
    }}
    {"delete[] terms;" if shared else ""}"""


def _known(form: Form, knobs: Knobs, turn: int, spot: str, row: str) -> str:
    """Statements that fetch what the passes before number `turn` left for this row."""
    lines = [_fill(form.before, row, "j")]
    for one in form.passes[:turn]:
        lines += [f"const {knobs['scalar']} {name} = {name}_of[{spot}];" for name in one.folds]
        lines.append(one.then)
    return " ".join(line for line in lines if line)


def _steps(one: Pass, knobs: Knobs, spot: str, row: str) -> str:
    return " ".join(fold.step(f"{fold.into}_of[{spot}]", fold.value("j")) for fold in _folds(one, knobs, row))


def _write(op: Operation, form: Form, knobs: Knobs, row: str) -> str:
    before, last = op.lasts[knobs["last"]]
    value = form.finish.replace("LAST", last)
    if op.whole_rows:
        return f"{before} for (int64_t j = 0; j < cols; ++j) {_fill(f'$out = {value}', row, 'j')};"
    return f"{before} out[{row}] = {_fill(value, row, 'j')};"


def _state(form: Form, knobs: Knobs, height: int) -> str:
    """Arrays for what the passes fold, an entry for each of `height` rows."""
    names = [(name, one.op) for one in form.passes for name in one.folds]
    starts = " ".join(f"{name}_of[l] = {'0' if kind == 'sum' else '-INFINITY'};" for name, kind in names)
    return f"""{knobs["scalar"]} {", ".join(f"{name}_of[{height}]" for name, _ in names)};
        for (int l = 0; l < {height}; ++l) {{ {starts} }}"""


def _grouped(op: Operation, form: Form, knobs: Knobs) -> str:
    """Several rows side by side."""
    size, row = knobs["style"], "(i + l)"
    group = f"for (int l = 0; l < {size}; ++l)"
    passes = "\n        ".join(
        f"for (int64_t j = 0; j < cols; ++j)\n            {group} {{ {_known(form, knobs, turn, 'l', row)} "
        f"{_steps(one, knobs, 'l', row)} }}"
        for turn, one in enumerate(form.passes)
    )
    rest = f"""for (int64_t i = rows - rows % {size}; i < rows; ++i) {{
        {_row(op, form, {**knobs, "style": "plain"})}
    }}"""
    schedule = parallel_for(knobs["threads"], knobs["schedule"])
    return f"""{schedule}for (int64_t i = 0; i < rows - rows % {size}; i += {size}) {{
        {_state(form, knobs, size)}
        {passes}
        {group} {{ {_known(form, knobs, len(form.passes), "l", row)} {_write(op, form, knobs, "(i + l)")} }}
    }}
    {"" if knobs["slip"] == "tail" else rest}"""


def _banded(op: Operation, form: Form, knobs: Knobs) -> str:
    """Bands of rows: each crossed column by column, or tile by tile."""
    tiled = knobs["order"] == "tiles"
    height = _BAND if tiled else knobs["block"]
    block, spot = knobs["block"], "i - low"
    band = "for (int64_t i = low; i < high; ++i)"
    passes = []
    for turn, one in enumerate(form.passes):
        known = _known(form, knobs, turn, spot, "i")
        if tiled:
            folds = _folds(one, knobs)
            merged = " ".join(fold.step(f"{fold.into}_of[{spot}]", fold.into) for fold in folds)
            passes.append(f"""for (int64_t start = 0; start < cols; start += {block}) {{
            const int64_t width = std::min<int64_t>({block}, cols - start);
            {band} {{
            {_pointers(op, " + start")}
            {known}
            {_declared(one, knobs)}
            {fold_loop(folds, knobs["style"], count="width")}
            {merged}
            }}
        }}""")
        else:
            split = "#pragma omp parallel for\n        " if knobs["slip"] == "clause" else ""
            steps = _steps(one, knobs, spot, "i")
            passes.append(f"{split}for (int64_t j = 0; j < cols; ++j)\n            {band} {{ {known} {steps} }}")
    known = _known(form, knobs, len(form.passes), spot, "i")
    outer = "" if knobs["slip"] == "clause" else parallel_for(knobs["threads"], knobs["schedule"])
    lines = "\n        ".join(passes)
    return f"""{outer}for (int64_t low = 0; low < rows; low += {height}) {{
        const int64_t high = std::min<int64_t>(low + {height}, rows);
        {_state(form, knobs, height)}
        {lines}
        {band} {{ {known} {_write(op, form, knobs, "i")} }}
    }}"""


def _inner(op: Operation, form: Form, knobs: Knobs) -> str:
    """One row at a time, its columns shared among the threads."""
    simd = "simd " if knobs["style"] == "simd" else ""
    lines = [_pointers(op), _fill(form.before, "", "j")]
    for one in form.passes:
        folds = _folds(one, knobs)
        clauses = "" if knobs["slip"] == "clause" else " ".join(fold.clause for fold in folds)
        steps = " ".join(fold.step(fold.into, fold.value("j")) for fold in folds)
        lines += [
            _declared(one, knobs),
            f"#pragma omp parallel for {simd}{clauses} if (cols >= 1024)",
            f"for (int64_t j = 0; j < cols; ++j) {{ {steps} }}",
            one.then,
        ]
    lines.append(_write(op, form, knobs, "i"))
    body = "\n        ".join(lines)
    return f"for (int64_t i = 0; i < rows; ++i) {{\n        {body}\n    }}"


_ORDERS: Mapping[str, Callable[[Operation, Form, Knobs], str]] = {
    "rows": _rows,
    "grouped": _grouped,
    "tiles": _banded,
    "columns": _banded,
    "inner": _inner,
}


def render(op: Operation, knobs: Knobs) -> str:
    form = op.slips.get(knobs["slip"], op.forms[knobs["form"]])
    body = _ORDERS[knobs["order"]](op, form, knobs)
    math = knobs["math"]
    helper = form.helper
    if "LOG(" in body:
        helper += _LOG_POLY if math == "poly" else ""
    elif "EXP(" in body:
        helper += EXPONENTIALS.get(math, "")
    body = body.replace("LOG(", _LOG_CALLS.get(math, "")).replace("EXP(", _EXP_CALLS.get(math, "exp_poly("))
    arguments = ", ".join(f"const float* __restrict__ {name}" for name in op.inputs)
    return tidy(f"""{_HEADER}{helper}
extern "C" void kernel({arguments}, float* __restrict__ out, int64_t rows, int64_t cols) {{
    {body}
}}
""")
