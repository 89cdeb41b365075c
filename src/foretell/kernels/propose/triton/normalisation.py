"""Triton templates of the normalisation family: how rows are shared out, one or two passes for the moments; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.rows import ROW_KNOBS, Fold, Phase, RowOp, row_source, row_valid

_WIDE = ".to(tl.float32)"
_X = ("v", "x + at", "0.0", _WIDE)
_GAMMA = ("g", "gamma + c", "0.0", _WIDE)
_OUT = ("out", "torch.empty_like(x)")


def _layernorm(knobs: Knobs) -> str:
    slip = knobs["slip"]
    centred = "(v - mean) * (v - mean)"
    inside = centred if slip in ("unmasked", "padded") else f"tl.where(inside, {centred}, 0.0)"
    total = Fold("total", "v", dtype="tl.float16" if slip == "narrow" else "tl.float32")
    scale = "scale = tl.rsqrt(variance + 1e-5)"
    if knobs["form"] == "moments":
        after = ("mean = total / n_cols", "variance = square / n_cols - mean * mean", scale)
        phases: tuple[Phase, ...] = (Phase((total, Fold("square", "v * v")), after),)
    else:
        phases = (
            Phase((total,), ("mean = total / n_cols",)),
            Phase((Fold("spread", inside),), ("variance = spread / n_cols", scale)),
        )
    value = "v * scale * g + b" if slip == "uncentred" else "(v - mean) * scale * g + b"
    op = RowOp(
        inputs=("x", "gamma", "beta"),
        outputs=(_OUT,),
        loads=(_X,),
        phases=phases,
        late=(_GAMMA, ("b", "beta + c", "0.0", _WIDE)),
        stores=(("out + at", value),),
    )
    return row_source(op, knobs)


def _root(knobs: Knobs) -> tuple[Phase, ...]:
    fold = Fold("total", "v * v", dtype="tl.float16" if knobs["slip"] == "narrow" else "tl.float32")
    if knobs["slip"] == "summed":
        return (Phase((fold,), ("scale = tl.rsqrt(total + 1e-5)",)),)
    if knobs["form"] == "root":
        return (Phase((fold,), ("scale = 1.0 / tl.sqrt(total / n_cols + 1e-5)",)),)
    return (Phase((fold,), ("scale = tl.rsqrt(total / n_cols + 1e-5)",)),)


def _rmsnorm(knobs: Knobs) -> str:
    op = RowOp(
        inputs=("x", "gamma"),
        outputs=(_OUT,),
        loads=(_X,),
        phases=_root(knobs),
        late=(_GAMMA,),
        stores=(("out + at", "v * scale * g"),),
    )
    return row_source(op, knobs)


def _add_rmsnorm(knobs: Knobs) -> str:
    kept = "v" if knobs["slip"] != "swapped" else "v - u"
    op = RowOp(
        inputs=("x", "residual", "gamma"),
        outputs=(_OUT, ("kept", "torch.empty_like(x)")),
        loads=(("u", "residual + at", "0.0", _WIDE), ("v", "x + at", "0.0", _WIDE)),
        values=("v += u",),
        phases=_root(knobs),
        late=(_GAMMA,),
        stores=(("kept + at", kept), ("out + at", "v * scale * g")),
    )
    return row_source(op, knobs)


_COMMON = (*ROW_KNOBS["slip"], "narrow")
_LAYER = {**ROW_KNOBS, "form": ("plain", "moments"), "slip": (*_COMMON, "padded", "uncentred")}
_RMS = {**ROW_KNOBS, "form": ("plain", "root"), "slip": (*_COMMON, "summed")}

TEMPLATES = (
    Template("layernorm", "triton", _LAYER, _layernorm, row_valid),
    Template("rmsnorm", "triton", _RMS, _rmsnorm, row_valid),
    Template("add_rmsnorm", "triton", {**_RMS, "slip": (*_RMS["slip"], "swapped")}, _add_rmsnorm, row_valid),
)
