"""Triton templates of the normalisation family: how rows are shared out, one or two passes for the moments; slips."""

from __future__ import annotations

from collections.abc import Callable

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.maps import Load, MapOp
from foretell.kernels.propose.triton.rows import ROW_KNOBS, Fold, Phase, RowOp, row_source, row_valid
from foretell.kernels.propose.triton.variants import (
    SLAB_KNOBS,
    STREAM_KNOBS,
    Slab,
    slab_source,
    slab_valid,
    stream_source,
    stream_valid,
)

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


def _moments(knobs: Knobs) -> tuple[Phase, ...]:
    """`mean` and `scale` of a row of `v`: centred in a second pass, or from two sums of one pass."""
    form, slip = knobs["form"], knobs["slip"]
    total = Fold("total", "v")
    mean, scale = "mean = total / n_cols", "scale = tl.rsqrt(variance + 1e-5)"
    if form == "moments":
        variance = "variance = square / n_cols - mean * mean"
        return (Phase((total, Fold("square", "v * v")), (mean, variance, scale)),)
    centred = "(v - mean) * (v - mean)"
    inside = centred if slip in ("unmasked", "padded") else f"tl.where(inside, {centred}, 0.0)"
    variance = "variance = spread / n_cols"
    if form == "root" or slip == "unrooted":
        scale = "scale = 1.0 / tl.sqrt(variance + 1e-5)" if form == "root" else "scale = 1.0 / (variance + 1e-5)"
    return Phase((total,), (mean,)), Phase((Fold("spread", inside),), (variance, scale))


def _add_layernorm(knobs: Knobs) -> str:
    op = RowOp(
        inputs=("x", "residual", "gamma", "beta"),
        outputs=(_OUT, ("kept", "torch.empty_like(x)")),
        loads=(("u", "residual + at", "0.0", _WIDE), ("v", "x + at", "0.0", _WIDE)),
        values=("v += u",),
        phases=_moments(knobs),
        late=(_GAMMA, ("b", "beta + c", "0.0", _WIDE)),
        stores=(
            ("kept + at", "v - u" if knobs["slip"] == "swapped" else "v"),
            ("out + at", "(v - mean) * scale * g + b"),
        ),
    )
    return slab_source(Slab(op, ("mean", "scale")), knobs)


def _gate(knobs: Knobs) -> str:
    gate = {"divided": "u / (1.0 + tl.exp(-u))", "tanh": "u * (1.0 - 1.0 / (tl.exp(u) + 1.0))"}.get(
        knobs["form"], "u * tl.sigmoid(u)"
    )
    if knobs["slip"] == "sign":
        gate = "u / (1.0 + tl.exp(u))"
    op = RowOp(
        inputs=("x", "z", "gamma"),
        outputs=(_OUT,),
        loads=(_X,),
        phases=_root(knobs),
        late=(("u", "z + at", "0.0", _WIDE), _GAMMA),
        stores=(("out + at", f"v * scale * g * ({gate})"),),
    )
    return slab_source(Slab(op, ("scale",)), knobs)


def _l2_normalise(knobs: Knobs) -> str:
    slip = knobs["slip"]
    fold = Fold("total", "tl.abs(v)" if slip == "absolute" else "v * v")
    after: tuple[str, ...] = ("norm = tl.maximum(tl.sqrt(total), 1e-12)", "scale = 1.0 / norm")
    if knobs["form"] == "rsqrt":
        after = ("scale = tl.rsqrt(tl.maximum(total, 1e-24))",)
    elif knobs["form"] == "divided" or slip == "absolute":
        after = ("scale = tl.maximum(tl.sqrt(total), 1e-12)",)
    if slip == "inverted":
        after = ("scale = tl.rsqrt(total / n_cols + 1e-12)",)
    op = RowOp(
        inputs=("x",),
        outputs=(_OUT,),
        loads=(("v", "x + at", "0.0", ""),),
        phases=(Phase((fold,), after),),
        stores=(("out + at", "v / scale" if knobs["form"] == "divided" else "v * scale"),),
    )
    return slab_source(Slab(op, ("scale",)), knobs)


def _slopes(op_phases: tuple[Phase, ...], carried: tuple[str, ...], value: str, knobs: Knobs) -> str:
    op = RowOp(
        inputs=("x", "dy", "gamma"),
        outputs=(("dx", "torch.empty_like(x)"),),
        loads=(("d", "dy + at", "0.0", _WIDE), _X, _GAMMA),
        values=() if knobs["slip"] == "unscaled" else ("d *= g",),
        phases=op_phases,
        stores=(("dx + at", value),),
    )
    return slab_source(Slab(op, carried), knobs)


def _rmsnorm_backward(knobs: Knobs) -> str:
    square, along = Fold("square", "v * v"), Fold("along", "d * v")
    scale, last = "scale = tl.rsqrt(square / n_cols + 1e-5)", "along = along * scale * scale / n_cols"
    phases: tuple[Phase, ...] = (Phase((square, along), (scale, last)),)
    if knobs["form"] == "twice":
        phases = (Phase((square,), (scale,)), Phase((along,), (last,)))
    elif knobs["form"] == "units":
        unit = Fold("along", "d * (v * scale)")
        phases = (Phase((square,), (scale,)), Phase((unit,), ("along = along * scale / n_cols",)))
    value = "scale * (d + v * along)" if knobs["slip"] == "sign" else "scale * (d - v * along)"
    return _slopes(phases, ("scale", "along"), value, knobs)


