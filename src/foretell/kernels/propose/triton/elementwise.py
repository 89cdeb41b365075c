"""Triton templates of the elementwise family: blocks, strides, rows or tiles; ways to write each formula; slips."""

from __future__ import annotations

from collections.abc import Callable

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.maps import MAP_KNOBS, Load, MapOp, map_source, map_valid
from foretell.kernels.propose.triton.pointwise import Pointwise, pointwise_template

_WIDE = ".to(tl.float32)"


def _op(inputs: tuple[str, ...], loads: tuple[Load, ...], lines: tuple[str, ...], value: str) -> MapOp:
    return MapOp(
        inputs=inputs,
        outputs=(("out", f"torch.empty_like({inputs[0]})"),),
        rows=f"{inputs[0]}.shape[0]",
        cols=f"{inputs[0]}.shape[1]",
        loads=loads,
        lines=lines,
        stores=(("out + i", value),),
    )


def _column(name: str, tensor: str, knobs: Knobs, cast: str = _WIDE) -> Load:
    if knobs["slip"] == "row":
        return Load(name, f"{tensor} + r % n_cols", "r", cast)
    return Load(name, f"{tensor} + c", "c", cast)


def _bias_gelu(knobs: Knobs) -> str:
    inner = "u = 0.7978845608 * (v + 0.044715 * v * v * v)"
    lines: tuple[str, ...] = ("v += b", inner)
    value = "0.5 * v * (2.0 - 2.0 / (tl.exp(2.0 * u) + 1.0))"
    if knobs["slip"] == "rough":
        lines, value = ("v += b",), "v * tl.sigmoid(1.702 * v)"
    elif knobs["form"] == "sigmoid":
        value = "v * tl.sigmoid(2.0 * u)"
    elif knobs["form"] == "erf":
        lines, value = ("v += b",), "0.5 * v * (1.0 + tl.erf(v * 0.7071067812))"
    loads = (Load("v", "x + i", "i", _WIDE), _column("b", "bias", knobs))
    return map_source(_op(("x", "bias"), loads, lines, value), knobs)


def _swiglu(knobs: Knobs) -> str:
    lines: tuple[str, ...] = ()
    value = "u * tl.sigmoid(u) * v"
    if knobs["slip"] == "swapped":
        value = "v * tl.sigmoid(v) * u"
    elif knobs["slip"] == "sign":
        value = "u / (1.0 + tl.exp(u)) * v"
    elif knobs["form"] == "exp":
        value = "u / (1.0 + tl.exp(-u)) * v"
    elif knobs["form"] == "tanh":
        lines, value = ("t = 1.0 - 2.0 / (tl.exp(u) + 1.0)",), "0.5 * u * (1.0 + t) * v"
    loads = (Load("u", "a + i", "i", _WIDE), Load("v", "b + i", "i", _WIDE))
    return map_source(_op(("a", "b"), loads, lines, value), knobs)


def _relu_squared_scale(knobs: Knobs) -> str:
    lines: tuple[str, ...] = ("v = tl.maximum(v, 0.0)",)
    value = "v * v * s"
    if knobs["slip"] == "even":
        lines = ()
    elif knobs["form"] == "where":
        lines, value = (), "tl.where(v > 0.0, v * v * s, 0.0)"
    elif knobs["form"] == "product":
        lines, value = (), "v * tl.maximum(v, 0.0) * s"
    loads = (Load("v", "x + i", "i", _WIDE), _column("s", "scale", knobs))
    return map_source(_op(("x", "scale"), loads, lines, value), knobs)


def _affine_clamp(knobs: Knobs) -> str:
    value = "tl.minimum(tl.maximum(v * s + t, -1.0), 1.0)"
    if knobs["slip"] == "order":
        value = "tl.minimum(tl.maximum((v + t) * s, -1.0), 1.0)"
    elif knobs["form"] == "fused":
        value = "tl.minimum(tl.maximum(tl.fma(v, s, t), -1.0), 1.0)"
    elif knobs["form"] == "clamp":
        value = "tl.clamp(v * s + t, -1.0, 1.0)"
    loads = (Load("v", "x + i"), _column("s", "scale", knobs, ""), _column("t", "shift", knobs, ""))
    return map_source(_op(("x", "scale", "shift"), loads, (), value), knobs)


def _template(task: str, render: Callable[[Knobs], str], forms: tuple[str, ...], slips: tuple[str, ...]) -> Template:
    knobs = {**MAP_KNOBS, "form": ("plain", *forms), "slip": (*MAP_KNOBS["slip"], *slips)}
    return Template(task, "triton", knobs, render, map_valid)


_INNER = "u = 0.7978845608 * (a + 0.044715 * a * a * a)\n"
_HELD = "tl.minimum(tl.maximum(u * v + w, -4.0), 4.0)"
_TABLE = (
    Pointwise(
        "geglu",
        ("x",),
        (("a", "x + r * 2 * n_cols + c", "i"), ("b", "x + r * 2 * n_cols + n_cols + c", "i")),
        {
            "plain": f"{_INNER}0.5 * a * (2.0 - 2.0 / (tl.exp(2.0 * u) + 1.0)) * b",
            "sigmoid": f"{_INNER}a * tl.sigmoid(2.0 * u) * b",
            "erf": "0.5 * a * (1.0 + tl.erf(a * 0.7071067812)) * b",
        },
        {"rough": "a * tl.sigmoid(1.702 * a) * b", "swapped": "0.5 * b * (1.0 + tl.erf(b * 0.7071067812)) * a"},
        staged=(f"{_INNER}a * tl.sigmoid(2.0 * u)", "s * b"),
        cols="x.shape[1] // 2",
        out="torch.empty((rows, cols), dtype=x.dtype, device=x.device)",
    ),
    Pointwise(
        "mul_add_exp",
        ("x", "y", "z"),
        (("u", "x + i", "i"), ("v", "y + i", "i"), ("w", "z + i", "i")),
        {
            "plain": f"tl.exp({_HELD})",
            "power": "t = tl.fma(u, v, w)\ntl.exp2(1.4426950409 * tl.minimum(tl.maximum(t, -4.0), 4.0))",
            "late": "tl.minimum(tl.maximum(tl.exp(u * v + w), 0.0183156389), 54.5981500331)",
        },
        {
            "open": "tl.exp(tl.minimum(u * v + w, 4.0))",
            "order": "tl.exp(tl.minimum(tl.maximum(u * (v + w), -4.0), 4.0))",
        },
        staged=(_HELD, "tl.exp(s)"),
        wide=False,
    ),
    Pointwise(
        "masked_residual",
        ("x", "keep", "residual"),
        (("v", "x + i", "i"), ("k", "keep + i", "i"), ("w", "residual + i", "i")),
        {
            "plain": "w + v * k * 1.25",
            "where": "tl.where(k != 0.0, w + v * 1.25, w)",
            "fused": "tl.fma(v, k * 1.25, w)",
        },
        {"unscaled": "w + v * k", "inverse": "w + v * (1.0 - k) * 1.25"},
        staged=("v * k * 1.25", "w + s"),
    ),
)

TEMPLATES = (
    _template("bias_gelu", _bias_gelu, ("sigmoid", "erf"), ("rough", "row")),
    _template("swiglu", _swiglu, ("exp", "tanh"), ("swapped", "sign")),
    _template("relu_squared_scale", _relu_squared_scale, ("where", "product"), ("even", "row")),
    _template("affine_clamp", _affine_clamp, ("fused", "clamp"), ("order", "row")),
    *(pointwise_template(op) for op in _TABLE),
)
