"""Triton templates of the row reductions: how rows are shared out, accumulator per lane or row, its width; slips."""

from __future__ import annotations

from dataclasses import replace

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.row_splits import (
    JOIN_EXPONENTIALS,
    NEGATIVE,
    ONLINE,
    Split,
    row_template,
    split_of,
)
from foretell.kernels.propose.triton.rows import ROW_KNOBS, Fold, Online, Phase, RowOp, row_source, row_valid

_WIDE = ".to(tl.float32)"


def _width(knobs: Knobs) -> str:
    if knobs["slip"] == "narrow":
        return "tl.float16"
    return "tl.float64" if knobs["form"] == "double" else "tl.float32"


def _row_sum(knobs: Knobs) -> str:
    op = RowOp(
        inputs=("x",),
        outputs=(("out", "torch.empty(rows, dtype=x.dtype, device=x.device)"),),
        loads=(("v", "x + at", "0.0", ""),),
        phases=(Phase((Fold("total", "v", dtype=_width(knobs)),)),),
        row_stores=(("out + r", "total / n_cols" if knobs["slip"] == "mean" else "total"),),
    )
    return row_source(op, knobs)


def _row_l2norm(knobs: Knobs) -> str:
    total = Fold("total", "v * v", dtype=_width(knobs))
    phases: tuple[Phase, ...] = (Phase((total,)),)
    value = "total" if knobs["slip"] == "squared" else "tl.sqrt(total)"
    if knobs["form"] == "scaled":
        peak = Phase((Fold("peak", "tl.abs(v)", "max"),), ("inverse = 1.0 / tl.maximum(peak, 1e-20)",))
        phases = (peak, Phase((Fold("total", "v * inverse * (v * inverse)"),)))
        value = "peak * tl.sqrt(total)"
    op = RowOp(
        inputs=("x",),
        outputs=(("out", "torch.empty(rows, dtype=torch.float32, device=x.device)"),),
        loads=(("v", "x + at", "0.0", _WIDE),),
        phases=phases,
        row_stores=(("out + r", value),),
    )
    return row_source(op, knobs)


def _argmax(knobs: Knobs) -> str:
    last = knobs["slip"] == "last"
    better = ">=" if last else ">"
    spot = "spot" if knobs["slip"] == "local" else "spot + start"
    by_value = "tl.min(tl.where(v == top, c, n_cols), AXIS)KEEP"
    if last:
        by_value = "tl.max(tl.where(v == top, c, 0), AXIS)KEEP"
    if knobs["form"] == "plain" and knobs["lanes"] == "near" and not last:
        once: tuple[str, ...] = ("place = tl.argmax(v, AXIS)KEEP",)
    else:
        once = ("top = tl.max(v, AXIS)KEEP", f"place = {by_value}")
    if knobs["carry"] == "scalar":
        step: tuple[str, ...] = (
            "peak = tl.max(v, 0)",
            f"spot = {'tl.min(tl.where(v == peak, c, n_cols), 0)' if knobs['lanes'] == 'far' else 'tl.argmax(v, 0)'}",
            f"place = tl.where(peak > top, {spot if knobs['lanes'] == 'near' else 'spot'}, place)",
            "top = tl.maximum(top, peak)",
        )
        fold = Online(('top = -float("inf")', "place = 0"), step, (), once)
    else:
        kept = "c - start" if knobs["slip"] == "local" else "c"
        start = ('best = tl.full(SHAPE, -float("inf"), tl.float32)', "seen = tl.full(SHAPE, 0, tl.int32)")
        step = (
            f"better = v {better} best",
            f"seen = tl.where(better, {kept}, seen)",
            "best = tl.where(better, v, best)",
        )
        if knobs["form"] == "packed":
            step = (f"seen = tl.where(v {better} best, {kept}, seen)", "best = tl.maximum(best, v)")
        close = ("top = tl.max(best, AXIS)KEEP", "place = tl.min(tl.where(best == top, seen, n_cols), AXIS)KEEP")
        fold = Online(start, step, close, once)
    op = RowOp(
        inputs=("x",),
        outputs=(("out", "torch.empty(rows, dtype=torch.int64, device=x.device)"),),
        loads=(("v", "x + at", '-float("inf")', ""),),
        phases=(Phase((fold,)),),
        row_stores=(("out + r", "place"),),
    )
    return row_source(op, knobs)


def _argmax_valid(knobs: Knobs) -> bool:
    return row_valid(knobs) and not (knobs["slip"] == "local" and knobs["shape"] != "loop")


def _fold_op(phases: tuple[Phase, ...], value: str, other: str = "0.0", dtype: str = "torch.float32") -> RowOp:
    return RowOp(
        inputs=("x",),
        outputs=(("out", f"torch.empty(rows, dtype={dtype}, device=x.device)"),),
        loads=(("v", "x + at", other, _WIDE),),
        phases=phases,
        row_stores=(("out + r", value),),
    )


def _row_max(knobs: Knobs) -> tuple[RowOp, Split]:
    dtype = "tl.bfloat16" if knobs["form"] == "native" else "tl.float32"
    item = {"magnitude": "tl.abs(v)", "low": "-v"}.get(knobs["slip"], "v")
    phase = Phase((Fold("top", item, "max", dtype),))
    if knobs["form"] == "halves":
        even, odd = (f"tl.where(c % 2 == {side}, {item}, {NEGATIVE})" for side in (0, 1))
        phase = Phase((Fold("even", even, "max"), Fold("odd", odd, "max")), ("top = tl.maximum(even, odd)",))
    return _fold_op((phase,), "top", NEGATIVE, "x.dtype"), split_of(phase)


