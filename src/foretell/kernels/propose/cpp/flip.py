"""C++ template of rows turned round: direction of the walk, library calls, pairs of ends, shuffles, and mistakes."""

from __future__ import annotations

from typing import Any

from foretell.kernels.propose.cpp.dense import HEADER, Rules, fits, vector_type
from foretell.kernels.propose.cpp.fragments import tidy
from foretell.kernels.propose.template import Knobs, Template

_KNOBS: dict[str, tuple[Any, ...]] = {
    "scheme": ("direct", "flat", "library", "inplace", "ends", "unrolled", "vector", "buffered", "tiled"),
    "order": ("rows", "cols"),
    "side": ("write", "read"),
    "threads": ("one", "all", "turns"),
    "size": (1, 4, 8, 16, 64, 256),
    "together": (1, 2, 4),
    "loop": ("plain", "simd"),
    "item": ("float", "double"),
    "call": ("reverse_copy", "iterators", "transform"),
    "slip": ("none", "tail", "shift", "middle", "twice", "shared", "name"),
}

_USES = {
    "direct": {"order", "side", "threads", "loop", "item"},
    "flat": {"side", "threads", "item"},
    "library": {"threads", "call"},
    "inplace": {"threads", "call", "side"},
    "ends": {"threads", "loop", "side"},
    "unrolled": {"side", "threads", "size"},
    "vector": {"side", "threads", "size", "together"},
    "buffered": {"threads", "size", "loop"},
    "tiled": {"side", "threads", "size"},
}

_RULES: Rules = {
    "direct": lambda k: k["order"] == "rows" or (k["loop"] == "plain" and k["item"] == "float"),
    "flat": lambda k: k["threads"] != "turns",
    "library": lambda k: True,
    "inplace": lambda k: k["call"] != "transform",
    "ends": lambda k: True,
    "unrolled": lambda k: k["size"] in (4, 8, 16),
    "vector": lambda k: k["size"] in (4, 8, 16) and (k["threads"] != "turns" or k["together"] == 1),
    "buffered": lambda k: k["size"] >= 16,
    "tiled": lambda k: k["size"] >= 16,
    "tail": lambda k: (
        k["threads"] != "turns"
        and (k["scheme"] == "unrolled" or (k["scheme"] == "vector" and k["together"] == 1))
        and k["side"] == "read"
        and k["size"] > 4
    ),
    "shift": lambda k: k["scheme"] == "direct" and k["order"] == "rows" and k["loop"] == "simd" and k["side"] == "read",
    "middle": lambda k: k["scheme"] == "ends" and k["loop"] == "simd" and k["threads"] != "one",
    "twice": lambda k: k["scheme"] == "inplace" and k["call"] == "iterators" and k["threads"] != "turns",
    "shared": lambda k: k["scheme"] == "buffered" and k["threads"] == "all" and k["size"] < 256,
    "name": lambda k: k["scheme"] == "tiled" and k["threads"] == "turns" and k["side"] == "read",
}

_ROW = "const float* row = x + i * cols;\n        float* dst = out + i * cols;"


def _pragma(knobs: Knobs) -> str:
    schedule = {"one": None, "all": "static", "turns": "dynamic, 4"}[knobs["threads"]]
    return f"#pragma omp parallel for schedule({schedule})\n    " if schedule else ""


def _simd(knobs: Knobs) -> str:
    return "#pragma omp simd\n        " if knobs["loop"] == "simd" else ""


def _each_row(knobs: Knobs, body: str) -> str:
    return f"""{_pragma(knobs)}for (int64_t i = 0; i < rows; ++i) {{
        {_ROW}
        {body}
    }}"""


def _move(side: str, j: str, source: str = "row", target: str = "dst") -> str:
    """One number, `j` being its column where it is written or where it is read."""
    if side == "write":
        return f"{target}[{j}] = {source}[cols - 1 - ({j})];"
    return f"{target}[cols - 1 - ({j})] = {source}[{j}];"


def _direct(knobs: Knobs) -> str:
    move = _move(knobs["side"], "j")
    if knobs["slip"] == "shift":
        move = move.replace("cols - 1 - (j)", "cols - j")
    if knobs["item"] == "double":
        target, source = move.removesuffix(";").split(" = ")
        move = f"{{ const double v = {source}; {target} = (float)v; }}"
    if knobs["order"] == "cols":
        return f"""{_pragma(knobs)}for (int64_t j = 0; j < cols; ++j)
        for (int64_t i = 0; i < rows; ++i) {{
        {_ROW}
        {move}
    }}"""
    return _each_row(knobs, f"{_simd(knobs)}for (int64_t j = 0; j < cols; ++j) {move}")


def _flat(knobs: Knobs) -> str:
    """One loop over all numbers, the row and the column found by division."""
    other = {"float": "n / cols * cols + cols - 1 - n % cols", "double": "n + cols - 1 - 2 * (n % cols)"}[knobs["item"]]
    move = f"out[n] = x[{other}];" if knobs["side"] == "write" else f"out[{other}] = x[n];"
    return f"{_pragma(knobs)}for (int64_t n = 0; n < rows * cols; ++n) {move}"


_CALLS = {
    "reverse_copy": "std::reverse_copy(row, row + cols, dst);",
    "iterators": "std::copy(std::make_reverse_iterator(row + cols), std::make_reverse_iterator(row), dst);",
    "transform": """const float* from = row + cols;
        std::generate(dst, dst + cols, [&from] { return *--from; });""",
}


