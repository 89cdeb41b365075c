"""Triton templates of softmax's relatives: scaled, biased, causal and backward; two passes or online, split; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs
from foretell.kernels.propose.triton.row_splits import (
    JOIN_EXPONENTIALS,
    NEGATIVE,
    ONLINE,
    Split,
    row_template,
    split_of,
)
from foretell.kernels.propose.triton.rows import Fold, Phase, RowOp

WIDE = ".to(tl.float32)"
EXPONENT_FORMS = ("reciprocal", "base2")
Loads = tuple[tuple[str, str, str, str], ...]


def exponentials(
    knobs: Knobs,
    inputs: tuple[str, ...],
    loads: Loads,
    values: tuple[str, ...] = (),
    before: tuple[str, ...] = (),
    finish: str = "SHARE",
    until: str = "n_cols",
    sizes: tuple[str, ...] = (),
) -> tuple[RowOp, Split]:
    """A row program over the softmax of `v`, stored as `finish`, in which SHARE is the item's share of its row."""
    form, slip = knobs["form"], knobs["slip"]
    exp = "tl.exp2" if form == "base2" else "tl.exp"
    phases: tuple[Phase, ...] = (Phase((Fold("peak", "v", "max"),)), Phase((Fold("total", f"{exp}(v - peak)"),)))
    if slip == "unshifted":
        phases = (Phase((Fold("total", "tl.exp(v)"),), ("peak = 0.0",)),)
    elif form == "online":
        phases = (Phase((ONLINE,)),)
    share = f"{exp}(v - peak) / total"
    if slip == "raw":
        share = "tl.exp(v - peak)"
    elif form == "reciprocal":
        share = "tl.exp(v - peak) * inverse"
        phases = (phases[0], Phase(phases[1].folds, ("inverse = 1.0 / total",)))
    op = RowOp(
        inputs=inputs,
        outputs=(("out", f"torch.empty_like({inputs[0]})"),),
        loads=loads,
        values=(*values, "v = v * 1.4426950408889634") if form == "base2" else values,
        phases=phases,
        before=before,
        stores=(("out + at", finish.replace("SHARE", f"({share})" if finish != "SHARE" else share)),),
        until=until,
        sizes=sizes,
    )
    return op, Split(phases, ("peak", "total"), JOIN_EXPONENTIALS)


def _scaled(knobs: Knobs) -> tuple[RowOp, Split]:
    factor = {"unscaled": "", "inverted": "v = v * 8.0"}.get(knobs["slip"], "v = v * 0.125")
    return exponentials(knobs, ("x",), (("v", "x + at", NEGATIVE, WIDE),), (factor,))


def _biased(knobs: Knobs) -> tuple[RowOp, Split]:
    loads = (("v", "x + at", NEGATIVE, ""), ("w", "bias + r" if knobs["slip"] == "crossed" else "bias + c", "0.0", ""))
    return exponentials(knobs, ("x", "bias"), loads, ("v = v - w" if knobs["slip"] == "sign" else "v = v + w",))


def _causal(knobs: Knobs) -> tuple[RowOp, Split]:
    seen = {"strict": "c < i", "flipped": "c >= i"}.get(knobs["slip"], "c <= i")
    loads: Loads = (("v", "x + at", "-1e30", WIDE),)
    values: tuple[str, ...] = (f"v = tl.where({seen}, v, -1e30)",)
    if knobs["form"] in ("cover", "until"):
        loads, values = (), (f"v = tl.load(x + at, mask=inside & ({seen}), other=-1e30){WIDE}",)
    sizes = ("rows, cols = x.shape[0] * x.shape[1], x.shape[2]",)
    until = "n_cols"
    if knobs["form"] == "until":
        until = "(tl.max(i) + 1)" if knobs["rows"] > 1 else "(i + 1)"
    return exponentials(knobs, ("x",), loads, values, ("i = r % n_cols",), until=until, sizes=sizes)


def _backward(knobs: Knobs) -> tuple[RowOp, Split]:
    dtype = {"double": "tl.float64"}.get(knobs["form"], "tl.bfloat16" if knobs["slip"] == "narrow" else "tl.float32")
    phase = Phase((Fold("dot", "w" if knobs["slip"] == "unweighted" else "v * w", dtype=dtype),))
    value = (
        "v * w - v * dot"
        if knobs["form"] == "apart"
        else "v * (w + dot)"
        if knobs["slip"] == "sign"
        else "v * (w - dot)"
    )
    op = RowOp(
        inputs=("y", "grad"),
        outputs=(("out", "torch.empty_like(y)"),),
        loads=(("v", "y + at", "0.0", WIDE), ("w", "grad + at", "0.0", WIDE)),
        phases=(phase,),
        stores=(("out + at", value),),
    )
    return op, split_of(phase)


def _log_backward(knobs: Knobs) -> tuple[RowOp, Split]:
    phase = Phase((Fold("total", "w", dtype="tl.float64" if knobs["form"] == "double" else "tl.float32"),))
    exp = (
        "tl.exp2(v * 1.4426950408889634)"
        if knobs["form"] == "base2"
        else "v"
        if knobs["slip"] == "linear"
        else "tl.exp(v)"
    )
    op = RowOp(
        inputs=("y", "grad"),
        outputs=(("out", "torch.empty_like(y)"),),
        loads=(("w", "grad + at", "0.0", ""),),
        late=(("v", "y + at", "0.0", ""),),
        phases=(phase,),
        stores=(("out + at", f"w {'+' if knobs['slip'] == 'sign' else '-'} {exp} * total"),),
    )
    return op, split_of(phase)


TEMPLATES = (
    row_template("softmax_scaled", _scaled, EXPONENT_FORMS, ("unscaled", "inverted"), looped_forms=("online",)),
    row_template("softmax_bias", _biased, EXPONENT_FORMS, ("sign", "crossed"), looped_forms=("online",)),
    row_template(
        "softmax_causal",
        _causal,
        ("cover", "base2"),
        ("strict", "flipped", "raw"),
        looped_forms=("online", "until"),
        without=("unmasked",),
    ),
    row_template("softmax_backward", _backward, ("double", "apart"), ("narrow", "unweighted", "sign")),
    row_template("log_softmax_backward", _log_backward, ("double", "base2"), ("linear", "sign")),
)
