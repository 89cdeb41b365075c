"""Triton templates of the loss family: two passes or online, how the target is picked, how rows are shared; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.row_splits import NEGATIVE, Split, row_template, split_of
from foretell.kernels.propose.triton.rows import ROW_KNOBS, Fold, Online, Phase, RowOp, row_source, row_valid
from foretell.kernels.propose.triton.softmax_rows import EXPONENT_FORMS, WIDE, exponentials

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


def _pair_op(
    names: tuple[str, str],
    phase: Phase,
    value: str,
    values: tuple[str, ...] = (),
    cast: str = WIDE,
    second: str = "0.0",
) -> tuple[RowOp, Split]:
    """A loss of two matrices, an item a row; `v` and `w` are their items, `second` the neutral one of the second."""
    a, b = names
    op = RowOp(
        inputs=names,
        outputs=(("out", f"torch.empty(rows, dtype=torch.float32, device={a}.device)"),),
        loads=(("v", f"{a} + at", "0.0", cast), ("w", f"{b} + at", second, cast)),
        values=values,
        phases=(phase,),
        row_stores=(("out + r", value),),
    )
    return op, split_of(phase, value)


def _dtype(knobs: Knobs, narrow: str = "tl.float16") -> str:
    return {"double": "tl.float64"}.get(knobs["form"], narrow if knobs["slip"] == "narrow" else "tl.float32")


def _kl_div_rows(knobs: Knobs) -> tuple[RowOp, Split]:
    item = {"base2": "w * (tl.log2(w) * 0.6931471805599453 - v)", "apart": "w * tl.log(w) - w * v"}.get(
        knobs["form"], "w * (v - tl.log(w))" if knobs["slip"] == "sign" else "w * (tl.log(w) - v)"
    )
    value = "total / n_cols" if knobs["slip"] == "mean" else "total"
    phase = Phase((Fold("total", item, dtype=_dtype(knobs)),))
    return _pair_op(("logp", "q"), phase, value, second="1.0")


def _huber_rows(knobs: Knobs) -> tuple[RowOp, Split]:
    item = "tl.where(m <= 1.0, 0.5 * d * d, m - 0.5)"
    values: tuple[str, ...] = ("d = v - w", "m = tl.abs(d)")
    if knobs["form"] == "clamped":
        values, item = ("m = tl.abs(v - w)", "s = tl.minimum(m, 1.0)"), "s * (m - 0.5 * s)"
    elif knobs["slip"] == "square":
        item = "0.5 * d * d"
    value = "total / B" if knobs["slip"] == "width" else "total / n_cols"
    return _pair_op(("a", "b"), Phase((Fold("total", item, dtype=_dtype(knobs)),)), value, values, "")


def _bce_logits_rows(knobs: Knobs) -> tuple[RowOp, Split]:
    soft = "tl.log(1.0 + tl.exp(-tl.abs(v)))"
    if knobs["form"] == "base2":
        soft = "tl.log2(1.0 + tl.exp2(tl.abs(v) * -1.4426950408889634)) * 0.6931471805599453"
    elif knobs["slip"] == "overflow":
        soft = "tl.log(1.0 + tl.exp(v)) - tl.maximum(v, 0.0)"
    item = f"tl.maximum(v, 0.0) - v * w + {soft}"
    if knobs["form"] == "sided":
        item = "tl.where(v > 0.0, v - v * w, -v * w) - tl.log(tl.sigmoid(tl.abs(v)))"
    phase = Phase((Fold("total", f"tl.where(inside, {item}, 0.0)", dtype=_dtype(knobs, "tl.bfloat16")),))
    return _pair_op(("x", "t"), phase, "total" if knobs["slip"] == "sum" else "total / n_cols")


def _cosine_similarity_rows(knobs: Knobs) -> tuple[RowOp, Split]:
    items = {"dot": "v * w", "squares": "v * v", "others": "w * w"}
    folds = tuple(Fold(name, item, dtype=_dtype(knobs)) for name, item in items.items())
    floor = "tl.maximum({}, 1e-16)"
    value = f"dot / (tl.sqrt({floor.format('squares')}) * tl.sqrt({floor.format('others')}))"
    if knobs["form"] == "inverse":
        value = f"dot * (tl.rsqrt({floor.format('squares')}) * tl.rsqrt({floor.format('others')}))"
    elif knobs["slip"] == "unrooted":
        value = "dot / (squares * others)"
    elif knobs["slip"] == "single":
        value = f"dot / {floor.format('squares')}"
    return _pair_op(("a", "b"), Phase(folds), value)


def _cross_entropy_backward(knobs: Knobs) -> tuple[RowOp, Split]:
    rows = ", mask=r < n_rows, other=0" if knobs["rows"] > 1 else ""
    before = (f"t = tl.load(targets + r{rows})", f"g = tl.load(grad + r{rows})")
    finish = "(SHARE - tl.where(c == t, 1.0, 0.0)) * g"
    if knobs["slip"] == "forgot":
        finish = "SHARE * g"
    elif knobs["slip"] == "sign":
        finish = "(tl.where(c == t, 1.0, 0.0) - SHARE) * g"
    loads = (("v", "logits + at", NEGATIVE, WIDE),)
    return exponentials(knobs, ("logits", "targets", "grad"), loads, before=before, finish=finish)


_SLIPS = ROW_KNOBS["slip"]
_ENTROPY = {**ROW_KNOBS, "form": ("plain", "online", "select"), "slip": (*_SLIPS, "unshifted", "sign")}
_MSE = {**ROW_KNOBS, "form": ("plain", "expanded"), "slip": (*_SLIPS, "narrow", "signed", "width")}

TEMPLATES = (
    Template("cross_entropy", "triton", _ENTROPY, _cross_entropy, _cross_entropy_valid),
    Template("mse_rows", "triton", _MSE, _mse_rows, row_valid),
    row_template("kl_div_rows", _kl_div_rows, ("base2", "apart"), ("narrow", "sign", "mean"), atomic=True),
    row_template("huber_rows", _huber_rows, ("clamped", "double"), ("narrow", "square", "width"), atomic=True),
    row_template(
        "bce_logits_rows",
        _bce_logits_rows,
        ("base2", "sided"),
        ("narrow", "overflow", "sum"),
        atomic=True,
        without=("unmasked",),
    ),
    row_template("cosine_similarity_rows", _cosine_similarity_rows, ("inverse", "double"), ("unrooted", "single")),
    row_template(
        "cross_entropy_backward",
        _cross_entropy_backward,
        EXPONENT_FORMS,
        ("unshifted", "forgot", "sign"),
        looped_forms=("online",),
    ),
)
