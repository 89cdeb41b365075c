"""C++ templates of the activation family: libm, double or polynomial formulas, ways to walk the matrix, mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cpp.fragments import COARSE_EXP, FAST_EXP, FLUSHED_EXP, ROUNDED_EXP
from foretell.kernels.propose.cpp.pointwise import Operand, Program, template

_X = (Operand("v", "x"),)
_SIZE = "const float a = v < 0.0f ? -v : v\n"
_ABOVE = "(v > 0.0f ? v : 0.0f)"
_ATANH = f"{_SIZE}const float e = exp_poly(-a)\nconst float z = e / (2.0f + e)\nconst float q = z * z\n"
_SERIES = "2.0f * z * (1.0f + q * (0.33333333f + q * (0.2f + q * (0.14285714f + q * (0.11111111f + q * 0.09090909f)))))"
_HELD = "const float h = v + 3.0f\nconst float t = h < 0.0f ? 0.0f : h\nconst float c = t > 6.0f ? 6.0f : t\n"
_CLAMPED = "std::min(std::max(v + 3.0f, 0.0f), 6.0f)"
_ROOT = f"{_SIZE}const float y = a * 0.70710678f\n"
_SIGNED = "0.5f * v * (1.0f + (v < 0.0f ? -r : r))"
_SUM = (
    "1.0f + y * (0.0705230784f + y * (0.0422820123f + y * (0.0092705272f + y * (0.0001520143f"
    " + y * (0.0002765672f + y * 0.0000430638f)))))"
)
_BELL = (
    "const float k = 1.0f / (1.0f + 0.3275911f * y)\n"
    "const float p = k * (0.254829592f + k * (-0.284496736f + k * (1.421413741f + k * (-1.453152027f"
    " + k * 1.061405429f))))\n"
)

PROGRAMS = (
    Program(
        "silu",
        _X,
        {
            "libm": ("", "v / (1.0f + std::exp(-v))"),
            "double": ("", "v / (1.0 + std::exp(-1.0 * v))"),
            "tanh": ("", "0.5f * v * (1.0f + std::tanh(0.5f * v))"),
            "power": ("", "v / (1.0f + std::pow(2.71828183f, -v))"),
            "poly": (FAST_EXP, "v / (1.0f + exp_poly(-v))"),
            "rounded": (ROUNDED_EXP, "v / (1.0f + exp_poly(-v))"),
        },
        {
            "coarse": (COARSE_EXP, "v / (1.0f + exp_poly(-v))"),
            "sign": (ROUNDED_EXP, "v / (1.0f + exp_poly(v))"),
            "unscaled": ("", "1.0f / (1.0f + std::exp(-v))"),
        },
        {"libm": ("1.0f / (1.0f + std::exp(-v))", "v * s"), "rounded": ("1.0f + exp_poly(-v)", "v / s")},
    ),
    Program(
        "softplus",
        _X,
        {
            "libm": ("", "v > 20.0f ? v : std::log1p(std::exp(v))"),
            "double": ("", "v > 20.0f ? v : std::log(1.0 + std::exp((double)v))"),
            "halves": ("", "std::max(v, 0.0f) + std::log1p(std::exp(-std::fabs(v)))"),
            "logarithm": (ROUNDED_EXP, f"{_SIZE}{_ABOVE} + std::log(1.0f + exp_poly(-a))"),
            "poly": (FAST_EXP, f"{_ATANH}{_ABOVE} + {_SERIES}"),
            "rounded": (ROUNDED_EXP, f"{_ATANH}{_ABOVE} + {_SERIES}"),
        },
        {
            "overflow": ("", "std::log(1.0f + std::exp(v))"),
            "short": (ROUNDED_EXP, f"{_ATANH}{_ABOVE} + 2.0f * z * (1.0f + q * 0.33333333f)"),
            "sign": ("", "std::max(v, 0.0f) + std::log1p(std::exp(std::fabs(v)))"),
        },
        {
            "libm": ("std::exp(v)", "v > 20.0f ? v : std::log1p(s)"),
            "halves": ("std::log1p(std::exp(-std::fabs(v)))", "std::max(v, 0.0f) + s"),
        },
    ),
    Program(
        "hardswish",
        _X,
        {
            "clamp": ("", f"v * {_CLAMPED} / 6.0f"),
            "double": ("", "v * std::fmin(std::fmax(v + 3.0, 0.0), 6.0) / 6.0"),
            "branch": ("", "if (v <= -3.0f) return 0.0f\nif (v >= 3.0f) return v\nv * (v + 3.0f) / 6.0f"),
            "library": ("", "v * std::fmin(std::fmax(v + 3.0f, 0.0f), 6.0f) / 6.0f"),
            "factor": ("", f"{_HELD}v * (c * 0.16666667f)"),
        },
        {
            "unbounded": ("", "v * std::max(v + 3.0f, 0.0f) / 6.0f"),
            "offset": ("", f"(v + 3.0f) * {_CLAMPED} / 6.0f"),
            "integer": ("", f"v * (int)({_CLAMPED} / 6.0f)"),
        },
        {"clamp": (_CLAMPED, "v * s / 6.0f"), "factor": (f"{_HELD}c * 0.16666667f", "v * s")},
    ),
    Program(
        "gelu_erf",
        _X,
        {
            "erf": ("", "0.5f * v * (1.0f + std::erf(v * 0.70710678f))"),
            "double": ("", "0.5 * v * (1.0 + std::erf(v / std::sqrt(2.0)))"),
            "complement": ("", "0.5f * v * std::erfc(-0.70710678f * v)"),
            "bell": (FLUSHED_EXP, f"{_ROOT}{_BELL}const float r = 1.0f - p * exp_poly(-y * y)\n{_SIGNED}"),
            "bell libm": ("", f"{_ROOT}{_BELL}const float r = 1.0f - p * std::exp(-y * y)\n{_SIGNED}"),
            "sixteenth": (
                "",
                f"{_ROOT}float d = {_SUM}\nd *= d\nd *= d\nd *= d\nd *= d\nconst float r = 1.0f - 1.0f / d\n{_SIGNED}",
            ),
        },
        {
            "tanh": ("", "0.5f * v * (1.0f + std::tanh(0.7978845608f * (v + 0.044715f * v * v * v)))"),
            "sigmoid": (ROUNDED_EXP, "v / (1.0f + exp_poly(-1.702f * v))"),
            "unscaled": ("", "0.5f * v * (1.0f + std::erf(v))"),
        },
        {
            "erf": ("std::erf(v * 0.70710678f)", "0.5f * v * (1.0f + s)"),
            "complement": ("std::erfc(-0.70710678f * v)", "0.5f * v * s"),
        },
    ),
)

TEMPLATES = tuple(template(program) for program in PROGRAMS)
