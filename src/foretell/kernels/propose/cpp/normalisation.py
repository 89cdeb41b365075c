"""C++ templates of the normalisation family: how moments are gathered, in which precision, and how they are applied."""

from __future__ import annotations

from foretell.kernels.propose.cpp.fragments import (
    HEADER,
    SCHEDULES,
    Fold,
    fold_loop,
    parallel_for,
    schedule_fits,
    tidy,
)
from foretell.kernels.propose.template import Knobs, Template

_STYLE = ("plain", "simd", 8, 16, 32)
_SCALE = ("inside", "inverse", "newton", "newton twice")

_LAYERNORM_KNOBS = {
    "moments": ("two passes", "welford", "shifted", "raw"),
    "scalar": ("float", "double"),
    "style": _STYLE,
    "scale": _SCALE,
    "threads": ("one", "all"),
    "schedule": SCHEDULES,
    "buffer": ("none", "private", "shared"),
    "denominator": ("cols", "cols - 1"),
    "tail": ("full", "dropped"),
}

_RMSNORM_KNOBS = {
    "sweep": ("row", "whole"),
    "scalar": ("float", "double"),
    "style": _STYLE,
    "scale": _SCALE,
    "threads": ("one", "all"),
    "schedule": SCHEDULES,
    "buffer": ("none", "private", "shared"),
    "denominator": ("cols", "cols - 1"),
    "tail": ("full", "dropped"),
}

# Defined for float only: with double it is named but missing.
_INVERSE_ROOT = """
static inline float inverse_root(float v) {{
    union {{ float f; int32_t i; }} u;
    u.f = v;
    u.i = 0x5f3759df - (u.i >> 1);
    {steps}
    return u.f;
}}
"""
_NEWTON_STEP = "u.f *= 1.5f - 0.5f * v * u.f * u.f;"


def _valid(knobs: Knobs) -> bool:
    """What both templates demand: no senseless pairs, and the mistakes only among otherwise sound choices."""
    style, scale, scalar = knobs["style"], knobs["scale"], knobs["scalar"]
    first_schedule = knobs["schedule"] == SCHEDULES[0]
    usual = scale == "inverse" and scalar == "float"
    if not schedule_fits(knobs):
        return False
    if scale.startswith("newton"):
        double_fits = scalar == "float" or (style == "simd" and scale == "newton twice" and knobs["threads"] == "all")
        if style not in ("simd", 16) or not double_fits or (scale == "newton" and not first_schedule):
            return False
    if knobs["buffer"] != "none" and not (usual and style in ("plain", "simd", 16)):
        return False
    if knobs["denominator"] != "cols" and not (usual and style in ("plain", "simd") and first_schedule):
        return False
    if knobs["tail"] == "dropped" and not (usual and isinstance(style, int) and first_schedule):
        return False
    departures = (knobs["buffer"] != "none") + (knobs["denominator"] != "cols") + (knobs["tail"] != "full")
    return bool(departures <= 1)


def _layernorm_valid(knobs: Knobs) -> bool:
    moments, style, scale = knobs["moments"], knobs["style"], knobs["scale"]
    usual = knobs["buffer"] == "none" and knobs["denominator"] == "cols" and knobs["tail"] == "full"
    if moments == "welford" and (style not in ("plain", 16) or not usual or scale.startswith("newton")):
        return False
    if moments == "raw":
        if not usual or scale.startswith("newton"):
            return False
        if knobs["scalar"] == "float" and (scale != "inverse" or style == 32):
            return False
    if moments != "two passes" and (knobs["buffer"] != "none" or knobs["denominator"] != "cols"):
        return False
    return _valid(knobs)


def _rmsnorm_valid(knobs: Knobs) -> bool:
    if knobs["sweep"] == "whole" and (knobs["buffer"] != "none" or knobs["denominator"] != "cols"):
        return False
    return _valid(knobs)


def _welford(scalar: str, lanes: int) -> str:
    step = f"""for (; j < cols; ++j) {{
            const {scalar} delta = row[j] - mean;
            mean += delta / ({scalar})(j + 1);
            spread += delta * (row[j] - mean);
        }}"""
    if lanes == 1:
        return f"{scalar} mean = 0, spread = 0;\n        int64_t j = 0;\n        {step}"
    return f"""{scalar} mean = 0, spread = 0;
        {scalar} mean_part[{lanes}], spread_part[{lanes}], n = 0;
        for (int l = 0; l < {lanes}; ++l) mean_part[l] = spread_part[l] = 0;
        int64_t j = 0;
        for (; j + {lanes} <= cols; j += {lanes}) {{
            n += 1;
            const {scalar} share = 1 / n;
            for (int l = 0; l < {lanes}; ++l) {{
                const {scalar} delta = row[j + l] - mean_part[l];
                mean_part[l] += delta * share;
                spread_part[l] += delta * (row[j + l] - mean_part[l]);
            }}
        }}
        for (int l = 0; l < {lanes} && n > 0; ++l) {{
            const {scalar} delta = mean_part[l] - mean;
            mean += delta / (l + 1);
            spread += spread_part[l] + delta * delta * n * l / (l + 1);
        }}
        {step}"""