def _layernorm_backward(knobs: Knobs) -> str:
    form = knobs["form"]
    flat, slope = Fold("flat", "d"), "flat = flat / n_cols"
    if form == "sums":
        along = "along = (along / n_cols - mean * flat) * scale * scale"
        moments = _moments({**knobs, "form": "moments"})[0]
        folds = (*moments.folds, flat, Fold("along", "d * v"))
        phases: tuple[Phase, ...] = (Phase(folds, (*moments.after, slope, along)),)
    else:
        first = _moments({**knobs, "form": "plain" if form == "plain" else "moments"})
        last = Fold("along", "d * (v - mean)")
        phases = (*first, Phase((flat, last), (slope, "along = along * scale * scale / n_cols")))
    value = "scale * (d - flat - (v - mean) * along)"
    if knobs["slip"] == "partial":
        value = "scale * (d - (v - mean) * along)"
    return _slopes(phases, ("mean", "scale", "flat", "along"), value, knobs)


def _groupnorm(knobs: Knobs) -> str:
    channel = "r % 32 * (n_cols // width) + c // width"
    if knobs["slip"] == "channel":
        channel = "c % (n_cols // width)"
    op = RowOp(
        inputs=("x", "gamma", "beta"),
        outputs=(_OUT,),
        loads=(_X,),
        phases=_moments(knobs),
        late=(("g", f"gamma + {channel}", "0.0", _WIDE), ("b", f"beta + {channel}", "0.0", _WIDE)),
        stores=(("out + at", "(v - mean) * scale * g + b"),),
        scalars=(("width", "x.shape[2]"),),
    )
    return slab_source(Slab(op, ("mean", "scale"), "x.shape[0] * 32", "x.shape[1] * x.shape[2] // 32"), knobs)


def _instancenorm(knobs: Knobs) -> str:
    place = "r // channels % channels" if knobs["slip"] == "channel" else "r % channels"
    op = RowOp(
        inputs=("x", "gamma", "beta"),
        outputs=(_OUT,),
        loads=(_X,),
        before=(f"g = tl.load(gamma + {place}){_WIDE}", f"b = tl.load(beta + {place}){_WIDE}"),
        phases=_moments(knobs),
        stores=(("out + at", "(v - mean) * scale * g + b"),),
        scalars=(("channels", "x.shape[1]"),),
    )
    return slab_source(Slab(op, ("mean", "scale"), "x.shape[0] * x.shape[1]", "x.shape[2]"), knobs)


def _batchnorm_inference(knobs: Knobs) -> str:
    place = "c % channels" if knobs["slip"] == "column" else "r % channels"
    rooted = "tl.rsqrt(a + 1e-5)"
    centred = "v + m" if knobs["slip"] == "sign" else "v - m"
    lines: tuple[str, ...] = (f"s = g * {rooted}", f"out_v = ({centred}) * s + b")
    if knobs["form"] == "folded":
        lines = (f"s = g * {rooted}", "t = b - m * s", "out_v = v * s + t")
    elif knobs["form"] == "divided":
        lines = ("out_v = (v - m) / tl.sqrt(a + 1e-5) * g + b",)
    names = (("m", "mean"), ("a", "variance"), ("g", "gamma"), ("b", "beta"))
    by = "c" if knobs["slip"] == "column" else "r"
    op = MapOp(
        inputs=("x", *(tensor for _, tensor in names)),
        outputs=(_OUT,),
        rows="x.shape[0] * x.shape[1]",
        cols="x.shape[2]",
        loads=(Load("v", "x + i"), *(Load(name, f"{tensor} + {place}", by) for name, tensor in names)),
        lines=lines,
        stores=(("out + i", "out_v"),),
        scalars=(("channels", "x.shape[1]"),),
    )
    return stream_source(op, knobs)


def _slab(
    task: str, render: Callable[[Knobs], str], longest: int, forms: tuple[str, ...], slips: tuple[str, ...]
) -> Template:
    knobs = {**SLAB_KNOBS, "form": ("plain", *forms), "slip": (*SLAB_KNOBS["slip"], *slips)}
    return Template(task, "triton", knobs, render, slab_valid(longest))


_COMMON = (*ROW_KNOBS["slip"], "narrow")
_LAYER = {**ROW_KNOBS, "form": ("plain", "moments"), "slip": (*_COMMON, "padded", "uncentred")}
_RMS = {**ROW_KNOBS, "form": ("plain", "root"), "slip": (*_COMMON, "summed")}

TEMPLATES = (
    Template("layernorm", "triton", _LAYER, _layernorm, row_valid),
    Template("rmsnorm", "triton", _RMS, _rmsnorm, row_valid),
    Template("add_rmsnorm", "triton", {**_RMS, "slip": (*_RMS["slip"], "swapped")}, _add_rmsnorm, row_valid),
    _slab("add_layernorm", _add_layernorm, 4096, ("moments", "root"), ("padded", "swapped", "unrooted")),
    _slab("rmsnorm_silu_gate", _gate, 4096, ("root", "divided", "tanh"), ("summed", "sign")),
    _slab("l2_normalise", _l2_normalise, 2048, ("rsqrt", "divided"), ("absolute", "inverted")),
    _slab("rmsnorm_backward", _rmsnorm_backward, 4096, ("twice", "units"), ("unscaled", "sign")),
    _slab("layernorm_backward", _layernorm_backward, 4096, ("sums", "pair"), ("partial", "unscaled", "unrooted")),
    _slab("groupnorm", _groupnorm, 16384, ("moments", "root"), ("padded", "channel", "unrooted")),
    _slab("instancenorm", _instancenorm, 4096, ("moments", "root"), ("padded", "channel", "unrooted")),
    Template(
        "batchnorm_inference",
        "triton",
        {
            **STREAM_KNOBS,
            "form": ("plain", "folded", "divided"),
            "slip": (*STREAM_KNOBS["slip"], "column", "sign"),
        },
        _batchnorm_inference,
        stream_valid(),
    ),
)
