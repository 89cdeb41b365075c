"""Triton templates of the row reductions: how rows are shared out, accumulator per lane or row, its width; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
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


_SLIPS = ROW_KNOBS["slip"]
_SUM = {**ROW_KNOBS, "form": ("plain", "double"), "slip": (*_SLIPS, "narrow", "mean")}
_NORM = {**ROW_KNOBS, "form": ("plain", "double", "scaled"), "slip": (*_SLIPS, "narrow", "squared")}
_ARG = {**ROW_KNOBS, "form": ("plain", "packed"), "slip": (*_SLIPS, "last", "local")}

TEMPLATES = (
    Template("row_sum", "triton", _SUM, _row_sum, row_valid),
    Template("row_l2norm", "triton", _NORM, _row_l2norm, row_valid),
    Template("argmax", "triton", _ARG, _argmax, _argmax_valid),
)
