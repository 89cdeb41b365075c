"""C++ templates of the softmax family: number of passes, kind of exponential, partial sums, threads, usual mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cpp.fragments import (
    EXPONENTIALS,
    HEADER,
    SCHEDULES,
    Fold,
    fold_loop,
    parallel_for,
    schedule_fits,
    tidy,
)
from foretell.kernels.propose.template import Knobs, Template

_EXP = ("libm", "double", "poly", "rounded", "flushed", "coarse")
_STYLE = ("plain", "simd", 8, 32)

_SOFTMAX_KNOBS = {
    "passes": ("three", "two", "online", "unshifted"),
    "exp": _EXP,
    "threads": ("one", "all"),
    "schedule": SCHEDULES,
    "style": _STYLE,
    "last": ("divide", "reciprocal"),
    "buffer": ("none", "private", "shared"),
    "tail": ("full", "dropped"),
}

_LOG_SOFTMAX_KNOBS = {
    "passes": ("two", "online", "unshifted", "probabilities"),
    "exp": _EXP,
    "threads": ("one", "all"),
    "schedule": SCHEDULES,
    "style": _STYLE,
    "last": ("inside", "hoisted", "undeclared"),
    "tail": ("full", "dropped"),
}


def _valid(knobs: Knobs, plain_last: str) -> bool:
    """What both templates demand: no senseless pairs, and the mistakes only among otherwise sound choices."""
    exp, style, passes, last = knobs["exp"], knobs["style"], knobs["passes"], knobs["last"]
    first_schedule = knobs["schedule"] == SCHEDULES[0]
    if not schedule_fits(knobs) or (passes == "online" and style != "plain"):
        return False
    if exp == "double" and (style not in ("plain", 8) or last != plain_last):
        return False
    if exp == "coarse" and (passes not in ("three", "two") or style != "simd" or last == plain_last):
        return False
    if passes in ("unshifted", "probabilities"):
        sound = style == ("plain" if exp == "libm" else "simd") and last != plain_last and first_schedule
        return bool(sound and exp in ("libm", "rounded", "flushed") and knobs["tail"] == "full")
    if knobs["tail"] == "dropped":
        return bool(style in (8, 32) and exp in ("rounded", "flushed") and last != plain_last and first_schedule)
    return not (style == 32 and (exp not in ("rounded", "flushed") or last == plain_last))


def _softmax_valid(knobs: Knobs) -> bool:
    if knobs["buffer"] != "none":
        sound = knobs["passes"] == "three" and knobs["style"] == "simd" and knobs["last"] == "reciprocal"
        if not sound or knobs["exp"] == "coarse":
            return False
    return _valid(knobs, "divide")


def _log_softmax_valid(knobs: Knobs) -> bool:
    if knobs["last"] == "undeclared":
        same = {**knobs, "last": "hoisted"}
        chosen = knobs["exp"] == "flushed" and knobs["style"] == "simd" and knobs["passes"] == "two"
        return bool(chosen and knobs["threads"] == "all" and knobs["tail"] == "full" and _valid(same, "inside"))
    return _valid(knobs, "inside")


def _call(knobs: Knobs, argument: str) -> str:
    if knobs["exp"] == "double":
        return f"(float)std::exp((double)({argument}))"
    return f"{'std::exp' if knobs['exp'] == 'libm' else 'exp_poly'}({argument})"


def _sums(knobs: Knobs, kept: str) -> str:
    """Statements that leave the row's `peak` and the `sum` of its exponentials, kept in the array `kept` if named."""
    if knobs["passes"] == "online":
        return f"""float peak = -INFINITY, sum = 0.0f;
        for (int64_t j = 0; j < cols; ++j) {{
            const float v = row[j];
            if (v > peak) {{ sum = sum * {_call(knobs, "peak - v")} + 1.0f; peak = v; }}
            else sum += {_call(knobs, "v - peak")};
        }}"""
    style, tail = knobs["style"], knobs["tail"]

    def term(j: str) -> str:
        value = _call(knobs, f"row[{j}] - peak")
        return f"({kept}[{j}] = {value})" if kept else value

    total = fold_loop([Fold("sum", term)], style, tail=tail)
    if knobs["passes"] == "unshifted":
        return f"const float peak = 0.0f;\n        float sum = 0.0f;\n        {total}"
    peak = fold_loop([Fold("peak", lambda j: f"row[{j}]", op="max")], style, tail=tail)
    return f"float peak = -INFINITY, sum = 0.0f;\n        {peak}\n        {total}"


def _softmax_row(knobs: Knobs) -> str:
    kept = "dst" if knobs["passes"] in ("three", "unshifted") else ""
    if knobs["buffer"] != "none":
        kept = "terms"
    value = f"{kept}[j]" if kept else _call(knobs, "row[j] - peak")
    before, factor = ("const float inv = 1.0f / sum;", "* inv") if knobs["last"] == "reciprocal" else ("", "/ sum")
    private = knobs["buffer"] == "private"
    return f"""{"float* terms = new float[cols];" if private else ""}
        {_sums(knobs, kept)}
        {before}
        for (int64_t j = 0; j < cols; ++j) dst[j] = {value} {factor};
        {"delete[] terms;" if private else ""}"""


def _log_softmax_row(knobs: Knobs) -> str:
    if knobs["passes"] == "probabilities":
        return f"""{_sums(knobs, "dst")}
        for (int64_t j = 0; j < cols; ++j) dst[j] = std::log(dst[j] / sum);"""
    before, value = {
        "inside": ("", "row[j] - peak - std::log(sum)"),
        "hoisted": ("const float shift = peak + std::log(sum);", "row[j] - shift"),
        "undeclared": ("const float shift = peak + log_sum;", "row[j] - shift"),
    }[knobs["last"]]
    return f"""{_sums(knobs, "")}
        {before}
        for (int64_t j = 0; j < cols; ++j) dst[j] = {value};"""


def _program(knobs: Knobs, row: str, shared: bool) -> str:
    return tidy(f"""{HEADER}{EXPONENTIALS.get(knobs["exp"], "")}
extern "C" void kernel(const float* __restrict__ x, float* __restrict__ out, int64_t rows, int64_t cols) {{
    {"float* terms = new float[cols];" if shared else ""}
    {parallel_for(knobs["threads"], knobs["schedule"])}for (int64_t i = 0; i < rows; ++i) {{
        const float* row = x + i * cols;
        float* dst = out + i * cols;
        {row}
    }}
    {"delete[] terms;" if shared else ""}
}}
""")


def _render_softmax(knobs: Knobs) -> str:
    return _program(knobs, _softmax_row(knobs), knobs["buffer"] == "shared")


def _render_log_softmax(knobs: Knobs) -> str:
    return _program(knobs, _log_softmax_row(knobs), shared=False)


TEMPLATES = (
    Template("softmax", "cpp", _SOFTMAX_KNOBS, _render_softmax, _softmax_valid),
    Template("log_softmax", "cpp", _LOG_SOFTMAX_KNOBS, _render_log_softmax, _log_softmax_valid),
)
