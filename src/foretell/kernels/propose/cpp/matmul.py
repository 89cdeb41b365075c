"""C++ templates of the matmul family: loop order, tiles, register blocks, packing, lanes, threads, and mistakes."""

from __future__ import annotations

from collections.abc import Callable

from foretell.kernels.propose.cpp.dense import HEADER, NARROW, Rules, fits, vector_type
from foretell.kernels.propose.cpp.fragments import parallel_for, tidy
from foretell.kernels.propose.cpp.register_block import block_product
from foretell.kernels.propose.template import Knobs, Template

_KNOBS = {
    "scheme": ("dot", "axpy", "outer", "tile", "block"),
    "threads": ("one", "all", "inner"),
    "pack": ("none", "flip", "panel"),
    "width": (1, 8, 16, 32),
    "rows": (1, 2, 4, 8),
    "depth": (0, 8, 32, 128),
    "inside": ("ipj", "ijp"),
    "hold": ("array", "vector", "simd"),
    "sum": ("float", "double"),
    "slip": ("none", "tail", "unset", "narrow", "twice", "name"),
}

_USES = {
    "dot": {"threads", "pack", "width", "hold", "sum"},
    "axpy": {"threads", "pack", "rows", "depth"},
    "outer": {"threads"},
    "tile": {"threads", "pack", "depth", "inside"},
    "block": {"threads", "pack", "width", "rows", "hold"},
}


def _rowwise(knobs: Knobs, transposed: bool) -> bool:
    """Whether the copy of B that is read has the columns of one row side by side."""
    return bool((knobs["pack"] == "flip") == transposed)


def _dot_fits(k: Knobs, transposed: bool) -> bool:
    if k["pack"] == "panel" or k["hold"] == "vector":
        return False
    if k["threads"] == "inner" and (k["width"] > 8 or k["sum"] == "double"):
        return False
    if k["hold"] == "simd" or k["sum"] == "double":
        return bool(k["width"] == 1 and (k["sum"] == "float" or k["hold"] == "array"))
    return k["width"] in (1, 8) or not _rowwise(k, transposed)


def _axpy_fits(k: Knobs) -> bool:
    if k["threads"] == "inner":
        return bool(k["pack"] == "none" and k["rows"] in (1, 4) and k["depth"] == 0)
    return bool(k["pack"] != "panel" and k["rows"] < 8 and k["depth"] != 8)


def _block_fits(k: Knobs, transposed: bool) -> bool:
    if k["hold"] == "simd" or k["width"] == 1:
        return False
    if k["pack"] != "panel" and not _rowwise(k, transposed):
        return bool(k["hold"] == "array" and k["rows"] in (2, 4) and k["threads"] != "inner")
    return bool(k["threads"] != "inner" or k["rows"] == 4)


def _rules(transposed: bool) -> Rules:
    return {
        "dot": lambda k: _dot_fits(k, transposed),
        "axpy": _axpy_fits,
        "outer": lambda k: True,
        "tile": lambda k: k["pack"] != "panel" and k["depth"] > (8 if k["threads"] == "inner" else 0),
        "block": lambda k: _block_fits(k, transposed),
        "tail": lambda k: (
            k["threads"] != "inner"
            and (
                (k["scheme"] == "dot" and k["width"] > 8)
                or (k["scheme"] == "tile" and k["depth"] == 32 and k["inside"] == "ipj")
                or (k["scheme"] == "block" and k["pack"] != "panel" and k["rows"] == 4)
            )
        ),
        "unset": lambda k: (
            k["threads"] == "all"
            and (
                k["scheme"] == "outer"
                or (k["scheme"] == "axpy" and k["rows"] == 4 and k["depth"] == 32)
                or (k["scheme"] == "tile" and k["depth"] == 128 and k["inside"] == "ipj")
            )
        ),
        "narrow": lambda k: (
            k["pack"] != "none"
            and k["threads"] != "inner"
            and (
                (k["scheme"] == "block" and k["rows"] > 2 and k["width"] == 16 and k["hold"] == "vector")
                or (k["scheme"] == "dot" and k["width"] == 16)
            )
        ),
        "twice": lambda k: (
            k["threads"] == "all"
            and k["pack"] == "none"
            and (
                (k["scheme"] == "axpy" and k["depth"] == 0)
                or (k["scheme"] == "tile" and k["depth"] == 32)
                or k["scheme"] == "outer"
            )
        ),
        "name": lambda k: (
            k["scheme"] == "block" and k["pack"] == "panel" and k["threads"] == "inner" and k["width"] == 32
        ),
    }