def _library(knobs: Knobs) -> str:
    return _each_row(knobs, _CALLS[knobs["call"]])


def _inplace(knobs: Knobs) -> str:
    """A copy turned round where it lies: the output's row, or a row of its own that is copied once more (`read`)."""
    end = "cols" if knobs["slip"] == "twice" else "cols / 2"
    own = knobs["side"] == "read"
    line = "line" if own else "dst"
    if knobs["call"] == "reverse_copy":
        turn = f"std::reverse({line}, {line} + cols);"
    else:
        turn = f"for (int64_t j = 0; j < {end}; ++j) std::swap({line}[j], {line}[cols - 1 - j]);"
    return _each_row(
        knobs,
        f"""{"float* line = new float[cols];" if own else ""}
        std::memcpy({line}, row, sizeof(float) * cols);
        {turn}
        {"std::memcpy(dst, line, sizeof(float) * cols);" if own else ""}
        {"delete[] line;" if own else ""}""",
    )


def _ends(knobs: Knobs) -> str:
    """Two numbers at a time, one from each end."""
    first, second = _move("write", "j"), _move("read", "j")
    pair = f"{first} {second}" if knobs["side"] == "write" else "const float a = row[j], b = row[cols - 1 - j];"
    if knobs["side"] == "read":
        pair += " dst[j] = b; dst[cols - 1 - j] = a;"
    middle = "" if knobs["slip"] == "middle" else "if (cols % 2) dst[cols / 2] = row[cols / 2];"
    return _each_row(knobs, f"{_simd(knobs)}for (int64_t j = 0; j < cols / 2; ++j) {{ {pair} }}\n        {middle}")


def _rest(knobs: Knobs) -> str:
    return "" if knobs["slip"] == "tail" else f"for (; j < cols; ++j) {_move(knobs['side'], 'j')}"


def _unrolled(knobs: Knobs) -> str:
    size = knobs["size"]
    steps = "\n            ".join(_move(knobs["side"], f"j + {u}") for u in range(size))
    return _each_row(
        knobs,
        f"""int64_t j = 0;
        for (; j + {size} <= cols; j += {size}) {{
            {steps}
        }}
        {_rest(knobs)}""",
    )


def _vector(knobs: Knobs) -> str:
    """Vectors turned round by a shuffle."""
    size, count = knobs["size"], knobs["together"]
    turned = ", ".join(str(lane) for lane in reversed(range(size)))
    load, store = [], []
    for u in range(count):
        near, far = f"j + {u * size}", f"cols - j - {(u + 1) * size}"
        source, target = (far, near) if knobs["side"] == "write" else (near, far)
        load.append(f"vec v{u}; std::memcpy(&v{u}, row + {source}, sizeof(vec));")
        store.append(
            f"v{u} = __builtin_shuffle(v{u}, (lanes){{{turned}}}); std::memcpy(dst + {target}, &v{u}, sizeof(vec));"
        )
    newline = "\n            "
    return _each_row(
        knobs,
        f"""int64_t j = 0;
        for (; j + {size * count} <= cols; j += {size * count}) {{
            {newline.join(load)}
            {newline.join(store)}
        }}
        {_rest(knobs)}""",
    )


def _buffered(knobs: Knobs) -> str:
    """Pieces of a row through a small array, so that reads and writes both go upwards."""
    size, outside = knobs["size"], knobs["slip"] == "shared"
    hold = f"float hold[{size}];"
    body = f"""{"" if outside else hold}
        for (int64_t j = 0; j < cols; j += {size}) {{
            const int64_t n = std::min<int64_t>({size}, cols - j);
            std::memcpy(hold, row + j, sizeof(float) * n);
            float* to = dst + cols - j - n;
            {_simd(knobs)}for (int64_t k = 0; k < n; ++k) to[k] = hold[n - 1 - k];
        }}"""
    return f"{hold if outside else ''}\n    {_each_row(knobs, body)}"


def _tiled(knobs: Knobs) -> str:
    """Strips of columns outside, rows inside."""
    size = knobs["size"]
    end = "stop" if knobs["slip"] == "name" else "last"
    return f"""{_pragma(knobs)}for (int64_t first = 0; first < cols; first += {size}) {{
        const int64_t last = std::min<int64_t>(cols, first + {size});
        for (int64_t i = 0; i < rows; ++i) {{
            {_ROW}
            for (int64_t j = first; j < {end}; ++j) {_move(knobs["side"], "j")}
        }}
    }}"""


_BODIES = {
    "direct": _direct,
    "flat": _flat,
    "library": _library,
    "inplace": _inplace,
    "ends": _ends,
    "unrolled": _unrolled,
    "vector": _vector,
    "buffered": _buffered,
    "tiled": _tiled,
}


def _render(knobs: Knobs) -> str:
    size, helpers = knobs["size"], ""
    if knobs["scheme"] == "vector":
        helpers = f"{vector_type(size)}typedef int lanes __attribute__((vector_size({4 * size})));\n"
    iterator = "#include <iterator>\n" if knobs["scheme"] == "library" else ""
    return tidy(f"""{HEADER}{iterator}{helpers}
extern "C" void kernel(const float* __restrict__ x, float* __restrict__ out, int64_t rows, int64_t cols) {{
    {_BODIES[knobs["scheme"]](knobs)}
}}
""")


TEMPLATES = (Template("flip_columns", "cpp", _KNOBS, _render, lambda knobs: fits(knobs, _KNOBS, _USES, _RULES)),)
