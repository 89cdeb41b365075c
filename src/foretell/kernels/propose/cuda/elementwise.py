"""CUDA templates of the elementwise family: flat or by rows, packs, items a thread, grid-stride; and mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from foretell.kernels.propose.cuda.fragments import BOUNDED, C_TYPES, PACK, constants, module
from foretell.kernels.propose.cuda.pointwise import Read, pointwise, template
from foretell.kernels.propose.template import Knobs, Template

RESIDENT_BLOCKS = 1056
_KNOBS = {
    "walk": ("flat", "stride", "rows", "columns"),
    "threads": (256, 64, 128, 512, 1024),
    "vector": (1, 2, 4, 8),
    "items": (1, 2, 4),
    "formula": (0, 1, 2, 3),
    "slip": ("none", "floor", "misnamed", "twice"),
}


@dataclass(frozen=True)
class Elementwise:
    """`inputs` are matrices like the output, `along` vectors over columns; formulas give an item after `before`."""

    task: str
    dtype: str
    inputs: tuple[str, ...]
    along: tuple[str, ...]
    formulas: tuple[str, ...]
    before: str = ""


def _valid(program: Elementwise) -> Callable[[Knobs], bool]:
    def valid(knobs: Knobs) -> bool:
        walk, threads, vector, items = knobs["walk"], knobs["threads"], knobs["vector"], knobs["items"]
        formula, slip = knobs["formula"], knobs["slip"]
        if formula >= len(program.formulas):
            return False
        if walk == "columns" and (vector > 1 or items > 1 or threads not in (64, 256) or slip != "none"):
            return False
        if walk == "rows" and (items > 1 or threads == 1024):
            return False
        if walk == "stride" and items == 2:
            return False
        if threads in (64, 1024) and (items > 1 or formula > 0):
            return False
        if formula in (1, 2) and not (
            threads == 256 and vector in (1, 8) and items == 1 and walk in ("flat", "stride")
        ):
            return False
        if formula == 3 and not (threads == 256 and items == 1 and walk != "columns" and vector in (1, 4)):
            return False
        if items > 1 and (vector in (1, 2) or threads == 128):
            return False
        return slip == "none" or (
            threads == 256 and vector == 8 and items == 1 and formula == 0 and walk in ("flat", "stride", "rows")
        )

    return valid


def _columns(program: Elementwise, knobs: Knobs, index: str, column: str) -> str:
    """Work on one pack (or item) at `index`, whose first column is `column`."""
    formula = program.formulas[knobs["formula"]]
    if knobs["vector"] == 1:
        loads = "".join(f"const float {name}_v = {name}[{index}];\n" for name in program.inputs)
        loads += "".join(f"const float {name}_v = {name}[{column}];\n" for name in program.along)
        return f"{loads}{program.before}\nout[{index}] = T({formula});\n"
    # Within a row a pack of the vectors is whole; in a flat walk it may wrap around the row's end.
    by_row = column == "column"
    places = [(name, index) for name in program.inputs]
    places += [(name, column) for name in program.along] if by_row else []
    whole = ("const Pack<V> p_{0} = *reinterpret_cast<const Pack<V>*>({0} + {1});\n".format(*place) for place in places)
    floats = "".join(f"const float {name}_v = p_{name}.v[k];\n" for name in program.inputs)
    place = "p_{0}.v[k]" if by_row else f"{{0}}[({column} + k) % cols]"
    floats += "".join(f"const float {name}_v = {place.format(name)};\n" for name in program.along)
    return f"""{"".join(whole)}
    Pack<V> q;
    #pragma unroll
    for (int k = 0; k < V; ++k) {{
    {floats}
    {program.before}
    q.v[k] = T({formula});
    }}
    *reinterpret_cast<Pack<V>*>(out + {index}) = q;
    """


def _rest(program: Elementwise, knobs: Knobs, start: str, end: str) -> str:
    """Items that fill no pack, one by one."""
    single = {**knobs, "vector": 1}
    if knobs["vector"] == 1 or knobs["slip"] == "floor":
        return ""
    return f"for (long long j = {start}; j < {end}; ++j) {{\n{_columns(program, single, 'j', 'j % cols')}}}\n"


def _body(program: Elementwise, knobs: Knobs) -> str:
    walk, vector, items = knobs["walk"], knobs["vector"], knobs["items"]
    total = "length" if knobs["slip"] == "misnamed" else "total"
    if walk == "columns":
        return f"""const int row = blockIdx.x * THREADS + threadIdx.x;
        if (row >= rows) return;
        for (int column = 0; column < cols; ++column) {{
        const long long i = (long long)row * cols + column;
        {_columns(program, knobs, "i", "column")}
        }}
        """
    if walk == "rows":
        step = f"THREADS{' * V' if vector > 1 else ''}"
        start = f"threadIdx.x{' * V' if vector > 1 else ''}"
        end = "cols - V + 1" if vector > 1 else "cols"
        inner = f"""for (int column = {start}; column < {end}; column += {step}) {{
        const long long i = base + column;
        {_columns(program, knobs, "i", "column")}
        }}
        """
        if vector > 1:
            single = {**knobs, "vector": 1}
            rest = f"""else for (int column = threadIdx.x; column < cols; column += THREADS) {{
            const long long i = base + column;
            {_columns(program, single, "i", "column")}
            }}"""
            inner = f"if (cols % V == 0) {{\n{inner}}}\n{'' if knobs['slip'] == 'floor' else rest}\n"
        missing = "const int wide = length;\n" if knobs["slip"] == "misnamed" else ""
        return f"{missing}const long long base = (long long)blockIdx.x * cols;\n{inner}"
    tile = f"THREADS{' * V' if vector > 1 else ''}"
    at = f"threadIdx.x{' * V' if vector > 1 else ''}"
    inside = f"i + {vector} <= {total}" if vector > 1 else f"i < {total}"
    one = f"if ({inside}) {{\n{_columns(program, knobs, 'i', 'i % cols' if vector == 1 else 'i')}}}"
    rest = _rest(program, knobs, "i", "total")
    one = one + (f" else {{\n{rest}}}\n" if rest else "\n")
    if walk == "stride":
        ahead = f"#pragma unroll {items}\n" if items > 1 else ""
        return f"""const long long total = (long long)rows * cols;
        const long long step = (long long)gridDim.x * {tile};
        {ahead}for (long long i = (long long)blockIdx.x * {tile} + {at}; i < total; i += step) {{
        {one}
        }}
        """
    if items == 1:
        return f"""const long long total = (long long)rows * cols;
        const long long i = (long long)blockIdx.x * {tile} + {at};
        {one}
        """
    return f"""const long long total = (long long)rows * cols;
    #pragma unroll
    for (int s = 0; s < {items}; ++s) {{
    const long long i = ((long long)blockIdx.x * {items} + s) * {tile} + {at};
    {one}
    }}
    """


def _host(program: Elementwise, knobs: Knobs) -> str:
    names = ", ".join(_names(program))
    first = program.inputs[0]
    threads, each = knobs["threads"], knobs["threads"] * knobs["vector"] * knobs["items"]
    grid = {
        "flat": f"{'int' if knobs['slip'] == 'floor' else 'math.ceil'}(rows * cols / {each})",
        "stride": f"min({RESIDENT_BLOCKS}, math.ceil(rows * cols / {threads * knobs['vector']}))",
        "rows": "rows",
        "columns": f"math.ceil(rows / {threads})",
    }[knobs["walk"]]
    launch = f"    program.body(({grid},), ({threads},), ({names}, out, rows, cols))\n"
    return f"""def kernel({names}):
    rows, cols = {first}.shape
    out = torch.empty_like({first})
{launch * (2 if knobs["slip"] == "twice" else 1)}    return out
"""


def _names(program: Elementwise) -> tuple[str, ...]:
    return (*program.inputs, *program.along)


def _render(program: Elementwise, knobs: Knobs) -> str:
    numbers = {"THREADS": knobs["threads"]} | ({"V": knobs["vector"]} if knobs["vector"] > 1 else {})
    parameters = ", ".join(f"const T* __restrict__ {name}" for name in _names(program))
    text = f"""using T = {C_TYPES[program.dtype]};
    {constants(**numbers)}{PACK if knobs["vector"] > 1 else ""}
    {BOUNDED}({parameters}, T* __restrict__ out, int rows, int cols) {{
    {_body(program, knobs)}
    }}
    """
    return module(text, _host(program, knobs), (program.dtype,))


_CUBIC = "0.79788456f * (z + 0.044715f * z * z * z)"
BIAS_GELU = Elementwise(
    "bias_gelu",
    "float16",
    ("x",),
    ("bias",),
    (
        f"0.5f * z * (1.0f + tanhf({_CUBIC}))",
        f"z / (1.0f + __expf(-2.0f * {_CUBIC}))",
        "0.5f * z * (1.0f + erff(z * 0.70710678f))",
        "z / (1.0f + __expf(-z))",
    ),
    before="const float z = x_v + bias_v;",
)
SWIGLU = Elementwise(
    "swiglu",
    "bfloat16",
    ("a", "b"),
    (),
    (
        "a_v / (1.0f + expf(-a_v)) * b_v",
        "a_v / (1.0f + __expf(-a_v)) * b_v",
        "__fdividef(a_v, 1.0f + __expf(-a_v)) * b_v",
        "b_v / (1.0f + expf(-b_v)) * a_v",
    ),
)
RELU_SQUARED_SCALE = Elementwise(
    "relu_squared_scale",
    "float16",
    ("x",),
    ("scale",),
    (
        "fmaxf(x_v, 0.0f) * fmaxf(x_v, 0.0f) * scale_v",
        "x_v * fmaxf(x_v, 0.0f) * scale_v",
        "x_v > 0.0f ? x_v * x_v * scale_v : 0.0f",
        "x_v * x_v * scale_v",
    ),
)
AFFINE_CLAMP = Elementwise(
    "affine_clamp",
    "float32",
    ("x",),
    ("scale", "shift"),
    (
        "fminf(fmaxf(x_v * scale_v + shift_v, -1.0f), 1.0f)",
        "fmaxf(fminf(fmaf(x_v, scale_v, shift_v), 1.0f), -1.0f)",
        "__saturatef(fmaf(x_v, scale_v, shift_v) * 0.5f + 0.5f) * 2.0f - 1.0f",
        "fminf(x_v * scale_v + shift_v, 1.0f)",
    ),
)

_U = "const float u = 0.79788456f * (a + 0.044715f * a * a * a)\n"
_GEGLU = pointwise(
    "geglu",
    "float16",
    (Read("a", "x + row * 2 * cols + col"), Read("b", "x + row * 2 * cols + cols + col")),
    {
        "plain": f"{_U}0.5f * a * (1.0f + tanhf(u)) * b",
        "fast": f"{_U}__fdividef(a, 1.0f + __expf(-2.0f * u)) * b",
        "literal": "0.5 * a * (1.0 + erf(a * 0.7071067811865476)) * b",
        "erf": "0.5f * a * (1.0f + erff(a * 0.70710678f)) * b",
    },
    {"rough": "a / (1.0f + __expf(-1.702f * a)) * b", "swapped": "0.5f * b * (1.0f + erff(b * 0.70710678f)) * a"},
    staged=(f"{_U}0.5f * a * (1.0f + tanhf(u))", "s * b"),
    inputs=(("x", "float16"),),
    cols="x.shape[1] // 2",
    out="torch.empty((rows, cols), dtype=x.dtype, device=x.device)",
)
_HELD = "fminf(fmaxf(u * v + w, -4.0f), 4.0f)"
_MUL_ADD_EXP = pointwise(
    "mul_add_exp",
    "float32",
    (Read("u", "x + i"), Read("v", "y + i"), Read("w", "z + i")),
    {
        "plain": f"expf({_HELD})",
        "fast": "__expf(fminf(fmaxf(fmaf(u, v, w), -4.0f), 4.0f))",
        "literal": "exp(fmin(fmax((double)u * v + w, -4.0), 4.0))",
        "late": "fminf(fmaxf(expf(u * v + w), 0.01831564f), 54.59815f)",
    },
    {"open": "expf(fminf(u * v + w, 4.0f))", "order": "expf(fminf(fmaxf(u * (v + w), -4.0f), 4.0f))"},
    staged=(_HELD, "expf(s)"),
)
_MASKED_RESIDUAL = pointwise(
    "masked_residual",
    "bfloat16",
    (Read("v", "x + i"), Read("m", "keep + i", "uint8"), Read("w", "residual + i")),
    {
        "plain": "w + v * m * 1.25f",
        "fused": "fmaf(v, m * 1.25f, w)",
        "literal": "w + v * m * 1.25",
        "branch": "m != 0.0f ? w + v * 1.25f : w",
    },
    {"unscaled": "w + v * m", "inverse": "w + v * (1.0f - m) * 1.25f"},
    staged=("v * m * 1.25f", "w + s"),
)


def _template(program: Elementwise) -> Template:
    return Template(program.task, "cuda", _KNOBS, lambda knobs: _render(program, knobs), _valid(program))


TEMPLATES = (
    *(_template(p) for p in (BIAS_GELU, SWIGLU, RELU_SQUARED_SCALE, AFFINE_CLAMP)),
    *(template(p) for p in (_GEGLU, _MUL_ADD_EXP, _MASKED_RESIDUAL)),
)
