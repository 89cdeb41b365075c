"""CUDA templates of the optimiser steps: walks, packs, one kernel or one for each result; mistakes."""

from __future__ import annotations

from collections.abc import Mapping

from foretell.kernels.propose.cuda.streams import Given, Made, Stream, stream_template


def _step(
    task: str,
    inputs: tuple[tuple[str, str], ...],
    renewed: tuple[str, ...],
    forms: Mapping[str, str],
    slips: Mapping[str, str],
) -> Stream:
    """A step whose inputs (name, dtype) are partly renewed: statements leave `NAME_out_o`."""
    outputs = tuple(Made(f"{name}_out", dtype, name) for name, dtype in inputs if name in renewed)
    given = tuple(Given(name, dtype) for name, dtype in inputs)
    return Stream(task, given, outputs, forms, slips, cols=f"{inputs[0][0]}.numel()")


_FLOAT = "float32"
_DECAYED, _MOMENT = "const float d = g_v + 0.01f * p_v;\n", "const float m_out_o = 0.9f * m_v + d;\n"
_VOTE, _SIGN = "const float u = 0.875f * m_v + 0.125f * g_v;\n", "const float s = float(u > 0.0f) - float(u < 0.0f);\n"
_MOVED, _LONG = (
    "const float p_out_o = p_v * 0.96875f - 0.125f * s;\n",
    "const float m_out_o = 0.96875f * m_v + 0.03125f * g_v;\n",
)
_SQUARES, _RUNNING = (
    "const float h_out_o = h_v + g_v * g_v;\n",
    "const float v_out_o = 0.99f * v_v + 0.01f * g_v * g_v;\n",
)


def _sgd(step: str) -> str:
    return f"{_DECAYED}{_MOMENT}const float p_out_o = p_v - 0.1f * {step};"


def _moved(start: str, step: str) -> str:
    return f"{start}const float p_out_o = p_v - 0.1f * {step};"


_STEPS = (
    _step(
        "sgd_momentum_step",
        (("p", _FLOAT), ("g", _FLOAT), ("m", _FLOAT)),
        ("p", "m"),
        {
            "plain": _sgd("(d + 0.9f * m_out_o)"),
            "fused": "const float d = fmaf(0.01f, p_v, g_v);\nconst float m_out_o = fmaf(0.9f, m_v, d);\n"
            "const float p_out_o = fmaf(-0.1f, fmaf(0.9f, m_out_o, d), p_v);",
            "double": "const double d = g_v + 0.01 * p_v;\nconst double m_out_o = 0.9 * m_v + d;\n"
            "const double p_out_o = p_v - 0.1 * (d + 0.9 * m_out_o);",
        },
        {"heavy": _sgd("m_out_o"), "stale": _sgd("(d + 0.9f * m_v)")},
    ),
    _step(
        "lion_step",
        (("p", "bfloat16"), ("g", "bfloat16"), ("m", "bfloat16")),
        ("p", "m"),
        {
            "plain": _VOTE + _SIGN + _MOVED + _LONG,
            "copied": f"{_VOTE}const float s = u == 0.0f ? 0.0f : copysignf(1.0f, u);\n{_MOVED}{_LONG}",
            "branched": f"{_VOTE}float s = 0.0f;\nif (u > 0.0f) s = 1.0f;\nif (u < 0.0f) s = -1.0f;\n{_MOVED}{_LONG}",
        },
        {
            "unsigned": f"{_VOTE}const float s = u;\n{_MOVED}{_LONG}",
            "late": f"{_LONG}const float u = 0.875f * m_out_o + 0.125f * g_v;\n{_SIGN}{_MOVED}",
        },
    ),
    _step(
        "adagrad_step",
        (("p", _FLOAT), ("g", _FLOAT), ("h", _FLOAT)),
        ("p", "h"),
        {
            "plain": _moved(_SQUARES, "g_v / (sqrtf(h_out_o) + 1e-10f)"),
            "rsqrt": _moved(_SQUARES, "g_v * rsqrtf(h_out_o)"),
            "divided": _moved(_SQUARES, "__fdividef(g_v, sqrtf(h_out_o) + 1e-10f)"),
        },
        {"stale": _moved(_SQUARES, "g_v / (sqrtf(h_v) + 1e-10f)"), "unrooted": _moved(_SQUARES, "g_v / h_out_o")},
    ),
    _step(
        "rmsprop_step",
        (("p", _FLOAT), ("g", "bfloat16"), ("v", _FLOAT)),
        ("p", "v"),
        {
            "plain": _moved(_RUNNING, "g_v / (sqrtf(v_out_o) + 1e-8f)"),
            "rsqrt": _moved(_RUNNING, "g_v * rsqrtf(v_out_o)"),
            "lerp": _moved(
                "const float v_out_o = v_v + 0.01f * (g_v * g_v - v_v);\n", "__fdividef(g_v, sqrtf(v_out_o) + 1e-8f)"
            ),
        },
        {
            "stale": _moved(_RUNNING, "g_v / (sqrtf(v_v) + 1e-8f)"),
            "crossed": _moved("const float v_out_o = 0.01f * v_v + 0.99f * g_v * g_v;\n", "g_v * rsqrtf(v_out_o)"),
        },
    ),
    _step(
        "ema_update",
        (("average", _FLOAT), ("p", "float16")),
        ("average",),
        {
            "plain": "const float average_out_o = 0.99f * average_v + 0.01f * p_v;",
            "lerp": "const float average_out_o = fmaf(0.01f, p_v - average_v, average_v);",
            "double": "const double average_out_o = 0.99 * average_v + 0.01 * p_v;",
        },
        {
            "narrow": "const float average_out_o = __half(0.99f) * __half(average_v) + __half(0.01f) * __half(p_v);",
        },
    ),
)

TEMPLATES = tuple(stream_template(step) for step in _STEPS)
