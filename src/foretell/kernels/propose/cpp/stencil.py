"""C++ template of the five-point stencil: buffers, loop order, tiles, fused steps, threads, and usual mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cpp.dense import HEADER, Rules, fits
from foretell.kernels.propose.cpp.fragments import parallel_for, tidy
from foretell.kernels.propose.template import Knobs, Template

_KNOBS = {
    "scheme": ("copyback", "swap", "tiled", "inplace", "wave", "band"),
    "order": ("rows", "cols"),
    "border": ("test", "split"),
    "threads": ("one", "all", "team"),
    "tile": (8, 16, 32, 128),
    "together": (1, 2, 4),
    "loop": ("plain", "simd"),
    "factor": ("float", "double"),
    "slip": ("none", "tail", "edge", "wrap", "stale", "parity", "shared", "name"),
}

_USES = {
    "copyback": {"order", "border", "threads", "factor"},
    "swap": {"order", "border", "threads", "together", "loop", "factor"},
    "tiled": {"threads", "tile", "loop", "factor"},
    "inplace": {"border", "loop", "factor"},
    "wave": {"border", "together", "loop", "factor"},
    "band": {"border", "threads", "tile", "loop"},
}


def _plain_rows(k: Knobs) -> bool:
    """Several rows at once need a loop without tests; columns first and tests leave nothing to vectorise by hand."""
    if k["order"] == "cols":
        return bool(k["together"] == 1 and k["loop"] == "plain")
    return k["border"] == "split" or bool(k["together"] == 1 and k["loop"] == "plain")


_RULES: Rules = {
    "copyback": lambda k: k["threads"] != "team" and (k["order"] == "rows" or k["factor"] == "float"),
    "swap": lambda k: _plain_rows(k) and (k["order"] == "rows" or k["factor"] == "float"),
    "tiled": lambda k: k["threads"] != "one" or k["factor"] == "float",
    "inplace": lambda k: k["border"] == "split" or k["loop"] == "plain",
    "wave": lambda k: k["together"] < 4 and (k["border"] == "split" or (k["together"] == 1 and k["loop"] == "plain")),
    "band": lambda k: k["threads"] != "team" and (k["border"] == "split" or k["loop"] == "plain"),
    "tail": lambda k: (
        k["factor"] == "float"
        and k["loop"] == "plain"
        and ((k["scheme"] == "swap" and k["together"] == 4) or (k["scheme"] == "tiled" and k["tile"] == 32))
    ),
    "edge": lambda k: k["scheme"] == "tiled" and k["tile"] == 128 and k["threads"] != "one" and k["loop"] == "simd",
    "wrap": lambda k: k["scheme"] == "swap" and k["border"] == "split" and k["together"] == 1 and k["loop"] == "simd",
    "stale": lambda k: k["scheme"] == "inplace",
    "parity": lambda k: k["scheme"] == "swap" and k["threads"] == "all" and k["together"] == 2,
    "shared": lambda k: k["scheme"] == "band" and k["threads"] == "all" and k["loop"] == "simd" and k["tile"] < 32,
    "name": lambda k: k["scheme"] == "wave" and k["together"] == 2 and k["factor"] == "double",
}


def _formula(knobs: Knobs, up: str, mid: str, down: str, j: str) -> str:
    suffix = "" if knobs["factor"] == "double" else "f"
    return f"0.6{suffix} * {mid}[{j}] + 0.1{suffix} * ({up}[{j}] + {down}[{j}] + {mid}[{j} - 1] + {mid}[{j} + 1])"


def _helpers(knobs: Knobs) -> str:
    """`line`: one row from its old values and its neighbours'; `lines`: the same for several rows in one loop."""
    args = "const float* up, const float* mid, const float* down, float* __restrict__ to, int64_t width"
    simd = "#pragma omp simd\n    " if knobs["loop"] == "simd" else ""
    step = _formula(knobs, "up", "mid", "down", "j")
    if knobs["border"] == "test" and knobs["scheme"] != "tiled":
        body = f"for (int64_t j = 0; j < width; ++j) to[j] = j == 0 || j == width - 1 ? mid[j] : (float)({step});"
    else:
        first, last = ("0", "width") if knobs["slip"] == "wrap" else ("1", "width - 1")
        ends = "" if knobs["slip"] == "wrap" else "to[0] = mid[0];\n    to[width - 1] = mid[width - 1];"
        body = f"{ends}\n    {simd}for (int64_t j = {first}; j < {last}; ++j) to[j] = {step};"
    found = f"\nstatic inline void line({args}) {{\n    {body}\n}}\n"
    count = knobs["together"]
    if count > 1 and knobs["scheme"] == "swap":
        rows = [f"(from + {r} * width)" for r in range(-1, count + 1)]
        steps = " ".join(
            f"to[{r} * width + j] = {_formula(knobs, rows[r], rows[r + 1], rows[r + 2], 'j')};" for r in range(count)
        )
        ends = " ".join(
            f"to[{r} * width + {j}] = from[{r} * width + {j}];" for r in range(count) for j in ("0", "width - 1")
        )
        found += f"""
static inline void lines(const float* from, float* __restrict__ to, int64_t width) {{
    {ends}
    {simd}for (int64_t j = 1; j < width - 1; ++j) {{ {steps} }}
}}
"""
    return found


