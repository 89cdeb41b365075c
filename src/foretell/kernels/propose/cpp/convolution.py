"""C++ templates of the convolution family: borders, loop order, register blocks, packed weights, and mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cpp.dense import HEADER, NARROW, Rules, fits, parallel, vector_type
from foretell.kernels.propose.cpp.depthwise import TEMPLATE as DEPTHWISE
from foretell.kernels.propose.cpp.fragments import tidy
from foretell.kernels.propose.template import Knobs, Template

_TAPS = [(r, s) for r in range(3) for s in range(3)]
_INSIDE = "y >= 0 && y < height && z >= 0 && z < width"

_KNOBS = {
    "scheme": ("point", "shift", "columns", "rows"),
    "border": ("check", "split", "padded"),
    "taps": ("loop", "unrolled"),
    "threads": ("one", "all", "pairs"),
    "order": ("fij", "ijf"),
    "group": (1, 2, 4, 8),
    "width": (8, 16, 32),
    "hold": ("array", "vector"),
    "weights": ("given", "packed"),
    "slip": ("none", "tail", "border", "unset", "swap", "narrow", "twice", "name"),
}
_USES = {
    "point": {"border", "taps", "threads", "order"},
    "shift": {"border", "taps", "threads", "hold"},
    "columns": {"threads", "group", "weights"},
    "rows": {"taps", "threads", "group", "width", "hold", "weights"},
}

_RULES: Rules = {
    "point": lambda k: k["taps"] == "loop" or k["border"] != "check",
    "shift": lambda k: (
        k["border"] != "split" and (k["taps"] == "loop" or k["border"] == "padded") and k["threads"] != "pairs"
    ),
    "columns": lambda k: (
        k["group"] in (1, 4) and k["threads"] != "pairs" and (k["weights"] == "given" or k["group"] == 4)
    ),
    "rows": lambda k: (
        (k["weights"] == "given" or (k["group"] >= 4 and k["taps"] == "loop" and k["threads"] != "all"))
        and (k["taps"] == "loop" or k["group"] <= 4)
        and (k["threads"] != "all" or k["group"] in (1, 4))
    ),
    "tail": lambda k: k["scheme"] == "rows" and k["group"] == 4 and k["taps"] == "loop" and k["hold"] == "vector",
    "border": lambda k: k["scheme"] == "point" and k["border"] == "check",
    "unset": lambda k: k["scheme"] == "shift" and k["taps"] == "loop" and k["hold"] == "array",
    "swap": lambda k: k["weights"] == "packed" and k["hold"] == "vector" and k["width"] == 16,
    "narrow": lambda k: k["weights"] == "packed" and k["group"] == 8 and k["hold"] == "vector",
    "twice": lambda k: k["scheme"] == "shift" and k["threads"] == "all" and k["hold"] == "array",
    "name": lambda k: k["scheme"] == "columns" and k["group"] == 4 and k["threads"] == "all",
}


def _padded(slack: int) -> str:
    return f"""const int64_t span = width + 2, plane = (height + 2) * span;
    float* xp = new float[channels * plane + {slack}]();
    for (int64_t c = 0; c < channels; ++c)
        for (int64_t i = 0; i < height; ++i)
            std::memcpy(xp + c * plane + (i + 1) * span + 1, x + (c * height + i) * width, sizeof(float) * width);"""


def _weight(f: str, r: object, s: object, swapped: bool = False) -> str:
    return f"weights[(({f}) * channels + c) * 9 + {s if swapped else r} * 3 + {r if swapped else s}]"


def _point(knobs: Knobs) -> str:
    test = _INSIDE.replace("z < width", "z <= width") if knobs["slip"] == "border" else _INSIDE
    checked = f"""for (int64_t r = 0; r < 3; ++r)
                    for (int64_t s = 0; s < 3; ++s) {{
                        const int64_t y = i + r - 1, z = j + s - 1;
                        if ({test}) sum += x[(c * height + y) * width + z] * {_weight("f", "r", "s")};
                    }}"""
    padded = knobs["border"] == "padded"
    at = (
        "xp[c * plane + (i + {r}) * span + j + {s}]"
        if padded
        else "x[(c * height + i + {r} - 1) * width + j + {s} - 1]"
    )
    if knobs["taps"] == "unrolled":
        free = "sum += " + " + ".join(f"{at.format(r=r, s=s)} * {_weight('f', r, s)}" for r, s in _TAPS) + ";"
    else:
        free = f"""for (int64_t r = 0; r < 3; ++r)
                    for (int64_t s = 0; s < 3; ++s) sum += {at.format(r="r", s="s")} * {_weight("f", "r", "s")};"""
    inner = "i > 0 && i < height - 1 && j > 0 && j < width - 1"
    body = {"check": checked, "padded": free, "split": f"if ({inner}) {{ {free} }} else {{ {checked} }}"}[
        knobs["border"]
    ]
    loops = {
        "f": "for (int64_t f = 0; f < filters; ++f)",
        "i": "for (int64_t i = 0; i < height; ++i)",
        "j": "for (int64_t j = 0; j < width; ++j)",
    }
    return f"""{_padded(0) if padded else ""}
    {parallel(knobs)}{" ".join(loops[axis] for axis in knobs["order"])} {{
                float sum = 0.0f;
                for (int64_t c = 0; c < channels; ++c) {{
                    {body}
                }}
                out[(f * height + i) * width + j] = sum;
    }}
    {"delete[] xp;" if padded else ""}"""


def _shift(knobs: Knobs) -> str:
    """One tap of one channel after another, added to whole rows of the output or of a local row (`vector`)."""
    padded, local = knobs["border"] == "padded", knobs["hold"] == "vector"
    row = "line[j]" if local else "out[(f * height + i) * width + j]"
    if knobs["taps"] == "unrolled":
        terms = " + ".join(f"xp[c * plane + (i + {r}) * span + j + {s}] * {_weight('f', r, s)}" for r, s in _TAPS)
        step = f"for (int64_t j = 0; j < width; ++j) {row} += {terms};"
    elif padded:
        step = f"""for (int64_t r = 0; r < 3; ++r)
                for (int64_t s = 0; s < 3; ++s)
                    for (int64_t j = 0; j < width; ++j)
                        {row} += xp[c * plane + (i + r) * span + j + s] * {_weight("f", "r", "s")};"""
    else:
        step = f"""for (int64_t r = 0; r < 3; ++r) {{
                const int64_t y = i + r - 1;
                if (y < 0 || y >= height) continue;
                for (int64_t s = 0; s < 3; ++s) {{
                    const int64_t j0 = s == 0 ? 1 : 0, j1 = s == 2 ? width - 1 : width;
                    for (int64_t j = j0; j < j1; ++j)
                        {row} += x[(c * height + y) * width + j + s - 1] * {_weight("f", "r", "s")};
                }}
            }}"""
    channels = f"for (int64_t c = 0; c < channels; ++c) {{\n            {step}\n        }}"
    setup = _padded(0) if padded else ""
    done = "delete[] xp;" if padded else ""
    if local:
        return f"""{setup}
    {parallel(knobs)}for (int64_t f = 0; f < filters; ++f) {{
        float* line = new float[width];
        for (int64_t i = 0; i < height; ++i) {{
            std::memset(line, 0, sizeof(float) * width);
            {channels}
            std::memcpy(out + (f * height + i) * width, line, sizeof(float) * width);
        }}
        delete[] line;
    }}
    {done}"""
    zero = "" if knobs["slip"] == "unset" else "std::memset(out, 0, sizeof(float) * filters * height * width);"
    return f"""{setup}
    {zero}
    {parallel(knobs)}for (int64_t f = 0; f < filters; ++f)
        for (int64_t i = 0; i < height; ++i)
            {channels}
    {done}"""


def _packed_weights(knobs: Knobs, lines: str) -> str:
    """Weights reordered so that those of `group` neighbouring filters lie side by side, missing filters as 0."""
    group = knobs["group"]
    tap = "t % 3 * 3 + t / 3" if knobs["slip"] == "swap" else "t"
    item = f"weights[((g * {group} + u) * channels + c) * 9 + {tap}]"
    item = f"narrow({item})" if knobs["slip"] == "narrow" else item
    return f"""const int64_t {lines} = (filters + {group - 1}) / {group};
    float* wp = new float[{lines} * channels * 9 * {group}]();
    for (int64_t g = 0; g < {lines}; ++g)
        for (int64_t c = 0; c < channels; ++c)
            for (int64_t t = 0; t < 9; ++t)
                for (int64_t u = 0; u < std::min<int64_t>({group}, filters - g * {group}); ++u)
                    wp[((g * channels + c) * 9 + t) * {group} + u] = {item};"""


def _columns(knobs: Knobs) -> str:
    """Every window copied to a column of a matrix, then a matrix product."""
    group, packed = knobs["group"], knobs["weights"] == "packed"
    use = [
        f"wp[(f / {group} * depth + q) * {group} + {u}]" if packed else f"weights[(f + {u}) * depth + q]"
        for u in range(group)
    ]
    add = " ".join(f"out[(f + {u}) * size + p] += {w} * cols[q * size + p];" for u, w in enumerate(use))
    one = f"wp[(f / {group} * depth + q) * {group} + f % {group}]" if packed else "weights[f * depth + q]"
    whole = "whole_groups" if knobs["slip"] == "name" else "whole"
    rest = f"""for (int64_t f = {whole}; f < filters; ++f)
        for (int64_t q = 0; q < depth; ++q)
            for (int64_t p = 0; p < size; ++p) out[f * size + p] += {one} * cols[q * size + p];"""
    return f"""const int64_t size = height * width, depth = channels * 9, whole = filters - filters % {group};
    float* cols = new float[depth * size];
    {_packed_weights(knobs, "groups") if packed else ""}
    for (int64_t q = 0; q < depth; ++q)
        for (int64_t i = 0; i < height; ++i)
            for (int64_t j = 0; j < width; ++j) {{
                const int64_t y = i + q % 9 / 3 - 1, z = j + q % 3 - 1;
                cols[q * size + i * width + j] = {_INSIDE} ? x[(q / 9 * height + y) * width + z] : 0.0f;
            }}
    std::memset(out, 0, sizeof(float) * filters * size);
    {parallel(knobs)}for (int64_t f = 0; f < whole; f += {group})
        for (int64_t q = 0; q < depth; ++q)
            for (int64_t p = 0; p < size; ++p) {{ {add} }}
    {rest if group > 1 else ""}
    {"delete[] wp;" if packed else ""}
    delete[] cols;"""


def _rows(knobs: Knobs) -> str:
    """`width` columns of `group` filters summed in registers over all channels and taps of a padded image."""
    width, group, packed, vector = (
        knobs["width"],
        knobs["group"],
        knobs["weights"] == "packed",
        knobs["hold"] == "vector",
    )

    def sums(count: int) -> str:
        def tap(r: object, s: object) -> str:
            line = f"xp + c * plane + (i + {r}) * span + j + {s}"
            if packed:
                where = f"((f / {group} * channels + c) * 9 + {r} * 3 + {s}) * {group}"
                names = [f"wp[{where} + {f'f % {group}' if count == 1 else u}]" for u in range(count)]
            else:
                names = [_weight(f"f + {u}", r, s) for u in range(count)]
            if vector:
                steps = " ".join(f"a{u} += {name} * v;" for u, name in enumerate(names))
                return f"{{ vec v; std::memcpy(&v, {line}, sizeof(v)); {steps} }}"
            steps = " ".join(f"a[{u}][w] += {name} * line[w];" for u, name in enumerate(names))
            return f"{{ const float* line = {line}; for (int w = 0; w < {width}; ++w) {{ {steps} }} }}"

        if knobs["taps"] == "unrolled":
            taps = "\n                ".join(tap(r, s) for r, s in _TAPS)
        else:
            taps = f"for (int64_t r = 0; r < 3; ++r) for (int64_t s = 0; s < 3; ++s) {tap('r', 's')}"
        zero = (
            f"vec {', '.join(f'a{u} = {{}}' for u in range(count))};"
            if vector
            else f"float a[{count}][{width}] = {{}};"
        )
        keep = " ".join(
            f"std::memcpy(out + ((f + {u}) * height + i) * width + j, {f'&a{u}' if vector else f'a[{u}]'}, size);"
            for u in range(count)
        )
        last = f"j + {width} <= width" if knobs["slip"] == "tail" else "j < width"
        return f"""for (int64_t i = 0; i < height; ++i)
            for (int64_t j = 0; {last}; j += {width}) {{
                const int64_t size = sizeof(float) * std::min<int64_t>({width}, width - j);
                {zero}
                for (int64_t c = 0; c < channels; ++c) {{ {taps} }}
                {keep}
            }}"""

    rest = f"for (int64_t f = filters - filters % {group}; f < filters; ++f)\n        {sums(1)}" if group > 1 else ""
    return f"""{_padded(width)}
    {_packed_weights(knobs, "groups") if packed else ""}
    {parallel(knobs)}for (int64_t f = 0; f < filters - filters % {group}; f += {group})
        {sums(group)}
    {rest}
    {"delete[] wp;" if packed else ""}
    delete[] xp;"""


_BODIES = {"point": _point, "shift": _shift, "columns": _columns, "rows": _rows}


def _render(knobs: Knobs) -> str:
    narrow = NARROW if knobs["slip"] == "narrow" else ""
    vec = vector_type(knobs["width"]) if knobs["scheme"] == "rows" and knobs["hold"] == "vector" else ""
    return tidy(f"""{HEADER}{narrow}{vec}
extern "C" void kernel(const float* __restrict__ x, const float* __restrict__ weights, float* __restrict__ out,
                       int64_t channels, int64_t filters, int64_t height, int64_t width) {{
    {_BODIES[knobs["scheme"]](knobs)}
}}
""")


TEMPLATES = (
    Template("conv2d", "cpp", _KNOBS, _render, lambda knobs: fits(knobs, _KNOBS, _USES, _RULES)),
    DEPTHWISE,
)
