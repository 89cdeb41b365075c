"""Triton templates of the loss family: two passes or online, how the target is picked, how rows are shared; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.rows import ROW_KNOBS, Fold, Online, Phase, RowOp, row_source, row_valid

_SUM = "total = tl.sum(tl.exp(v - peak), AXIS)KEEP"
_ONLINE = Online(
    start=('most = tl.full(SHAPE, -float("inf"), tl.float32)', "sums = tl.full(SHAPE, 0.0, tl.float32)"),
    step=(
        "best = tl.maximum(most, v)",
        'safe = tl.where(best == -float("inf"), 0.0, best)',
        "sums = sums * tl.exp(most - safe) + tl.exp(v - safe)",
        "most = best",
    ),
    close=("peak = tl.max(most, AXIS)KEEP", "total = tl.sum(sums * tl.exp(most - peak), AXIS)KEEP"),
    once=("peak = tl.max(v, AXIS)KEEP", _SUM),
)


def _cross_entropy(knobs: Knobs) -> str:
    rows = ", mask=r < n_rows, other=0" if knobs["rows"] > 1 else ""
    before: tuple[str, ...] = (f"t = tl.load(targets + r{rows})",)
    after: tuple[str, ...] = (f"picked = tl.load(logits + r * n_cols + t{rows.replace('=0', '=0.0')})",)
    total = Fold("total", "tl.exp(v - peak)")
    peak = Phase((Fold("peak", "v", "max"),))
    if knobs["slip"] == "unshifted":
        phases: tuple[Phase, ...] = (Phase((Fold("total", "tl.exp(v)"),), ("peak = 0.0", *after)),)
    elif knobs["form"] == "online":
        phases = (Phase((_ONLINE,), after),)
    elif knobs["form"] == "select":
        phases = (peak, Phase((total, Fold("picked", "tl.where(c == t, v, 0.0)"))))
    else:
        phases = (peak, Phase((total,), after))
    value = "peak - tl.log(total) - picked" if knobs["slip"] == "sign" else "peak + tl.log(total) - picked"
    op = RowOp(
        inputs=("logits", "targets"),
        outputs=(("out", "torch.empty(rows, dtype=logits.dtype, device=logits.device)"),),
        loads=(("v", "logits + at", '-float("inf")', ""),),
        phases=phases,
        before=before,
        row_stores=(("out + r", value),),
    )
    return row_source(op, knobs)


def _cross_entropy_valid(knobs: Knobs) -> bool:
    if knobs["form"] == "online" and knobs["shape"] not in ("loop", "tiles"):
        return False
    fits = knobs["rows"] <= knobs["warps"] and (knobs["shape"] != "row" or knobs["warps"] > 1)
    return bool(fits and row_valid(knobs))


def _mse_rows(knobs: Knobs) -> str:
    dtype = "tl.float16" if knobs["slip"] == "narrow" else "tl.float32"
    after: tuple[str, ...] = ()
    values: tuple[str, ...] = ("d = v - w",)
    folds: tuple[Fold, ...] = (Fold("total", "d * d", dtype=dtype),)
    if knobs["slip"] == "signed":
        folds = (Fold("total", "d"),)
    elif knobs["form"] == "expanded":
        folds = (Fold("squares", "v * v"), Fold("cross", "v * w"), Fold("others", "w * w"))
        values, after = (), ("total = squares - 2.0 * cross + others",)
    op = RowOp(
        inputs=("a", "b"),
        outputs=(("out", "torch.empty(rows, dtype=torch.float32, device=a.device)"),),
        loads=(("v", "a + at", "0.0", ".to(tl.float32)"), ("w", "b + at", "0.0", ".to(tl.float32)")),
        values=values,
        phases=(Phase(folds, after),),
        row_stores=(("out + r", "total / B" if knobs["slip"] == "width" else "total / n_cols"),),
    )
    return row_source(op, knobs)


_SLIPS = ROW_KNOBS["slip"]
_ENTROPY = {**ROW_KNOBS, "form": ("plain", "online", "select"), "slip": (*_SLIPS, "unshifted", "sign")}
_MSE = {**ROW_KNOBS, "form": ("plain", "expanded"), "slip": (*_SLIPS, "narrow", "signed", "width")}

TEMPLATES = (
    Template("cross_entropy", "triton", _ENTROPY, _cross_entropy, _cross_entropy_valid),
    Template("mse_rows", "triton", _MSE, _mse_rows, row_valid),
)