def _pack(knobs: Knobs, transposed: bool) -> str:
    """The copy of B, if any: `bb` in the other layout or in panels of `width` columns padded with zeros."""
    width = knobs["width"]
    wrap = "narrow({})" if knobs["slip"] == "narrow" else "{}"
    item = "b[j * k + p]" if transposed else "b[p * n + j]"
    if knobs["pack"] == "flip":
        to = "p * n + j" if transposed else "j * k + p"
        return f"""float* bb = new float[n * k];
        for (int64_t j = 0; j < n; ++j)
            for (int64_t p = 0; p < k; ++p) bb[{to}] = {wrap.format(item)};"""
    if knobs["pack"] == "panel":
        return f"""const int64_t panels = (n + {width - 1}) / {width};
        float* bb = new float[panels * {width} * k];
        for (int64_t g = 0; g < panels; ++g)
            for (int64_t p = 0; p < k; ++p)
                for (int64_t w = 0; w < {width}; ++w) {{
                    const int64_t j = g * {width} + w;
                    bb[(g * k + p) * {width} + w] = j < n ? {wrap.format(item)} : 0.0f;
                }}"""
    return "const float* bb = b;"


def _dot(knobs: Knobs, at: Callable[[str, str], str], outer: str, inner: str) -> str:
    width, kind = knobs["width"], knobs["sum"]
    zero = "0.0" if kind == "double" else "0.0f"
    lanes = f"float part[{width}];" if width > 1 else ""
    factor = "(double)a[i * k + p]" if kind == "double" else "a[i * k + p]"
    if width == 1:
        simd = "#pragma omp simd reduction(+ : sum)\n                " if knobs["hold"] == "simd" else ""
        loop = f"{simd}for (int64_t p = 0; p < k; ++p) sum += {factor} * {at('p', 'j')};"
    else:
        rest = "" if knobs["slip"] == "tail" else f"for (; p < k; ++p) sum += a[i * k + p] * {at('p', 'j')};"
        loop = f"""{lanes}
                for (int l = 0; l < {width}; ++l) part[l] = 0.0f;
                int64_t p = 0;
                for (; p + {width} <= k; p += {width})
                    for (int l = 0; l < {width}; ++l) part[l] += a[i * k + p + l] * {at("(p + l)", "j")};
                {rest}
                for (int l = 0; l < {width}; ++l) sum += part[l];"""
    return f"""{outer}for (int64_t i = 0; i < m; ++i) {{
            {inner}for (int64_t j = 0; j < n; ++j) {{
                {kind} sum = {zero};
                {loop}
                c[i * n + j] = sum;
            }}
        }}"""


def _zero(knobs: Knobs) -> str:
    return "" if knobs["slip"] in ("unset", "twice") else "std::memset(c, 0, sizeof(float) * m * n);"


def _axpy(knobs: Knobs, at: Callable[[str, str], str], outer: str, inner: str) -> str:
    rows, depth = knobs["rows"], knobs["depth"]
    step = " + ".join(f"a[i * k + p + {u}] * {at(f'(p + {u})', 'j')}" for u in range(rows))
    zero = _zero(knobs)
    first, last = ("p0", "p1") if depth else ("0", "k")
    unrolled = f"""{inner}for (int64_t p = {first}; p < {last} - {last} % {rows}; p += {rows})
                for (int64_t j = 0; j < n; ++j) c[i * n + j] += {step};
            for (int64_t p = {last} - {last} % {rows}; p < {last}; ++p)
                for (int64_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + p] * {at("p", "j")};"""
    if rows == 1:
        unrolled = f"""{inner}for (int64_t p = {first}; p < {last}; ++p)
                for (int64_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + p] * {at("p", "j")};"""
    rowwise = f"""{outer}for (int64_t i = 0; i < m; ++i) {{
            {unrolled}
        }}"""
    if not depth:
        return f"{zero}\n        {rowwise}"
    return f"""{zero}
        for (int64_t p0 = 0; p0 < k; p0 += {depth}) {{
        const int64_t p1 = std::min<int64_t>(k, p0 + {depth});
        {rowwise}
        }}"""