def _call(src: str, dst: str, i: str) -> str:
    return (
        f"line({src} + ({i} - 1) * width, {src} + {i} * width, {src} + ({i} + 1) * width, {dst} + {i} * width, width);"
    )


_COPY = "std::memcpy({to} + {i} * width, {src} + {i} * width, sizeof(float) * width);"


def _ends(src: str, dst: str) -> str:
    return f"{_COPY.format(to=dst, src=src, i='0')} {_COPY.format(to=dst, src=src, i='(height - 1)')}"


def _sweep(knobs: Knobs, src: str, dst: str) -> str:
    """One step over the whole plane, from `src` to `dst`; the OpenMP line before its outer loop is PRAGMA."""
    at = f"{dst}[i * width + j]"
    if knobs["scheme"] == "tiled":
        tile = knobs["tile"]
        last = f"j0 + {tile} <= width" if knobs["slip"] == "tail" else "j0 < width - 1"
        simd = "#pragma omp simd\n                    " if knobs["loop"] == "simd" else ""
        rows = (f"({src} + (i - 1) * width)", f"({src} + i * width)", f"({src} + (i + 1) * width)")
        sides = f"{dst}[i * width] = {src}[i * width]; {dst}[(i + 1) * width - 1] = {src}[(i + 1) * width - 1];"
        return f"""PRAGMA for (int64_t i0 = 1; i0 < height - 1; i0 += {tile}) {{
            const int64_t i1 = std::min<int64_t>(height - 1, i0 + {tile});
            for (int64_t j0 = 1; {last}; j0 += {tile}) {{
                const int64_t j1 = std::min<int64_t>(width - 1, j0 + {tile});
                for (int64_t i = i0; i < i1; ++i)
                    {simd}for (int64_t j = j0; j < j1; ++j) {at} = {_formula(knobs, *rows, "j")};
            }}
            {"" if knobs["slip"] == "edge" else f"for (int64_t i = i0; i < i1; ++i) {{ {sides} }}"}
        }}"""
    if knobs["order"] == "cols":
        rows = (f"({src} + (i - 1) * width)", f"({src} + i * width)", f"({src} + (i + 1) * width)")
        step = f"{at} = {_formula(knobs, *rows, 'j')};"
        if knobs["border"] == "test":
            rim = "i == 0 || j == 0 || i == height - 1 || j == width - 1"
            return f"""PRAGMA for (int64_t j = 0; j < width; ++j)
            for (int64_t i = 0; i < height; ++i)
                if ({rim}) {at} = {src}[i * width + j];
                else {step}"""
        return f"""PRAGMA for (int64_t j = 0; j < width; ++j) {{
            const int64_t jump = j == 0 || j == width - 1 ? 1 : height - 1;
            for (int64_t i = 0; i < height; i += height > 1 ? jump : 1) {at} = {src}[i * width + j];
            if (jump > 1 || height == 2) for (int64_t i = 1; i < height - 1; ++i) if (j > 0 && j < width - 1) {step}
        }}"""
    count = knobs["together"]
    if count == 1:
        return f"""PRAGMA for (int64_t i = 1; i < height - 1; ++i) {{
            {_call(src, dst, "i")}
        }}"""
    left = f"std::max<int64_t>(1, height - 1 - (height - 2) % {count})"
    rest = f"for (int64_t i = {left}; i < height - 1; ++i) {_call(src, dst, 'i')}"
    return f"""PRAGMA for (int64_t i = 1; i < height - {count}; i += {count})
            lines({src} + i * width, {dst} + i * width, width);
        {"" if knobs["slip"] == "tail" else rest}"""


def _copyback(knobs: Knobs) -> str:
    pragma = parallel_for(knobs["threads"])
    ends = "" if knobs["order"] == "cols" else _ends("grid", "out")
    return f"""float* grid = new float[height * width];
    std::memcpy(grid, x, sizeof(float) * height * width);
    for (int64_t t = 0; t < steps; ++t) {{
        {ends}
        {_sweep(knobs, "grid", "out").replace("PRAGMA ", pragma)}
        {pragma}for (int64_t i = 0; i < height * width; ++i) grid[i] = out[i];
    }}
    delete[] grid;"""


