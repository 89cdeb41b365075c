"""CUDA templates of the argreductions along rows: packed keys, value and place, early stops; mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cuda.fragments import Fold
from foretell.kernels.propose.cuda.rows import ROW_KNOBS, RowProgram, plain, render_rows, row_valid, sweep
from foretell.kernels.propose.template import Knobs, Template

_THRESHOLD = "0.9990234375f"
_NOWHERE = "0x7fffffff"
_KNOBS = {**ROW_KNOBS, "keep": ("reread",), "unroll": (1, 4), "form": ("plain",)}
_KEY = Fold(
    "fold_key",
    "unsigned long long",
    "~0ull",
    "v = other < v ? other : v;",
    "atomicMin(&all, v);",
    "unsigned long long",
    "~0ull",
)
_LEAST = Fold("fold_least", "int", _NOWHERE, "v = min(v, other);", "atomicMin(&all, v);", "int", _NOWHERE)


def _valid(knobs: Knobs) -> bool:
    if not row_valid({**knobs, "unroll": 1}) or (not plain(knobs, "slip") and knobs["form"] != "plain"):
        return False
    if not plain(knobs, "slip", "fold") and knobs["unroll"] > 1:
        return False
    if knobs["form"] == "warp" and (knobs["layout"] in ("part", "thread") or knobs["unroll"] > 1):
        return False
    return not (knobs["unroll"] > 1 and (knobs["threads"] not in (256, 512) or knobs["layout"] == "thread"))


def _argmin_passes(knobs: Knobs) -> str:
    place = "0xffffffffu - (unsigned){}" if knobs["slip"] == "last" else "(unsigned){}"
    encode = """const unsigned bits = __float_as_uint({});
    const unsigned order = bits >> 31 ? ~bits : bits | 0x80000000u;
    const unsigned long long key = (unsigned long long)order << 32 | ({});"""
    if knobs["form"] == "plain":
        each = encode.format("v", place.format("j")) + "\nbest = key < best ? key : best;"
        text = f"unsigned long long best = ~0ull;\n{sweep(knobs, 'from', each)}best = fold_key(best);\n"
    else:
        each = "if (v < low) {\nlow = v;\nat = j;\n}"
        if knobs["form"] == "select":
            each = "at = v < low ? j : at;\nlow = fminf(low, v);"
        text = f"float low = 3.4e38f;\nint at = {_NOWHERE};\n{sweep(knobs, 'from', each)}"
        text += encode.format("low", place.format("at")) + "\nconst unsigned long long best = fold_key(key);\n"
    return text + f"if (lane == 0) *to = {place.format('best')};\n"


def _first_passes(knobs: Knobs) -> str:
    form = knobs["form"]
    each = f"if (v > {_THRESHOLD}) at = {'j' if knobs['slip'] == 'last' else 'min(at, j)'};"
    if form == "select":
        each = f"at = min(at, v > {_THRESHOLD} ? j : {_NOWHERE});"
    elif form == "warp":
        shared = "at = __reduce_min_sync(__activemask(), at);"
        each += f"\nif (k == W - 1) {shared}" if knobs["vector"] > 1 else f"\n{shared}"
    text = sweep(knobs, "from", each)
    if form in ("stop", "warp"):
        text = text.replace("i < cols;", "i < cols && i < at;")
    found = f"int at = {_NOWHERE};\n{text}at = fold_least(at);\n"
    return found + f"if (lane == 0) *to = at < cols ? at : {'cols' if knobs['slip'] == 'absent' else '0'};\n"


_ARGMIN = RowProgram(("x",), "float32", 0, (_KEY,), _argmin_passes, out="long long", row_out=False)
_FIRST = RowProgram(("x",), "float32", 0, (_LEAST,), _first_passes, out="long long", row_out=False)


def _template(task: str, program: RowProgram, forms: tuple[str, ...], slips: tuple[str, ...]) -> Template:
    common = tuple(slip for slip in _KNOBS["slip"] if slip != "reuse")
    knobs = {**_KNOBS, "form": ("plain", *forms), "slip": (*common, *slips)}
    return Template(task, "cuda", knobs, lambda chosen: render_rows(program, chosen), _valid)


TEMPLATES = (
    _template("argmin", _ARGMIN, ("two", "select"), ("last",)),
    _template("first_above", _FIRST, ("stop", "select", "warp"), ("last", "absent")),
)