def _outer(knobs: Knobs, at: Callable[[str, str], str], outer: str, inner: str) -> str:
    zero = _zero(knobs)
    return f"""{zero}
        {inner}for (int64_t p = 0; p < k; ++p) {{
            {outer}for (int64_t i = 0; i < m; ++i)
                for (int64_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + p] * {at("p", "j")};
        }}"""


def _tile(knobs: Knobs, at: Callable[[str, str], str], outer: str, inner: str) -> str:
    depth = knobs["depth"]
    loops = {
        "i": "for (int64_t i = i0; i < i1; ++i)",
        "j": "for (int64_t j = j0; j < j1; ++j)",
        "p": "for (int64_t p = p0; p < p1; ++p)",
    }
    nest = "\n".join(" " * 20 + loops[axis] for axis in knobs["inside"])
    end = f"k / {depth} * {depth}" if knobs["slip"] == "tail" else "k"
    zero = _zero(knobs)
    return f"""{zero}
        {outer}for (int64_t i0 = 0; i0 < m; i0 += {depth}) {{
            const int64_t i1 = std::min<int64_t>(m, i0 + {depth});
            {inner}for (int64_t j0 = 0; j0 < n; j0 += {depth}) {{
                const int64_t j1 = std::min<int64_t>(n, j0 + {depth});
                for (int64_t p0 = 0; p0 < {end}; p0 += {depth}) {{
                    const int64_t p1 = std::min<int64_t>(k, p0 + {depth});
{nest}
                        c[i * n + j] += a[i * k + p] * {at("p", "j")};
                }}
            }}
        }}"""


_BODIES = {"dot": _dot, "axpy": _axpy, "outer": _outer, "tile": _tile, "block": block_product}


def _render(knobs: Knobs, transposed: bool = False, batched: bool = False) -> str:
    rowwise, slip = _rowwise(knobs, transposed), knobs["slip"]

    def at(p: str, j: str) -> str:
        return f"bb[{p} * n + {j}]" if rowwise else f"bb[{j} * k + {p}]"

    places = {"one": "", "all": "stack" if batched else "outer", "inner": "outer" if batched else "inner"}
    shared_out = "#pragma omp parallel\n    " if slip == "twice" else parallel_for("all")
    stack, outer, inner = (
        shared_out if places[knobs["threads"]] == place else "" for place in ("stack", "outer", "inner")
    )
    everything = "cs, 0, sizeof(float) * batch * m * n" if batched else "c, 0, sizeof(float) * m * n"
    before = f"std::memset({everything});" if slip == "twice" else ""
    body = f"""{_pack(knobs, transposed)}
        {_BODIES[knobs["scheme"]](knobs, at, outer, inner)}
        {"" if knobs["pack"] == "none" else "delete[] bb;"}"""
    s, sizes = "", "int64_t m, int64_t n, int64_t k"
    if batched:
        s, sizes = "s", f"int64_t batch, {sizes}"
        body = f"""{stack}for (int64_t t = 0; t < batch; ++t) {{
        const float* __restrict__ a = as + t * m * k;
        const float* __restrict__ b = bs + t * k * n;
        float* __restrict__ c = cs + t * m * n;
        {body}
        }}"""
    helpers = NARROW if slip == "narrow" else ""
    helpers += vector_type(knobs["width"]) if knobs["hold"] == "vector" else ""
    return tidy(f"""{HEADER}{helpers}
extern "C" void kernel(const float* __restrict__ a{s}, const float* __restrict__ b{s}, float* __restrict__ c{s},
                       {sizes}) {{
    {before}
        {body}
}}
""")


def _template(task: str, transposed: bool = False, batched: bool = False) -> Template:
    rules = _rules(transposed)
    return Template(
        task,
        "cpp",
        _KNOBS,
        lambda knobs: _render(knobs, transposed, batched),
        lambda knobs: fits(knobs, _KNOBS, _USES, rules),
    )


TEMPLATES = (
    _template("matmul"),
    _template("batched_matmul", batched=True),
    _template("matmul_transposed", transposed=True),
)