def _swap(knobs: Knobs) -> str:
    """Two buffers in turn, so that the last step ends in `out`."""
    team = knobs["threads"] == "team"
    pragma = "#pragma omp for schedule(static)\n    " if team else parallel_for(knobs["threads"])
    turn = "t % 2 == 0" if knobs["slip"] == "parity" else "(steps - t) % 2 == 1"
    ends = "" if knobs["order"] == "cols" else _ends("src", "dst")
    if team:
        ends = f"#pragma omp single\n        {{ {ends} }}" if ends else ""
    return f"""float* spare = new float[height * width];
    {"#pragma omp parallel" if team else ""}
    for (int64_t t = 0; t < steps; ++t) {{
        const float* src = t == 0 ? x : {turn} ? spare : out;
        float* dst = {turn} ? out : spare;
        {ends}
        {_sweep(knobs, "src", "dst").replace("PRAGMA ", pragma)}
    }}
    delete[] spare;"""


def _inplace(knobs: Knobs) -> str:
    """One buffer; the old values of the row above are kept aside."""
    if knobs["slip"] == "stale":
        row = "line(out + (i - 1) * width, here, out + (i + 1) * width, out + i * width, width);"
    else:
        row = "line(above, here, out + (i + 1) * width, out + i * width, width);"
    return f"""float* above = new float[width];
    float* here = new float[width];
    std::memcpy(out, x, sizeof(float) * height * width);
    for (int64_t t = 0; t < steps; ++t) {{
        std::memcpy(above, out, sizeof(float) * width);
        for (int64_t i = 1; i < height - 1; ++i) {{
            std::memcpy(here, out + i * width, sizeof(float) * width);
            {row}
            std::swap(above, here);
        }}
    }}
    delete[] above;
    delete[] here;"""


def _wave(knobs: Knobs) -> str:
    """All steps in one walk down the plane: step t follows one row behind step t - 1, in groups of `together` rows."""
    count = knobs["together"]
    end = "bottom" if knobs["slip"] == "name" else "height"
    inner = f"""const int64_t i = r - t;
            if (i < 0 || i >= {end}) continue;
            const float* src = t == 0 ? x : (steps - t) % 2 == 1 ? spare : out;
            float* dst = (steps - t) % 2 == 1 ? out : spare;
            if (i == 0 || i == height - 1) {_COPY.format(to="dst", src="src", i="i")}
            else {_call("src", "dst", "i")}"""
    if count == 1:
        loop = f"for (int64_t t = 0; t < steps; ++t) {{\n            {inner}\n        }}"
    else:
        lag = inner.replace("r - t;", f"r0 + u - {count} * t;")
        heads = f"for (int64_t t = 0; t < steps; ++t) for (int64_t u = 0; u < {count}; ++u)"
        loop = f"{heads} {{\n            {lag}\n        }}"
    name, step = ("r", 1) if count == 1 else ("r0", count)
    return f"""float* spare = new float[height * width];
    for (int64_t {name} = 0; {name} < height + {count} * steps; {name} += {step}) {{
        {loop}
    }}
    delete[] spare;"""


def _band(knobs: Knobs) -> str:
    """Bands of rows taken through all steps in private buffers, with as many rows more on each side as steps."""
    tile, shared = knobs["tile"], knobs["slip"] == "shared"
    hold = f"""float* one = new float[({tile} + 2 * steps) * width];
        float* two = new float[({tile} + 2 * steps) * width];"""
    free = "delete[] one;\n        delete[] two;"
    return f"""{hold if shared else ""}
    {parallel_for(knobs["threads"], "dynamic, 1")}for (int64_t b = 0; b < height; b += {tile}) {{
        {"" if shared else hold}
        const int64_t top = std::max<int64_t>(0, b - steps), end = std::min<int64_t>(height, b + {tile} + steps);
        float* src = one;
        float* dst = two;
        std::memcpy(src, x + top * width, sizeof(float) * (end - top) * width);
        for (int64_t t = 0; t < steps; ++t) {{
            std::memcpy(dst, src, sizeof(float) * width);
            for (int64_t i = 1; i < end - top - 1; ++i) {_call("src", "dst", "i")}
            std::memcpy(dst + (end - top - 1) * width, src + (end - top - 1) * width, sizeof(float) * width);
            std::swap(src, dst);
        }}
        const int64_t n = std::min<int64_t>({tile}, height - b);
        std::memcpy(out + b * width, src + (b - top) * width, sizeof(float) * n * width);
        {"" if shared else free}
    }}
    {free if shared else ""}"""


_BODIES = {"copyback": _copyback, "swap": _swap, "tiled": _swap, "inplace": _inplace, "wave": _wave, "band": _band}


def _render(knobs: Knobs) -> str:
    helpers = "" if knobs["scheme"] == "tiled" or knobs["order"] == "cols" else _helpers(knobs)
    return tidy(f"""{HEADER}{helpers}
extern "C" void kernel(const float* __restrict__ x, float* __restrict__ out, int64_t height, int64_t width,
                       int64_t steps) {{
    {_BODIES[knobs["scheme"]](knobs)}
}}
""")


TEMPLATES = (Template("stencil5", "cpp", _KNOBS, _render, lambda knobs: fits(knobs, _KNOBS, _USES, _RULES)),)
