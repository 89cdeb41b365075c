"""CUDA templates of the activation family: precise, fast or double formulas, in one kernel or two; and mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cuda.pointwise import Read, pointwise, template

_X = (Read("v", "x + i"),)
_GRAD_X = (Read("g", "grad + i"), *_X)
_INNER = "const float u = 0.79788456f * (v + 0.044715f * v * v * v)\n"
_SLOPE = "(0.79788456f + 0.10703222f * v * v)"
_BEND = "const float t = 1.0f / (1.0f + __expf(-2.0f * u))\n"
_CLAMPED = "fminf(fmaxf(v + 3.0f, 0.0f), 6.0f)"

PROGRAMS = (
    pointwise(
        "silu",
        "bfloat16",
        _X,
        {
            "plain": "v / (1.0f + expf(-v))",
            "fast": "__fdividef(v, 1.0f + __expf(-v))",
            "literal": "v / (1.0 + exp(-1.0 * v))",
            "tanh": "0.5f * v * (1.0f + tanhf(0.5f * v))",
        },
        {"sign": "v / (1.0f + expf(v))", "unscaled": "1.0f / (1.0f + expf(-v))"},
        staged=("1.0f / (1.0f + expf(-v))", "v * s"),
    ),
    pointwise(
        "mish",
        "float16",
        _X,
        {
            "plain": "v * tanhf(v > 20.0f ? v : log1pf(expf(v)))",
            "fast": "const float e = __expf(fminf(v, 20.0f))\nv * __fdividef(e * (e + 2.0f), e * (e + 2.0f) + 2.0f)",
            "literal": "v * tanh(v > 20.0 ? (double)v : log(1.0 + exp((double)v)))",
            "branch": "const float e = expf(v)\nconst float n = e * (e + 2.0f)\nv > 20.0f ? v : v * n / (n + 2.0f)",
        },
        {
            "overflow": "const float e = __expf(v)\nconst float n = e * (e + 2.0f)\nv * n / (n + 2.0f)",
            "outer": "v * (v > 20.0f ? v : log1pf(expf(v)))",
        },
        staged=("v > 20.0f ? v : log1pf(expf(v))", "v * tanhf(s)"),
    ),
    pointwise(
        "softplus",
        "float32",
        _X,
        {
            "plain": "v > 20.0f ? v : log1pf(expf(v))",
            "fast": "fmaxf(v, 0.0f) + __logf(1.0f + __expf(-fabsf(v)))",
            "literal": "v > 20.0 ? v : log(1.0 + exp((double)v))",
            "halves": "fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v)))",
        },
        {"overflow": "logf(1.0f + expf(v))", "sign": "fmaxf(v, 0.0f) + log1pf(expf(fabsf(v)))"},
        staged=("log1pf(expf(-fabsf(v)))", "fmaxf(v, 0.0f) + s"),
    ),
    pointwise(
        "hardswish",
        "float16",
        _X,
        {
            "plain": f"v * {_CLAMPED} / 6.0f",
            "fast": "v * __saturatef(fmaf(v, 0.16666667f, 0.5f))",
            "literal": "v * fmin(fmax(v + 3.0, 0.0), 6.0) / 6.0",
            "branch": "v <= -3.0f ? 0.0f : v >= 3.0f ? v : v * (v + 3.0f) / 6.0f",
        },
        {"unbounded": "v * fmaxf(v + 3.0f, 0.0f) / 6.0f", "offset": f"(v + 3.0f) * {_CLAMPED} / 6.0f"},
        staged=(_CLAMPED, "v * s / 6.0f"),
    ),
    pointwise(
        "elu",
        "float32",
        _X,
        {
            "plain": "v > 0.0f ? v : expm1f(v)",
            "fast": "v > 0.0f ? v : __expf(v) - 1.0f",
            "literal": "v > 0.0 ? v : exp((double)v) - 1.0",
            "both": "fmaxf(v, 0.0f) + expm1f(fminf(v, 0.0f))",
        },
        {"shift": "v > 0.0f ? v : expf(v)", "swapped": "v < 0.0f ? v : expm1f(v)"},
        staged=("expm1f(v)", "v > 0.0f ? v : s"),
    ),
    pointwise(
        "gelu_erf",
        "bfloat16",
        _X,
        {
            "plain": "0.5f * v * (1.0f + erff(v * 0.70710678f))",
            "fast": f"{_INNER}{_BEND}v * t",
            "literal": "0.5 * v * (1.0 + erf(v * 0.7071067811865476))",
            "normal": "v * normcdff(v)",
        },
        {"rough": "v / (1.0f + __expf(-1.702f * v))", "unscaled": "0.5f * v * (1.0f + erff(v))"},
        staged=("erff(v * 0.70710678f)", "0.5f * v * (1.0f + s)"),
    ),
    pointwise(
        "tanh_gate",
        "float16",
        (Read("u", "a + i"), Read("w", "b + i")),
        {
            "plain": "tanhf(u) / (1.0f + expf(-w))",
            "fast": "const float e = __expf(-2.0f * u)\n__fdividef(1.0f - e, (1.0f + e) * (1.0f + __expf(-w)))",
            "literal": "tanh((double)u) / (1.0 + exp(-1.0 * w))",
            "halves": "tanhf(u) * (0.5f + 0.5f * tanhf(0.5f * w))",
        },
        {"swapped": "tanhf(w) / (1.0f + expf(-u))", "sign": "tanhf(u) / (1.0f + expf(w))"},
        staged=("1.0f / (1.0f + expf(-w))", "tanhf(u) * s"),
    ),
    pointwise(
        "silu_backward",
        "bfloat16",
        _GRAD_X,
        {
            "plain": "const float t = 1.0f / (1.0f + expf(-v))\ng * t * (1.0f + v * (1.0f - t))",
            "fast": "const float t = __fdividef(1.0f, 1.0f + __expf(-v))\ng * t * fmaf(v, 1.0f - t, 1.0f)",
            "literal": "const double t = 1.0 / (1.0 + exp(-1.0 * v))\ng * t * (1.0 + v * (1.0 - t))",
            "twice": "g / (1.0f + expf(-v)) * (1.0f + v / (1.0f + expf(v)))",
        },
        {
            "sign": "const float t = 1.0f / (1.0f + expf(-v))\ng * t * (1.0f - v * (1.0f - t))",
            "dropped": "g / (1.0f + expf(-v))",
        },
        staged=("1.0f / (1.0f + expf(-v))", "g * s * (1.0f + v * (1.0f - s))"),
    ),
    pointwise(
        "gelu_backward",
        "float32",
        _GRAD_X,
        {
            "plain": f"{_INNER}const float t = tanhf(u)\n"
            f"g * (0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * {_SLOPE})",
            "fast": f"{_INNER}{_BEND}g * (t + 2.0f * v * t * (1.0f - t) * {_SLOPE})",
            "literal": f"{_INNER}const double t = tanh((double)u)\n"
            f"g * (0.5 * (1.0 + t) + 0.5 * v * (1.0 - t * t) * {_SLOPE})",
            "power": f"{_INNER}const float t = tanhf(u)\n"
            f"g * (0.5f * (1.0f + t) + 0.5f * v * (1.0f - powf(t, 2.0f)) * {_SLOPE})",
        },
        {
            "dropped": f"{_INNER}{_BEND}g * t",
            "cubic": f"{_INNER}{_BEND}g * (t + 2.0f * v * t * (1.0f - t) * (0.79788456f + 0.035677408f * v * v))",
        },
        staged=(f"{_INNER}tanhf(u)", f"g * (0.5f * (1.0f + s) + 0.5f * v * (1.0f - s * s) * {_SLOPE})"),
    ),
    pointwise(
        "leaky_relu_bias",
        "bfloat16",
        (*_X, Read("b", "bias + col")),
        {
            "plain": "v += b\nv > 0.0f ? v : 0.1f * v",
            "fast": "v += b\nfmaxf(v, 0.1f * v)",
            "literal": "const double z = (double)v + b\nz > 0.0 ? z : 0.1 * z",
            "product": "v += b\nv * (v > 0.0f ? 1.0f : 0.1f)",
        },
        {"slope": "v += b\nv > 0.0f ? 0.1f * v : v"},
        {"row": Read("b", "bias + row % cols")},
        staged=("v + b", "s > 0.0f ? s : 0.1f * s"),
    ),
)

TEMPLATES = tuple(template(program) for program in PROGRAMS)
