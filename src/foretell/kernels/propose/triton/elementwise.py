"""Triton templates of the elementwise family: blocks, strides, rows or tiles; ways to write each formula; slips."""

from __future__ import annotations

from collections.abc import Callable

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.maps import MAP_KNOBS, Load, MapOp, map_source, map_valid

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


TEMPLATES = (
    _template("bias_gelu", _bias_gelu, ("sigmoid", "erf"), ("rough", "row")),
    _template("swiglu", _swiglu, ("exp", "tanh"), ("swapped", "sign")),
    _template("relu_squared_scale", _relu_squared_scale, ("where", "product"), ("even", "row")),
    _template("affine_clamp", _affine_clamp, ("fused", "clamp"), ("order", "row")),
)
