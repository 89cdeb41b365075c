"""C++ templates of the elementwise family: how functions are computed, how the matrix is walked, usual mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cpp.fragments import (
    COARSE_EXP,
    FAST_EXP,
    HEADER,
    ROUNDED_EXP,
    SCHEDULES,
    parallel_for,
    schedule_fits,
    tidy,
)
from foretell.kernels.propose.cpp.pointwise import Operand, Program, template
from foretell.kernels.propose.template import Knobs, Template

_KNOBS = {
    "form": (
        "tanh",
        "double tanh",
        "logistic",
        "logistic poly",
        "logistic rounded",
        "fraction",
        "table",
        "logistic coarse",
        "short fraction",
        "nearest",
        "erf",
        "sigmoid",
    ),
    "cube": ("product", "pow", "factored"),
    "walk": ("nested", "flat", "columns", "two sweeps"),
    "block": (1, 16, 64),
    "threads": ("one", "all"),
    "schedule": SCHEDULES,
    "tail": ("full", "dropped"),
}

# Close to the function that was asked for, but not close enough.
_INEXACT = ("logistic coarse", "short fraction", "nearest", "erf", "sigmoid")
_TABLED = ("table", "nearest")

_TABLE_SIZE = 4096

_GRID = f"""
static float grid[{_TABLE_SIZE} + 2];
static void fill_grid() {{
    for (int k = 0; k < {_TABLE_SIZE} + 2; ++k) grid[k] = std::tanh((k - {_TABLE_SIZE // 2}) * (16.0f / {_TABLE_SIZE}));
}}
"""


def _horner(coefficients: list[int]) -> str:
    text = f"{coefficients[-1]}.0f"
    for c in reversed(coefficients[:-1]):
        text = f"({text} * s + {c}.0f)"
    return text


def _fraction(depth: int) -> str:
    """tanh by its continued fraction u / (1 + u^2 / (3 + u^2 / (5 + ...))) cut after `depth`, as one quotient."""
    top, low = [2 * depth + 1], [1]  # polynomials in s = u^2; the part from level k down is top / low
    for k in range(depth, 0, -1):
        size = max(len(top), len(low) + 1)
        raised = [0, *low] + [0] * (size - len(low) - 1)
        padded = top + [0] * (size - len(top))
        top, low = [(2 * k - 1) * a + b for a, b in zip(padded, raised, strict=True)], top
    return f"""const float s = u * u;
    float t = u * {_horner(low)} / {_horner(top)};
    t = t < -1.0f ? -1.0f : t;
    t = t > 1.0f ? 1.0f : t;
    return 0.5f * v * (1.0f + t);"""


_CURVES = {
    "tanh": ("", "return 0.5f * v * (1.0f + std::tanh(u));"),
    "double tanh": ("", "return (float)(0.5 * v * (1.0 + std::tanh((double)u)));"),
    "logistic": ("", "return v / (1.0f + std::exp(-2.0f * u));"),
    "logistic poly": (FAST_EXP, "return v / (1.0f + exp_poly(-2.0f * u));"),
    "logistic rounded": (ROUNDED_EXP, "return v / (1.0f + exp_poly(-2.0f * u));"),
    "logistic coarse": (COARSE_EXP, "return v / (1.0f + exp_poly(-2.0f * u));"),
    "fraction": ("", _fraction(8)),
    "short fraction": ("", _fraction(4)),
    "table": (
        _GRID,
        f"""u = u < -7.99f ? -7.99f : u;
    u = u > 7.99f ? 7.99f : u;
    const float place = (u + 8.0f) * ({_TABLE_SIZE} / 16.0f);
    const int k = (int)place;
    const float part = place - k;
    return 0.5f * v * (1.0f + grid[k] + part * (grid[k + 1] - grid[k]));""",
    ),
    "nearest": (
        _GRID,
        f"""u = u < -7.99f ? -7.99f : u;
    u = u > 7.99f ? 7.99f : u;
    const int k = (int)((u + 8.0f) * ({_TABLE_SIZE} / 16.0f) + 0.5f);
    return 0.5f * v * (1.0f + grid[k]);""",
    ),
    "erf": ("", "return 0.5f * v * (1.0f + std::erf(v * 0.70710678f));"),
    "sigmoid": ("", "return v / (1.0f + std::exp(-1.702f * v));"),
}

_CUBES = {
    "product": "0.7978845608f * (v + 0.044715f * v * v * v)",
    "pow": "0.7978845608f * (v + 0.044715f * std::pow(v, 3.0f))",
    "factored": "v * (0.7978845608f + 0.0356774081f * v * v)",
}


def _valid(knobs: Knobs) -> bool:
    form, cube, walk, block = knobs["form"], knobs["cube"], knobs["walk"], knobs["block"]
    first_schedule = knobs["schedule"] == SCHEDULES[0]
    if not schedule_fits(knobs):
        return False
    if form in ("erf", "sigmoid") and cube != "product":
        return False
    if form in _INEXACT and (walk not in ("nested", "two sweeps") or block != 1 or not first_schedule or cube == "pow"):
        return False
    if cube == "pow" and (block != 1 or walk == "two sweeps" or form in _TABLED):
        return False
    if block > 1 and (walk != "nested" or form in ("double tanh", *_TABLED)):
        return False
    if walk in ("flat", "columns") and (cube == "product" or not first_schedule):
        return False
    if knobs["tail"] == "dropped":
        return bool(block > 1 and cube == "factored" and first_schedule and form in ("logistic rounded", "fraction"))
    return True


def _body(knobs: Knobs) -> str:
    pragma = parallel_for(knobs["threads"], knobs["schedule"])
    if knobs["walk"] == "flat":
        return f"""const int64_t total = rows * cols;
    {pragma}for (int64_t k = 0; k < total; ++k) out[k] = curve(x[k] + bias[k % cols]);"""
    if knobs["walk"] == "columns":
        return f"""{pragma}for (int64_t j = 0; j < cols; ++j)
        for (int64_t i = 0; i < rows; ++i) out[i * cols + j] = curve(x[i * cols + j] + bias[j]);"""
    if knobs["walk"] == "two sweeps":
        return f"""{pragma}for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) out[i * cols + j] = x[i * cols + j] + bias[j];
    {pragma}for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) out[i * cols + j] = curve(out[i * cols + j]);"""
    block = knobs["block"]
    if block == 1:
        inner = "for (int64_t j = 0; j < cols; ++j) dst[j] = curve(row[j] + bias[j]);"
    else:
        rest = "for (; j < cols; ++j) dst[j] = curve(row[j] + bias[j]);" if knobs["tail"] == "full" else ""
        inner = f"""int64_t j = 0;
        for (; j + {block} <= cols; j += {block}) {{
            float part[{block}];
            for (int l = 0; l < {block}; ++l) part[l] = row[j + l] + bias[j + l];
            for (int l = 0; l < {block}; ++l) part[l] = curve(part[l]);
            for (int l = 0; l < {block}; ++l) dst[j + l] = part[l];
        }}
        {rest}"""
    return f"""{pragma}for (int64_t i = 0; i < rows; ++i) {{
        const float* row = x + i * cols;
        float* dst = out + i * cols;
        {inner}
    }}"""


def _render(knobs: Knobs) -> str:
    helper, curve = _CURVES[knobs["form"]]
    argument = "" if knobs["form"] in ("erf", "sigmoid") else f"float u = {_CUBES[knobs['cube']]};"
    return tidy(f"""{HEADER}{helper}
static inline float curve(float v) {{
    {argument}
    {curve}
}}
extern "C" void kernel(const float* __restrict__ x, const float* __restrict__ bias, float* __restrict__ out,
                       int64_t rows, int64_t cols) {{
    {"fill_grid();" if knobs["form"] in _TABLED else ""}
    {_body(knobs)}
}}
""")


_U = "const float u = 0.7978845608f * (a + 0.044715f * a * a * a)\n"
_V = "const float u = 0.7978845608f * (b + 0.044715f * b * b * b)\n"
_FRACTION = f"""
static inline float gelu(float v) {{
    const float u = {_CUBES["factored"]};
    {_fraction(10)}
}}
"""
_HELD = "std::min(std::max(u * v + w, -4.0f), 4.0f)"
_KEPT = "const float h = u * v + w\nconst float t = h < -4.0f ? -4.0f : h\nconst float c = t > 4.0f ? 4.0f : t\n"
_POWER = (
    "const float r = c * 0.0625f\n"
    "float p = 1.0f + r * (1.0f + r * (0.5f + r * (0.16666667f + r * (0.041666667f + r * (0.0083333333f"
    " + r * 0.0013888889f)))))\np *= p\np *= p\np *= p\np *= p\n"
)

PROGRAMS = (
    Program(
        "geglu",
        (Operand("a", "x", "{i} * 2 * cols + {j}"), Operand("b", "x", "{i} * 2 * cols + cols + {j}")),
        {
            "tanh": ("", f"{_U}0.5f * a * (1.0f + std::tanh(u)) * b"),
            "double": ("", f"{_U}0.5 * a * (1.0 + std::tanh((double)u)) * b"),
            "power": ("", "0.5f * a * (1.0f + std::tanh(0.7978845608f * (a + 0.044715f * std::pow(a, 3.0f)))) * b"),
            "logistic": ("", f"{_U}a / (1.0f + std::exp(-2.0f * u)) * b"),
            "fraction": (_FRACTION, "gelu(a) * b"),
            "rounded": (ROUNDED_EXP, f"{_U}a * b / (1.0f + exp_poly(-2.0f * u))"),
        },
        {
            "sigmoid": (ROUNDED_EXP, "a * b / (1.0f + exp_poly(-1.702f * a))"),
            "erf": ("", "0.5f * a * (1.0f + std::erf(a * 0.70710678f)) * b"),
            "swapped": ("", f"{_V}b / (1.0f + std::exp(-2.0f * u)) * a"),
        },
        {
            "tanh": (f"{_U}0.5f * a * (1.0f + std::tanh(u))", "s * b"),
            "rounded": (f"{_U}a / (1.0f + exp_poly(-2.0f * u))", "s * b"),
        },
        {"b": "{i} * cols + cols + {j}"},
    ),
    Program(
        "mul_add_exp",
        (Operand("u", "x"), Operand("v", "y"), Operand("w", "z")),
        {
            "libm": ("", f"std::exp({_HELD})"),
            "double": ("", "std::exp(std::fmin(std::fmax((double)u * v + w, -4.0), 4.0))"),
            "late": ("", "std::min(std::max(std::exp(u * v + w), 0.018315639f), 54.598150f)"),
            "binary": ("", f"std::exp2({_HELD} * 1.44269504f)"),
            "rounded": (ROUNDED_EXP, f"{_KEPT}exp_poly(c)"),
            "squared": ("", f"{_KEPT}{_POWER}p"),
        },
        {
            "coarse": (COARSE_EXP, f"{_KEPT}exp_poly(c)"),
            "open": ("", "std::exp(std::min(u * v + w, 4.0f))"),
            "order": (ROUNDED_EXP, "exp_poly(std::min(std::max(u * (v + w), -4.0f), 4.0f))"),
        },
        {"libm": (_HELD, "std::exp(s)"), "rounded": (f"{_KEPT}c", "exp_poly(s)")},
    ),
    Program(
        "masked_residual",
        (Operand("v", "x"), Operand("m", "keep", scalar="uint8_t"), Operand("w", "residual")),
        {
            "product": ("", "w + v * m * 1.25f"),
            "double": ("", "w + v * m * 1.25"),
            "lookup": ("\nstatic const float factors[2] = {0.0f, 1.25f};\n", "w + v * factors[m]"),
            "branch": ("", "if (m == 0) return w\nw + v * 1.25f"),
            "select": ("", "const float t = v * 1.25f\nw + (m ? t : 0.0f)"),
        },
        {
            "unscaled": ("", "w + v * m"),
            "inverse": ("", "m ? w : w + v * 1.25f"),
            "outside": ("", "(w + v * m) * 1.25f"),
        },
        {"product": ("v * m * 1.25f", "w + s"), "select": ("m ? v * 1.25f : 0.0f", "w + s")},
    ),
)

TEMPLATES = (
    Template("bias_gelu", "cpp", _KNOBS, _render, _valid),
    *(template(program) for program in PROGRAMS),
)