def _row_abs_max(knobs: Knobs) -> tuple[RowOp, Split]:
    dtype = "tl.float16" if knobs["form"] == "native" else "tl.float32"
    phase = Phase((Fold("top", "v" if knobs["slip"] == "signed" else "tl.abs(v)", "max", dtype),))
    if knobs["form"] == "ends":
        phase = Phase((Fold("high", "v", "max"), Fold("low", "-v", "max")), ("top = tl.maximum(high, low)",))
    elif knobs["slip"] == "summed":
        phase = Phase((Fold("top", "tl.abs(v)"),))
    return _fold_op((phase,), "top", dtype="x.dtype"), split_of(phase)


def _row_mean(knobs: Knobs) -> tuple[RowOp, Split]:
    value = {"unscaled": "total", "crossed": "total / n_rows"}.get(knobs["slip"], "total / n_cols")
    phase = Phase((Fold("total", "v", dtype=_width(knobs)),))
    if knobs["form"] == "scaled":
        phase, value = Phase((Fold("total", "v / n_cols"),)), "total"
    return _fold_op((phase,), value), split_of(phase, value)


def _row_var(knobs: Knobs) -> tuple[RowOp, Split]:
    less = "n_cols" if knobs["slip"] == "biased" else "(n_cols - 1)"
    centred = Fold("spread", "tl.where(inside, (v - mean) * (v - mean), 0.0)")
    moments = Phase((Fold("total", "v"), Fold("squares", "v * v")), ("spread = squares - total * total / n_cols",))
    value = f"tl.sqrt(spread / {less})" if knobs["slip"] == "root" else f"spread / {less}"
    phases: tuple[Phase, ...] = (Phase((Fold("total", "v"),), ("mean = total / n_cols",)), Phase((centred,)))
    if knobs["form"] == "moments":
        phases = (moments,)
    elif knobs["form"] == "shifted":
        phases = (Phase((Fold("total", "d"), Fold("squares", "d * d")), moments.after),)
    op = _fold_op(phases, value)
    if knobs["form"] == "shifted":
        op = replace(op, values=("d = tl.where(inside, v - 0.5, 0.0)",))
    return op, split_of(moments)


def _row_logsumexp(knobs: Knobs) -> tuple[RowOp, Split]:
    form, slip = knobs["form"], knobs["slip"]
    exp, log = ("tl.exp2", "tl.log2") if form == "base2" else ("tl.exp", "tl.log")
    phases: tuple[Phase, ...] = (Phase((Fold("peak", "v", "max"),)), Phase((Fold("total", f"{exp}(v - peak)"),)))
    if slip == "unshifted":
        phases = (Phase((Fold("total", "tl.exp(v)"),), ("peak = 0.0",)),)
    elif form == "online":
        phases = (Phase((ONLINE,)),)
    value = f"peak {'-' if slip == 'sign' else '+'} {log}(total)"
    op = _fold_op(phases, f"({value}) * 0.6931471805599453" if form == "base2" else value, NEGATIVE)
    if form == "base2":
        op = replace(op, values=("v = v * 1.4426950408889634",))
    return op, Split(phases, ("peak", "total"), JOIN_EXPONENTIALS)


def _row_dot(knobs: Knobs) -> tuple[RowOp, Split]:
    phase = Phase((Fold("total", "v * v" if knobs["slip"] == "same" else "v * w", dtype=_width(knobs)),))
    if knobs["form"] == "quarter":
        phase = Phase((Fold("total", "((v + w) * (v + w) - (v - w) * (v - w)) * 0.25"),))
    value = "total / n_cols" if knobs["slip"] == "mean" else "total"
    op = _fold_op((phase,), value)
    return replace(op, inputs=("x", "y"), loads=(*op.loads, ("w", "y + at", "0.0", _WIDE))), split_of(phase, value)


_SLIPS = ROW_KNOBS["slip"]
_SUM = {**ROW_KNOBS, "form": ("plain", "double"), "slip": (*_SLIPS, "narrow", "mean")}
_NORM = {**ROW_KNOBS, "form": ("plain", "double", "scaled"), "slip": (*_SLIPS, "narrow", "squared")}
_ARG = {**ROW_KNOBS, "form": ("plain", "packed"), "slip": (*_SLIPS, "last", "local")}

TEMPLATES = (
    Template("row_sum", "triton", _SUM, _row_sum, row_valid),
    Template("row_l2norm", "triton", _NORM, _row_l2norm, row_valid),
    Template("argmax", "triton", _ARG, _argmax, _argmax_valid),
    row_template("row_max", _row_max, ("native", "halves"), ("magnitude", "low")),
    row_template("row_abs_max", _row_abs_max, ("native", "ends"), ("signed", "summed")),
    row_template("row_mean", _row_mean, ("double", "scaled"), ("narrow", "unscaled", "crossed"), atomic=True),
    row_template("row_var", _row_var, ("moments", "shifted"), ("biased", "root")),
    row_template("row_logsumexp", _row_logsumexp, ("base2",), ("unshifted", "sign"), looped_forms=("online",)),
    row_template("row_dot", _row_dot, ("double", "quarter"), ("narrow", "same", "mean"), atomic=True),
)