def _moments(knobs: Knobs) -> str:
    """Statements that leave the row's `mean` and `var`, and with a buffer the centred row in `centred`."""
    scalar, style, tail = knobs["scalar"], knobs["style"], knobs["tail"]
    if knobs["moments"] == "welford":
        lanes = 1 if style == "plain" else int(style)
        return f"{_welford(scalar, lanes)}\n        const {scalar} var = spread / cols;"
    if knobs["moments"] == "two passes":
        if knobs["buffer"] == "none":
            centre, value = "", "(row[{j}] - mean) * (row[{j}] - mean)"
        else:
            centre = "for (int64_t j = 0; j < cols; ++j) centred[j] = row[j] - mean;"
            value = "centred[{j}] * centred[{j}]"
        total = fold_loop([Fold("total", lambda j: f"row[{j}]", scalar=scalar)], style, tail=tail)
        spread = fold_loop([Fold("spread", lambda j: value.replace("{j}", j), scalar=scalar)], style, tail=tail)
        return f"""{scalar} total = 0, spread = 0;
        {total}
        const {scalar} mean = total / cols;
        {centre}
        {spread}
        const {scalar} var = spread / ({knobs["denominator"]});"""
    pivot = "row[0]" if knobs["moments"] == "shifted" else "0"

    def term(j: str) -> str:
        return f"(row[{j}] - pivot)" if knobs["moments"] == "shifted" else f"({scalar})row[{j}]"

    folds = [Fold("total", term, scalar=scalar), Fold("squares", lambda j: f"{term(j)} * {term(j)}", scalar=scalar)]
    return f"""const {scalar} pivot = {pivot};
        {scalar} total = 0, squares = 0;
        {fold_loop(folds, style, tail=tail)}
        const {scalar} mean = pivot + total / cols;
        const {scalar} var = squares / cols - (total / cols) * (total / cols);"""


def _factor(knobs: Knobs, argument: str) -> tuple[str, str]:
    """Statement before the last loop, and what each element is multiplied or divided by."""
    epsilon = "1e-5f" if knobs["scalar"] == "float" else "1e-5"
    if knobs["scale"] == "inside":
        return "", f"/ std::sqrt({argument} + {epsilon})"
    root = f"1 / std::sqrt({argument} + {epsilon})"
    if knobs["scale"] != "inverse":
        root = f"inverse_root({argument} + {epsilon})"
    return f"const float scale = {root};", "* scale"


def _helpers(knobs: Knobs) -> str:
    if not knobs["scale"].startswith("newton") or knobs["scalar"] == "double":
        return HEADER
    return HEADER + _INVERSE_ROOT.format(steps=_NEWTON_STEP if knobs["scale"] == "newton" else _NEWTON_STEP * 2)


def _render_layernorm(knobs: Knobs) -> str:
    before, factor = _factor(knobs, "var")
    value = "(row[k] - mean)" if knobs["buffer"] == "none" else "centred[k]"
    allocate, release = "float* centred = new float[cols];", "delete[] centred;"
    private, shared = knobs["buffer"] == "private", knobs["buffer"] == "shared"
    return tidy(f"""{_helpers(knobs)}
extern "C" void kernel(const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
                       float* __restrict__ out, int64_t rows, int64_t cols) {{
    {allocate if shared else ""}
    {parallel_for(knobs["threads"], knobs["schedule"])}for (int64_t i = 0; i < rows; ++i) {{
        const float* row = x + i * cols;
        float* dst = out + i * cols;
        {allocate if private else ""}
        {_moments(knobs)}
        {before}
        for (int64_t k = 0; k < cols; ++k) dst[k] = {value} {factor} * gamma[k] + beta[k];
        {release if private else ""}
    }}
    {release if shared else ""}
}}
""")


def _render_rmsnorm(knobs: Knobs) -> str:
    scalar, buffer = knobs["scalar"], knobs["buffer"]
    before, factor = _factor(knobs, f"squares / ({knobs['denominator']})")
    pragma = parallel_for(knobs["threads"], knobs["schedule"])

    def term(j: str) -> str:
        return f"({scalar})row[{j}] * row[{j}]" if buffer == "none" else f"powers[{j}]"

    fold = fold_loop([Fold("squares", term, scalar=scalar)], knobs["style"], tail=knobs["tail"])
    gather = f"{scalar} squares = 0;\n        {fold}"
    allocate, release = "float* powers = new float[cols];", "delete[] powers;"
    if knobs["sweep"] == "whole":
        stored = before.removeprefix("const float scale = ") or f"{factor.removeprefix('/ ')};"
        body = f"""float* factors = new float[rows];
    {pragma}for (int64_t i = 0; i < rows; ++i) {{
        const float* row = x + i * cols;
        {gather}
        factors[i] = {stored}
    }}
    {pragma}for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) out[i * cols + j] = x[i * cols + j] {factor[0]} factors[i] * gamma[j];
    delete[] factors;"""
    else:
        body = f"""{allocate if buffer == "shared" else ""}
    {pragma}for (int64_t i = 0; i < rows; ++i) {{
        const float* row = x + i * cols;
        float* dst = out + i * cols;
        {allocate if buffer == "private" else ""}
        {"for (int64_t j = 0; j < cols; ++j) powers[j] = row[j] * row[j];" if buffer != "none" else ""}
        {gather}
        {before}
        for (int64_t j = 0; j < cols; ++j) dst[j] = row[j] {factor} * gamma[j];
        {release if buffer == "private" else ""}
    }}
    {release if buffer == "shared" else ""}"""
    return tidy(f"""{_helpers(knobs)}
extern "C" void kernel(const float* __restrict__ x, const float* __restrict__ gamma, float* __restrict__ out,
                       int64_t rows, int64_t cols) {{
    {body}
}}
""")


TEMPLATES = (
    Template("layernorm", "cpp", _LAYERNORM_KNOBS, _render_layernorm, _layernorm_valid),
    Template("rmsnorm", "cpp", _RMSNORM_KNOBS, _render_rmsnorm, _rmsnorm_valid),
)
