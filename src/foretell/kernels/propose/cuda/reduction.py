"""CUDA templates of the reduction family: sums along rows and columns, and the place of a row's maximum."""

from __future__ import annotations

from foretell.kernels.propose.cuda.column_sum import COLUMN_SUM
from foretell.kernels.propose.cuda.fragments import SUM, Fold
from foretell.kernels.propose.cuda.rows import ROW_KNOBS, RowProgram, plain, render_rows, row_valid, sweep
from foretell.kernels.propose.template import Knobs, Template

_SUM_KNOBS = {
    **ROW_KNOBS,
    "keep": ("reread",),
    "unroll": (1, 2, 4, 8),
    "partials": (1, 2, 4),
    "scalar": ("float", "double", "int"),
}
_ARGMAX_KNOBS = {
    **ROW_KNOBS,
    "keep": ("reread",),
    "unroll": (1, 4),
    "pair": ("key", "two"),
    "tie": ("first", "last"),
}
_KEY = Fold(
    "fold_key",
    "unsigned long long",
    "0ull",
    "v = other > v ? other : v;",
    "atomicMax(&all, v);",
    "unsigned long long",
    "0ull",
)


def _sum_valid(knobs: Knobs) -> bool:
    unroll, partials, scalar = knobs["unroll"], knobs["partials"], knobs["scalar"]
    if not row_valid({**knobs, "unroll": 1}):
        return False
    odd = not plain(knobs, "slip") or not plain(knobs, "fold")
    if odd and (unroll > 1 or partials > 1 or scalar != "float"):
        return False
    if unroll > 1 and not (knobs["threads"] in (128, 256, 512) and knobs["layout"] != "thread" and scalar == "float"):
        return False
    if unroll == 2 and knobs["threads"] != 256:
        return False
    if partials > 1 and not (knobs["vector"] == 4 and unroll == 1 and scalar == "float"):
        return False
    if scalar == "int":
        return bool(knobs["threads"] == 256 and knobs["vector"] == 1 and knobs["layout"] in ("block", "warp"))
    return bool(scalar == "float" or (knobs["threads"] == 256 and knobs["layout"] in ("block", "warp", "thread")))


def _sum_passes(knobs: Knobs, square: bool = False) -> str:
    item, root = ("v * v", "sqrtf(total)") if square else ("v", "total")
    partials, scalar = knobs["partials"], knobs["scalar"]
    if partials > 1:
        zeros = ", ".join(["0.0f"] * partials)
        joined = " + ".join(f"sums[{i}]" for i in range(partials))
        text = f"""float sums[{partials}] = {{{zeros}}};
        {sweep(knobs, "from", f"sums[k % {partials}] += {item};")}
        const float total = fold_sum({joined});
        """
    else:
        text = (
            f"{scalar} sum = 0;\n{sweep(knobs, 'from', f'sum += {item};')}const float total = fold_sum((float)sum);\n"
        )
    return text + f"if (lane == 0) *to = {root};\n"


def _argmax_valid(knobs: Knobs) -> bool:
    unroll = knobs["unroll"]
    if not row_valid({**knobs, "unroll": 1}):
        return False
    if knobs["slip"] in ("narrow", "reuse") and knobs["pair"] == "two":
        return False
    odd = not plain(knobs, "slip") or not plain(knobs, "fold")
    if odd and (unroll > 1 or (knobs["pair"] == "two" and knobs["slip"] != "none")):
        return False
    if knobs["tie"] == "last":
        sound = plain(knobs, "slip", "fold", "unroll", "threads") and knobs["layout"] in ("block", "warp")
        return bool(sound and knobs["vector"] in (1, 4))
    return not (unroll > 1 and (knobs["threads"] not in (256, 512) or knobs["layout"] == "thread"))


def _argmax_passes(knobs: Knobs) -> str:
    last = knobs["tie"] == "last"
    place = "(unsigned)j" if last else "0xffffffffu - (unsigned)j"
    encode = f"""const unsigned bits = __float_as_uint(BEST);
    const unsigned order = bits >> 31 ? ~bits : bits | 0x80000000u;
    const unsigned long long key = (unsigned long long)order << 32 | ({place});"""
    if knobs["pair"] == "key":
        each = encode.replace("BEST", "v") + "\nbest = key > best ? key : best;"
        text = f"unsigned long long best = 0ull;\n{sweep(knobs, 'from', each)}best = fold_key(best);\n"
    else:
        each = f"if (v {'>=' if last else '>'} top) {{\ntop = v;\nat = j;\n}}"
        ending = encode.replace("BEST", "top").replace("(unsigned)j", "(unsigned)at")
        text = f"float top = -3.4e38f;\nint at = 0x7fffffff;\n{sweep(knobs, 'from', each)}{ending}\n"
        text += "const unsigned long long best = fold_key(key);\n"
    found = "(unsigned)best" if last else "0xffffffffu - (unsigned)best"
    return text + f"if (lane == 0) *to = {found};\n"


_ROW_SUM = RowProgram(("x",), "float32", 0, (SUM,), _sum_passes, out="float", row_out=False)
_L2NORM = RowProgram(("x",), "float16", 0, (SUM,), lambda k: _sum_passes(k, square=True), out="float", row_out=False)
_ARGMAX = RowProgram(("x",), "float32", 0, (_KEY,), _argmax_passes, out="long long", row_out=False)

TEMPLATES = (
    Template("row_sum", "cuda", _SUM_KNOBS, lambda knobs: render_rows(_ROW_SUM, knobs), _sum_valid),
    Template("row_l2norm", "cuda", _SUM_KNOBS, lambda knobs: render_rows(_L2NORM, knobs), _sum_valid),
    COLUMN_SUM,
    Template("argmax", "cuda", _ARGMAX_KNOBS, lambda knobs: render_rows(_ARGMAX, knobs), _argmax_valid),
)
