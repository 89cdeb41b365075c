"""CUDA templates of folds of a row to one number: maxima, moments, dot products and losses of pairs of rows; slips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from foretell.kernels.propose.cuda.fragments import MAX, SUM
from foretell.kernels.propose.cuda.rows import ROW_KNOBS, RowProgram, plain, render_rows, row_valid, sweep
from foretell.kernels.propose.template import Knobs, Template

_KNOBS: dict[str, tuple[Any, ...]] = {
    **ROW_KNOBS,
    "keep": ("reread",),
    "unroll": (1, 2, 4, 8),
    "partials": (1, 2, 4),
    "form": ("plain",),
}


@dataclass(frozen=True)
class RowFold:
    """Numbers folded over a row, by name, each the sum (or max) of an item in `v` and `y_v`, and what `finish` makes.

    `forms` are other items or finishes by name; `slips` replace items or the finish by wrong ones.
    """

    task: str
    dtype: str
    items: Mapping[str, str]
    finish: str
    pair: bool = True
    kind: str = "sum"
    out: str = "float"
    before: str = ""
    forms: Mapping[str, tuple[Mapping[str, str], str]] = field(default_factory=dict)
    slips: Mapping[str, tuple[Mapping[str, str], str]] = field(default_factory=dict)


def _valid(knobs: Knobs) -> bool:
    unroll, partials, form = knobs["unroll"], knobs["partials"], knobs["form"]
    if not row_valid({**knobs, "unroll": 1}):
        return False
    if not plain(knobs, "slip", "fold") and (unroll > 1 or partials > 1 or form != "plain"):
        return False
    if unroll > 1 and not (knobs["threads"] in (128, 256, 512) and knobs["layout"] != "thread" and form == "plain"):
        return False
    if unroll == 2 and knobs["threads"] != 256:
        return False
    if partials > 1 and not (knobs["vector"] == 4 and unroll == 1 and form == "plain"):
        return False
    return bool(form == "plain" or (knobs["threads"] in (128, 256) and knobs["layout"] in ("block", "warp", "thread")))


def _passes(op: RowFold, knobs: Knobs) -> str:
    items, finish = op.forms.get(knobs["form"], op.slips.get(knobs["slip"], (op.items, op.finish)))
    partials = knobs["partials"]
    scalar = "double" if knobs["form"] == "double" else "float"
    start = "0" if op.kind == "sum" else "-3.4e38f"
    made, step, joined = "", op.before, ""
    for name, item in items.items():
        spot = f"{name}_in[k % {partials}]" if partials > 1 else f"{name}_in"
        made += f"{scalar} {name}_in[{partials}] = {{{', '.join([start] * partials)}}};\n" if partials > 1 else ""
        made += f"{scalar} {name}_in = {start};\n" if partials == 1 else ""
        step += f"\n{spot} += {item};" if op.kind == "sum" else f"\n{spot} = fmaxf({spot}, {item});"
        whole = f"{name}_in" if partials == 1 else f"{name}_in[0]"
        for other in range(1, partials):
            whole = f"{whole} + {name}_in[{other}]" if op.kind == "sum" else f"fmaxf({whole}, {name}_in[{other}])"
        joined += f"const float {name} = fold_{op.kind}((float)({whole}));\n"
    swept = sweep(knobs, "from", step, also=("y",) if op.pair else ())
    return f"{made}{swept}{joined}if (lane == 0) *to = {op.out}({finish});\n"


def _template(op: RowFold) -> Template:
    program = RowProgram(
        ("x", "y") if op.pair else ("x",),
        op.dtype,
        0,
        (SUM if op.kind == "sum" else MAX,),
        lambda knobs: _passes(op, knobs),
        out=op.out,
        row_out=False,
        matrices=("y",) if op.pair else (),
    )
    doubled = ("double",) if op.kind == "sum" else ()
    slips = tuple(slip for slip in _KNOBS["slip"] if slip != "reuse" or len(op.items) > 1)
    knobs = {**_KNOBS, "form": ("plain", *doubled, *op.forms), "slip": (*slips, *op.slips)}
    return Template(op.task, "cuda", knobs, lambda chosen: render_rows(program, chosen), _valid)


_SQUARES = {"dot": "v * y_v", "squares": "v * v", "others": "y_v * y_v"}
_SPREAD = "(squares - total * total / cols)"
_HUBER = {"total": "(fabsf(v - y_v) <= 1.0f ? 0.5f * (v - y_v) * (v - y_v) : fabsf(v - y_v) - 0.5f)"}
_CLAMPED = {"total": "fminf(fabsf(v - y_v), 1.0f) * (fabsf(v - y_v) - 0.5f * fminf(fabsf(v - y_v), 1.0f))"}
_MEAN = "total / cols"
_OPS = (
    RowFold(
        task="row_max",
        dtype="bfloat16",
        items={"top": "v"},
        finish="top",
        pair=False,
        kind="max",
        out="T",
        forms={
            "ternary": ({"top": "(v > top_in ? v : top_in)"}, "top"),
            "two": ({"even": "(j % 2 ? -3.4e38f : v)", "odd": "(j % 2 ? v : -3.4e38f)"}, "fmaxf(even, odd)"),
        },
        slips={"magnitude": ({"top": "fabsf(v)"}, "top")},
    ),
    RowFold(
        task="row_abs_max",
        dtype="float16",
        items={"top": "fabsf(v)"},
        finish="top",
        pair=False,
        kind="max",
        out="T",
        forms={
            "ends": ({"high": "v", "low": "-v"}, "fmaxf(high, low)"),
            "squared": ({"top": "v * v"}, "sqrtf(top)"),
        },
        slips={"signed": ({"top": "v"}, "top")},
    ),
    RowFold(
        task="row_mean",
        dtype="float16",
        items={"total": "v"},
        finish=_MEAN,
        pair=False,
        forms={"scaled": ({"total": "v / cols"}, "total")},
        slips={"unscaled": ({"total": "v"}, "total")},
    ),
    RowFold(
        task="row_dot",
        dtype="float16",
        items={"total": "v * y_v"},
        finish="total",
        forms={"quarter": ({"total": "((v + y_v) * (v + y_v) - (v - y_v) * (v - y_v)) * 0.25f"}, "total")},
        slips={"same": ({"total": "v * v"}, "total")},
    ),
    RowFold(
        task="kl_div_rows",
        dtype="float16",
        items={"total": "y_v * (logf(y_v) - v)"},
        finish="total",
        forms={
            "fast": ({"total": "y_v * (__logf(y_v) - v)"}, "total"),
            "apart": ({"entropy": "y_v * logf(y_v)", "cross": "y_v * v"}, "entropy - cross"),
        },
        slips={"sign": ({"total": "y_v * (v - logf(y_v))"}, "total")},
    ),
    RowFold(
        task="huber_rows",
        dtype="float32",
        items=_HUBER,
        finish=_MEAN,
        forms={"clamped": (_CLAMPED, _MEAN)},
        slips={"square": ({"total": "0.5f * (v - y_v) * (v - y_v)"}, _MEAN)},
    ),
    RowFold(
        task="bce_logits_rows",
        dtype="bfloat16",
        items={"total": "fmaxf(v, 0.0f) - v * y_v + log1pf(expf(-fabsf(v)))"},
        finish=_MEAN,
        forms={"fast": ({"total": "fmaxf(v, 0.0f) - v * y_v + __logf(1.0f + __expf(-fabsf(v)))"}, _MEAN)},
        slips={"overflow": ({"total": "logf(1.0f + expf(v)) - v * y_v"}, _MEAN)},
    ),
    RowFold(
        task="cosine_similarity_rows",
        dtype="float16",
        items=_SQUARES,
        finish="dot / (sqrtf(fmaxf(squares, 1e-16f)) * sqrtf(fmaxf(others, 1e-16f)))",
        forms={"inverse": (_SQUARES, "dot * (rsqrtf(fmaxf(squares, 1e-16f)) * rsqrtf(fmaxf(others, 1e-16f)))")},
        slips={"unrooted": (_SQUARES, "dot / (squares * others)")},
    ),
    RowFold(
        task="row_var",
        dtype="float32",
        items={"total": "v", "squares": "v * v"},
        finish=f"{_SPREAD} / (cols - 1)",
        pair=False,
        forms={"shifted": ({"total": "(v - 0.5f)", "squares": "(v - 0.5f) * (v - 0.5f)"}, f"{_SPREAD} / (cols - 1)")},
        slips={"biased": ({"total": "v", "squares": "v * v"}, f"{_SPREAD} / cols")},
    ),
)

TEMPLATES = tuple(_template(op) for op in _OPS)
