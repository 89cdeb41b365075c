"""Triton templates of the activation family: blocks, strides, rows or strips; ways to write each formula; slips."""

from __future__ import annotations

from foretell.kernels.propose.triton.pointwise import Pointwise, pointwise_template

_X = (("v", "x + i", "i"),)
_GRAD_X = (("g", "grad + i", "i"), *_X)
_INNER = "u = 0.7978845608 * (v + 0.044715 * v * v * v)\n"
_SLOPE = "(0.7978845608 + 0.1070322243 * v * v)"
_TANH_U = "t = 1.0 - 2.0 / (tl.exp(2.0 * u) + 1.0)\n"
_CLAMPED = "tl.minimum(tl.maximum(v + 3.0, 0.0), 6.0)"
_SOFT = "tl.log(1.0 + tl.exp(-tl.abs(v)))"

_OPERATIONS = (
    Pointwise(
        "silu",
        ("x",),
        _X,
        {
            "plain": "v * tl.sigmoid(v)",
            "exp": "v / (1.0 + tl.exp(-v))",
            "power": "v / (1.0 + tl.exp2(-1.4426950409 * v))",
        },
        {"sign": "v / (1.0 + tl.exp(v))", "unscaled": "tl.sigmoid(v)"},
        staged=("tl.sigmoid(v)", "v * s"),
    ),
    Pointwise(
        "mish",
        ("x",),
        _X,
        {
            "plain": "e = tl.exp(tl.minimum(v, 20.0))\nw = e * (e + 2.0)\nv * w / (w + 2.0)",
            "where": "e = tl.exp(v)\nw = e * (e + 2.0)\ntl.where(v > 20.0, v, v * w / (w + 2.0))",
            "log": f"t = tl.exp(-2.0 * (tl.maximum(v, 0.0) + {_SOFT}))\nv * (1.0 - t) / (1.0 + t)",
        },
        {
            "overflow": "e = tl.exp(v)\nw = e * (e + 2.0)\nv * w / (w + 2.0)",
            "outer": f"v * (tl.maximum(v, 0.0) + {_SOFT})",
        },
        staged=(f"tl.maximum(v, 0.0) + {_SOFT}", "t = tl.exp(-2.0 * s)\nv * (1.0 - t) / (1.0 + t)"),
    ),
    Pointwise(
        "softplus",
        ("x",),
        _X,
        {
            "plain": f"tl.maximum(v, 0.0) + {_SOFT}",
            "where": "tl.where(v > 20.0, v, tl.log(1.0 + tl.exp(v)))",
            "power": "e = tl.exp2(-1.4426950409 * tl.abs(v))\ntl.maximum(v, 0.0) + 0.6931471806 * tl.log2(1.0 + e)",
        },
        {
            "overflow": "tl.log(1.0 + tl.exp(v))",
            "sign": "tl.maximum(v, 0.0) + tl.log(1.0 + tl.exp(tl.abs(v)))",
        },
        staged=(_SOFT, "tl.maximum(v, 0.0) + s"),
        wide=False,
    ),
    Pointwise(
        "hardswish",
        ("x",),
        _X,
        {
            "plain": f"v * {_CLAMPED} / 6.0",
            "clamp": "v * tl.clamp(v * 0.1666666667 + 0.5, 0.0, 1.0)",
            "where": "tl.where(v > 3.0, v, tl.where(v < -3.0, 0.0, v * (v + 3.0) / 6.0))",
        },
        {"unbounded": "v * tl.maximum(v + 3.0, 0.0) / 6.0", "offset": f"(v + 3.0) * {_CLAMPED} / 6.0"},
        staged=(_CLAMPED, "v * s / 6.0"),
    ),
    Pointwise(
        "elu",
        ("x",),
        _X,
        {
            "plain": "tl.where(v > 0.0, v, tl.exp(v) - 1.0)",
            "minimum": "tl.maximum(v, 0.0) + (tl.exp(tl.minimum(v, 0.0)) - 1.0)",
            "power": "tl.where(v > 0.0, v, tl.exp2(1.4426950409 * v) - 1.0)",
        },
        {"shift": "tl.where(v > 0.0, v, tl.exp(v))", "swapped": "tl.where(v < 0.0, v, tl.exp(v) - 1.0)"},
        staged=("tl.exp(v) - 1.0", "tl.where(v > 0.0, v, s)"),
        wide=False,
    ),
    Pointwise(
        "gelu_erf",
        ("x",),
        _X,
        {
            "plain": "0.5 * v * (1.0 + tl.erf(v * 0.7071067812))",
            "tanh": f"{_INNER}v * tl.sigmoid(2.0 * u)",
            "exp": f"{_INNER}v / (1.0 + tl.exp(-2.0 * u))",
        },
        {"rough": "v * tl.sigmoid(1.702 * v)", "unscaled": "0.5 * v * (1.0 + tl.erf(v))"},
        staged=("tl.erf(v * 0.7071067812)", "0.5 * v * (1.0 + s)"),
    ),
    Pointwise(
        "tanh_gate",
        ("a", "b"),
        (("u", "a + i", "i"), ("w", "b + i", "i")),
        {
            "plain": "(1.0 - 2.0 / (tl.exp(2.0 * u) + 1.0)) * tl.sigmoid(w)",
            "exp": "e = tl.exp(-2.0 * u)\n(1.0 - e) / ((1.0 + e) * (1.0 + tl.exp(-w)))",
            "sigmoid": "(2.0 * tl.sigmoid(2.0 * u) - 1.0) * tl.sigmoid(w)",
        },
        {
            "swapped": "(2.0 * tl.sigmoid(2.0 * w) - 1.0) * tl.sigmoid(u)",
            "half": "(2.0 * tl.sigmoid(u) - 1.0) * tl.sigmoid(w)",
        },
        staged=("tl.sigmoid(w)", "(2.0 * tl.sigmoid(2.0 * u) - 1.0) * s"),
    ),
    Pointwise(
        "silu_backward",
        ("grad", "x"),
        _GRAD_X,
        {
            "plain": "t = tl.sigmoid(v)\ng * t * (1.0 + v * (1.0 - t))",
            "exp": "t = 1.0 / (1.0 + tl.exp(-v))\ng * (t + v * t * (1.0 - t))",
            "twice": "g * tl.sigmoid(v) * (1.0 + v * (1.0 - tl.sigmoid(v)))",
        },
        {"sign": "t = tl.sigmoid(v)\ng * t * (1.0 - v * (1.0 - t))", "dropped": "t = tl.sigmoid(v)\ng * t"},
        staged=("tl.sigmoid(v)", "g * s * (1.0 + v * (1.0 - s))"),
    ),
    Pointwise(
        "gelu_backward",
        ("grad", "x"),
        _GRAD_X,
        {
            "plain": f"{_INNER}{_TANH_U}g * (0.5 * (1.0 + t) + 0.5 * v * (1.0 - t * t) * {_SLOPE})",
            "sigmoid": f"{_INNER}t = tl.sigmoid(2.0 * u)\ng * (t + 2.0 * v * t * (1.0 - t) * {_SLOPE})",
            "exp": f"{_INNER}t = 1.0 / (1.0 + tl.exp(-2.0 * u))\ng * t * (1.0 + 2.0 * v * (1.0 - t) * {_SLOPE})",
        },
        {
            "dropped": f"{_INNER}g * tl.sigmoid(2.0 * u)",
            "cubic": f"{_INNER}t = tl.sigmoid(2.0 * u)\n"
            "g * (t + 2.0 * v * t * (1.0 - t) * (0.7978845608 + 0.0356774081 * v * v))",
        },
        staged=(f"{_INNER}tl.sigmoid(2.0 * u)", f"g * (s + 2.0 * v * s * (1.0 - s) * {_SLOPE})"),
        wide=False,
    ),
    Pointwise(
        "leaky_relu_bias",
        ("x", "bias"),
        (*_X, ("b", "bias + c", "c")),
        {
            "plain": "v += b\ntl.where(v > 0.0, v, 0.1 * v)",
            "maximum": "v += b\ntl.maximum(v, 0.1 * v)",
            "product": "v += b\nv * tl.where(v > 0.0, 1.0, 0.1)",
        },
        {"slope": "v += b\ntl.where(v > 0.0, 0.1 * v, v)"},
        moved={"row": ("b", "bias + r % n_cols", "r")},
        staged=("v + b", "tl.where(s > 0.0, s, 0.1 * s)"),
    ),
)

TEMPLATES = tuple(pointwise_template(op) for op in _OPERATIONS)
