"""CUDA programs on rows with several inputs and outputs: a group of threads folds a row, then writes; mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from foretell.kernels.propose.cuda.fragments import BOUNDED, MAX, SUM, WARP, constants, fold, module
from foretell.kernels.propose.cuda.streams import PACK, TYPES, Given
from foretell.kernels.propose.template import Knobs, Template

_RESIDENT_BLOCKS = 528
_HELD = 128
_GROUPS = {"warp": WARP, "part": 8}
_KNOBS: dict[str, tuple[Any, ...]] = {
    "layout": ("block", "warp", "part", "persistent"),
    "threads": (256, 128, 512, 1024),
    "vector": (1, 2, 4, 8),
    "keep": ("reread", "registers"),
    "fold": ("shuffle", "twice", "tree", "atomic"),
    "unroll": (1, 4),
}
_SLIPS = ("none", "narrow", "barrier", "floor", "misnamed")


@dataclass(frozen=True)
class Sweep:
    """One pass over a row: sums (or, where `most`, maxima) of values under their names, and statements after it."""

    folds: Mapping[str, str]
    after: str
    most: bool = False


@dataclass(frozen=True)
class Span:
    """What differs between operations on rows.

    `value` finds `v` from `NAME_v` of the inputs `main`; sweeps and stores see it, and `NAME_v` of the inputs `late`
    only in the stores. `made` allocates an output: `written` maps those of elements to their values, `marked` those
    with one number a row. `sweeps` and `written` depend on the knobs.
    """

    task: str
    main: tuple[Given, ...]
    late: tuple[Given, ...]
    made: Mapping[str, tuple[str, str]]
    sweeps: Callable[[Knobs], tuple[Sweep, ...]]
    written: Callable[[Knobs], Mapping[str, str]]
    longest: int
    forms: tuple[str, ...]
    slips: tuple[str, ...]
    value: str = "x_v"
    marked: Mapping[str, str] | None = None
    rows: str = "x.shape[0]"
    cols: str = "x.shape[1]"
    scalars: tuple[tuple[str, str], ...] = ()
    head: str = ""


def span_template(span: Span) -> Template:
    knobs = {**_KNOBS, "form": ("plain", *span.forms), "slip": (*_SLIPS, *span.slips)}
    return Template(span.task, "cuda", knobs, lambda chosen: _render(span, chosen), _valid(span))


def _group(knobs: Knobs) -> int:
    return _GROUPS.get(knobs["layout"], int(knobs["threads"]))


def _valid(span: Span) -> Callable[[Knobs], bool]:
    def valid(knobs: Knobs) -> bool:
        layout, threads, vector, slip = knobs["layout"], knobs["threads"], knobs["vector"], knobs["slip"]
        if knobs["keep"] == "registers" and max(span.longest // _group(knobs), 1) > _HELD:
            return False
        if (layout == "part" and threads > 256) or (layout == "warp" and threads > 512):
            return False
        if layout == "persistent" and threads not in (256, 512):
            return False
        if threads == 1024 and vector == 8:
            return False
        usual = threads in (128, 256) and layout in ("block", "warp") and vector in (1, 4)
        held = knobs["keep"] == "registers"
        if knobs["fold"] != "shuffle" and not (threads == 256 and layout == "block" and vector in (1, 4) and not held):
            return False
        if knobs["unroll"] > 1 and not (usual and not held and knobs["fold"] == "shuffle" and slip == "none"):
            return False
        if knobs["form"] != "plain" and not (usual and knobs["fold"] == "shuffle" and knobs["unroll"] == 1):
            return False
        if slip == "none":
            return True
        if not usual or held or knobs["form"] != "plain" or threads == 128:
            return False
        if slip == "barrier":
            return bool(layout == "block" and knobs["fold"] in ("shuffle", "tree"))
        if slip == "floor" and layout == "warp" and span.longest <= WARP * 4:
            return False
        return bool(knobs["fold"] == "shuffle" and (slip != "misnamed" or layout == "block"))

    return valid


def _pass(
    knobs: Knobs, inputs: tuple[Given, ...], do: str, kept: str = "", stores: Mapping[str, str] | None = None
) -> str:
    """A loop over the row; `kept` is how `v` is found; `stores` maps outputs to (type, value) as text `type|value`."""
    lines, values, made, filled, put = "", "", "", "", ""
    for given in inputs:
        if given.at:
            values += f"const float {given.name}_v = {given.name}[{given.at}];\n"
            continue
        kind = f"const Pack<{TYPES[given.dtype]}, W>"
        lines += f"{kind} pack_{given.name} = *reinterpret_cast<{kind}*>({given.name} + i);\n"
        values += f"const float {given.name}_v = pack_{given.name}.v[k];\n"
    for name, text in (stores or {}).items():
        kind, _, value = text.partition("|")
        made += f"Pack<{kind}, W> q_{name};\n"
        filled += f"q_{name}.v[k] = static_cast<{kind}>({value});\n"
        put += f"*reinterpret_cast<Pack<{kind}, W>*>({name} + i) = q_{name};\n"
    column = "const int j = i + k;\n" if re.search(r"\bj\b", values + do) else ""
    if knobs["keep"] == "registers":
        head = "#pragma unroll\nfor (int s = 0; s < STEPS; ++s) {\n"
        head += "const int i = (s * GROUP + lane) * W;\nif (i < cols) {\n"
        tail = "}\n}\n"
    elif knobs["slip"] == "floor":
        head = "for (int s = 0; s < cols / (GROUP * W); ++s) {\nconst int i = (s * GROUP + lane) * W;\n"
        tail = "}\n"
    else:
        pragma = f"#pragma unroll {knobs['unroll']}\n" if knobs["unroll"] > 1 else ""
        head, tail = f"{pragma}for (int i = lane * W; i < cols; i += GROUP * W) {{\n", "}\n"
    inner = f"#pragma unroll\nfor (int k = 0; k < W; ++k) {{\n{column}{values}{kept}{do}{filled}}}\n"
    return f"{head}{lines}{made}{inner}{put}{tail}"


def _body(span: Span, knobs: Knobs) -> str:
    held = knobs["keep"] == "registers"
    fresh = f"const float v = {span.value};\n"
    again = "const float v = kept[s * W + k];\n"
    text = "constexpr int STEPS = (CAPACITY + GROUP * W - 1) / (GROUP * W);\nfloat kept[STEPS * W];\n" if held else ""
    for number, sweep in enumerate(span.sweeps(knobs)):
        first = number == 0 or not held
        do = ""
        for name, value in sweep.folds.items():
            text += f"float {name} = 0.0f;\n"
            do += f"{name} = fmaxf({name}, {value});\n" if sweep.most else f"{name} += {value};\n"
        found = fresh + ("kept[s * W + k] = v;\n" if held else "") if first else again
        text += _pass(knobs, span.main if first else (), do, found)
        folded = "fold_max" if sweep.most else "fold_sum"
        text += "".join(f"{name} = {folded}({name});\n" for name in sweep.folds) + sweep.after
    stores = {name: f"{TYPES[span.made[name][0]]}|{value}" for name, value in span.written(knobs).items()}
    text += _pass(knobs, ((() if held else span.main) + span.late), "", again if held else fresh, stores)
    marks = "".join(f"{name}[row] = {value};\n" for name, value in (span.marked or {}).items())
    return text + (f"if (lane == 0) {{\n{marks}}}\n" if marks else "")


def _render(span: Span, knobs: Knobs) -> str:
    threads, width, slip = knobs["threads"], _group(knobs), knobs["slip"]
    per_block = threads // width
    numbers = {"THREADS": threads, "GROUP": width, "V": knobs["vector"]}
    if knobs["keep"] == "registers":
        numbers["CAPACITY"] = span.longest
    inputs = (*span.main, *span.late)
    most = any(sweep.most for sweep in span.sweeps(knobs))
    text = span.head + constants(**numbers) + PACK + fold(MAX if most else SUM, knobs["fold"], width, slip)
    sizes = "".join(f", int {name}" for name, _ in span.scalars)
    starred = [f"const {TYPES[given.dtype]}* __restrict__ {given.name}" for given in inputs]
    starred += [f"{TYPES[dtype]}* __restrict__ {name}" for name, (dtype, _) in span.made.items()]
    given = ", ".join([*(each.name for each in inputs), *span.made])
    moved = [each.name for each in inputs if not each.at and each.name not in ("gamma", "beta")]
    moved += [name for name in span.made if name not in (span.marked or {})]
    offsets = "".join(f"{name} += (long long)row * cols;\n" for name in moved)
    text += f"template <int W> __device__ void one_row({', '.join(starred)}, int row, int cols, int lane{sizes}) {{\n"
    text += f"{offsets}{_body(span, knobs)}}}\n"
    passed = f"({given}, row, {'columns' if slip == 'misnamed' else 'cols'}, lane"
    passed += "".join(f", {name}" for name, _ in span.scalars) + ");"
    call = f"if (cols % V == 0) one_row<V>{passed}\nelse one_row<1>{passed}\n"
    if knobs["vector"] == 1:
        call = f"one_row<1>{passed}\n"
    lane, first = "threadIdx.x", "blockIdx.x"
    if per_block > 1:
        lane, first = "threadIdx.x % GROUP", "blockIdx.x * (THREADS / GROUP) + threadIdx.x / GROUP"
    if knobs["layout"] == "persistent":
        call = f"for (int row = blockIdx.x; row < rows; row += gridDim.x) {{\n{call}}}\n"
    else:
        # A warp that holds several rows must stay whole for its shuffles: threads past the last row repeat it.
        past = "if (row >= rows) row = rows - 1;" if width < WARP else "if (row >= rows) return;"
        call = f"int row = {first};\n{past}\n{call}"
    text += f"{BOUNDED}({', '.join(starred)}, int rows, int cols{sizes}) {{\nconst int lane = {lane};\n{call}}}\n"
    grid = f"math.ceil(rows / {per_block})" if per_block > 1 else "rows"
    if knobs["layout"] == "persistent":
        grid = f"min(rows, {_RESIDENT_BLOCKS})"
    names = ", ".join(each.name for each in inputs)
    host = f"def kernel({names}):\n    rows, cols = {span.rows}, {span.cols}\n"
    host += "".join(f"    {name} = {value}\n" for name, (_, value) in span.made.items())
    numbers_given = ", ".join(["rows", "cols", *(value for _, value in span.scalars)])
    host += (
        f"    program.body(({grid},), ({threads},), ({given}, {numbers_given}))\n    return {', '.join(span.made)}\n"
    )
    return module(text, host, tuple(each.dtype for each in inputs))
