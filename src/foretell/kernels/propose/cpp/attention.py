"""C++ template of attention: how scores, exponentials and weighted values are computed and fused, and mistakes."""

from __future__ import annotations

from foretell.kernels.propose.cpp.dense import HEADER, NARROW, Rules, fits, parallel, vector_type
from foretell.kernels.propose.cpp.fragments import FAST_EXP, ROUNDED_EXP, tidy
from foretell.kernels.propose.template import Knobs, Template

_LANES = 16

_KNOBS = {
    "scheme": ("rows", "matrix", "again", "online"),
    "score": ("plain", "simd", "lanes", "flipped"),
    "value": ("strided", "axpy", "chunk"),
    "exp": ("libm", "poly", "rounded"),
    "divide": ("each", "late"),
    "threads": ("one", "all", "pairs"),
    "group": (1, 4),
    "tile": (1, 16, 64),
    "slip": ("none", "tail", "unshifted", "unscaled", "stale", "shared", "rescale", "narrow", "name"),
}

_USES = {
    "rows": {"score", "value", "exp", "divide", "threads", "group"},
    "matrix": {"score", "value", "exp", "threads"},
    "again": {"score", "exp", "threads"},
    "online": {"score", "exp", "threads", "tile"},
}

_RULES: Rules = {
    "rows": lambda k: (
        (k["value"] != "strided" or (k["divide"] == "each" and k["exp"] != "poly"))
        and (k["divide"] == "late" or k["exp"] == "libm" or (k["value"] == "strided" and k["threads"] == "one"))
        and (k["exp"] != "poly" or (k["threads"] == "all" and k["score"] in ("plain", "simd")))
        and (k["group"] == 1 or (k["score"] != "plain" and k["value"] != "strided" and k["divide"] == "late"))
        and (k["group"] == 1 or k["exp"] != "poly")
    ),
    "matrix": lambda k: (
        k["score"] != "lanes" and k["value"] != "chunk" and k["exp"] != "poly" and k["threads"] != "pairs"
    ),
    "again": lambda k: k["score"] in ("plain", "simd"),
    "online": lambda k: k["score"] != "flipped" and k["exp"] != "poly",
    "tail": lambda k: (
        (k["score"] == "lanes" or k["value"] == "chunk")
        and k["group"] == 4
        and k["exp"] == "rounded"
        and k["threads"] != "all"
    ),
    "unshifted": lambda k: k["score"] == "simd" and k["divide"] == "late" and k["group"] == 1 and k["value"] == "axpy",
    "unscaled": lambda k: k["scheme"] == "online" and k["tile"] == 16 and k["threads"] == "pairs",
    "stale": lambda k: (
        k["scheme"] == "rows" and k["threads"] == "one" and k["value"] == "axpy" and k["score"] == "plain"
    ),
    "shared": lambda k: (
        k["scheme"] == "rows"
        and k["threads"] == "pairs"
        and k["value"] == "axpy"
        and k["score"] == "plain"
        and k["group"] == 1
    ),
    "rescale": lambda k: k["scheme"] == "online" and k["tile"] > 1 and k["exp"] == "rounded" and k["threads"] == "all",
    "narrow": lambda k: k["score"] == "flipped" and k["group"] == 4 and k["threads"] == "all",
    "name": lambda k: k["scheme"] == "online" and k["tile"] == 64 and k["threads"] == "pairs" and k["exp"] == "rounded",
}


def _dots(knobs: Knobs, count: int, store: str) -> str:
    """Scores s0.. of one key `kj` with `count` queries q0.., then `store`."""
    each = range(count)
    names = ", ".join(f"s{g}" for g in each)
    zero = f"float {', '.join(f's{g} = 0.0f' for g in each)};"
    steps = " ".join(f"s{g} += q{g}[d] * kj[d];" for g in each)
    loop = f"for (int64_t d = 0; d < dim; ++d) {{ {steps} }}"
    if knobs["score"] == "simd":
        loop = f"#pragma omp simd reduction(+ : {names})\n                {loop}"
    if knobs["score"] == "lanes":
        wide = " ".join(f"p{g}[l] += q{g}[d + l] * kj[d + l];" for g in each)
        rest = "" if knobs["slip"] == "tail" else f"for (; d < dim; ++d) {{ {steps} }}"
        loop = f"""float {", ".join(f"p{g}[{_LANES}] = {{}}" for g in each)};
                int64_t d = 0;
                for (; d + {_LANES} <= dim; d += {_LANES})
                    for (int l = 0; l < {_LANES}; ++l) {{ {wide} }}
                {rest}
                for (int l = 0; l < {_LANES}; ++l) {{ {" ".join(f"s{g} += p{g}[l];" for g in each)} }}"""
    return f"{zero}\n                {loop}\n                {store}"


def _scores(knobs: Knobs, count: int) -> str:
    """Rows w0.. of scores for the queries q0.. of one head."""
    scale = "" if knobs["slip"] == "unscaled" else " * scale"
    if knobs["score"] == "flipped":
        steps = " ".join(f"w{g}[j] += q{g}[d] * kt[(h * dim + d) * keys + j];" for g in range(count))
        return f"""for (int64_t j = 0; j < keys; ++j) {{ {" ".join(f"w{g}[j] = 0.0f;" for g in range(count))} }}
            for (int64_t d = 0; d < dim; ++d)
                for (int64_t j = 0; j < keys; ++j) {{ {steps} }}
            for (int64_t j = 0; j < keys; ++j) {{ {" ".join(f"w{g}[j] *= scale;" for g in range(count))} }}"""
    store = " ".join(f"w{g}[j] = s{g}{scale};" for g in range(count))
    return f"""for (int64_t j = 0; j < keys; ++j) {{
                const float* kj = k + (h * keys + j) * dim;
                {_dots(knobs, count, store)}
            }}"""


def _softmax(knobs: Knobs, g: int) -> str:
    e = "std::exp" if knobs["exp"] == "libm" else "exp_poly"
    w = f"w{g}"
    peak = f"for (int64_t j = 0; j < keys; ++j) peak = {w}[j] > peak ? {w}[j] : peak;"
    total = f"for (int64_t j = 0; j < keys; ++j) {{ {w}[j] = {e}({w}[j] - peak); total += {w}[j]; }}"
    if knobs["exp"] == "rounded":
        peak = f"#pragma omp simd reduction(max : peak)\n            {peak}"
        total = f"""for (int64_t j = 0; j < keys; ++j) {w}[j] = {e}({w}[j] - peak);
            #pragma omp simd reduction(+ : total)
            for (int64_t j = 0; j < keys; ++j) total += {w}[j];"""
    start = f"float peak = {'0.0f' if knobs['slip'] == 'unshifted' else '-INFINITY'};"
    if knobs["slip"] != "stale":
        start += " float total = 0.0f;"
    late = knobs["divide"] == "late"
    last = f"inv{g} = 1.0f / total;" if late else f"for (int64_t j = 0; j < keys; ++j) {w}[j] /= total;"
    return f"""{f"float inv{g};" if late else ""}
            {{
            {start}
            {"" if knobs["slip"] == "unshifted" else peak}
            {total}
            {last}
            }}"""


def _values(knobs: Knobs, count: int) -> str:
    """Outputs o0.. as sums of the rows of V weighted with w0..."""
    each = range(count)
    late = knobs["divide"] == "late"
    vj = "v[(h * keys + j) * dim + d]"
    ends = [f" * inv{g}" if late else "" for g in each]
    if knobs["value"] == "axpy":
        steps = " ".join(f"o{g}[d] += w{g}[j] * {vj};" for g in each)
        scaled = " ".join(f"o{g}[d] *= inv{g};" for g in each)
        return f"""for (int64_t d = 0; d < dim; ++d) {{ {" ".join(f"o{g}[d] = 0.0f;" for g in each)} }}
            for (int64_t j = 0; j < keys; ++j)
                for (int64_t d = 0; d < dim; ++d) {{ {steps} }}
            {f"for (int64_t d = 0; d < dim; ++d) {{ {scaled} }}" if late else ""}"""
    single = f"""{{
                float {", ".join(f"a{g} = 0.0f" for g in each)};
                for (int64_t j = 0; j < keys; ++j) {{ {" ".join(f"a{g} += w{g}[j] * {vj};" for g in each)} }}
                {" ".join(f"o{g}[d] = a{g}{ends[g]};" for g in each)}
            }}"""
    if knobs["value"] == "strided":
        return f"for (int64_t d = 0; d < dim; ++d) {single}"
    rest = "" if knobs["slip"] == "tail" else f"for (int64_t d = dim - dim % {_LANES}; d < dim; ++d) {single}"
    return f"""for (int64_t d = 0; d + {_LANES} <= dim; d += {_LANES}) {{
                vec {", ".join(f"a{g} = {{}}" for g in each)};
                for (int64_t j = 0; j < keys; ++j) {{
                    vec r;
                    std::memcpy(&r, &{vj}, sizeof(r));
                    {" ".join(f"a{g} += w{g}[j] * r;" for g in each)}
                }}
                {" ".join(f"a{g} = a{g}{ends[g]}; std::memcpy(o{g} + d, &a{g}, sizeof(a{g}));" for g in each)}
            }}
            {rest}"""


def _pointers(count: int, weights: str, names: str = "qwo") -> str:
    sources = {"q": "const float* q{g} = q + (h * queries + i + {g}) * dim;", "w": f"float* w{{g}} = {weights};"}
    sources["o"] = "float* o{g} = out + (h * queries + i + {g}) * dim;"
    return " ".join(sources[name].format(g=g) for name in names for g in range(count))


def _rows(knobs: Knobs) -> str:
    group, shared = knobs["group"], knobs["slip"] == "shared"

    def block(count: int) -> str:
        return f"""{"" if shared else f"float* score = new float[{count} * keys];"}
            {_pointers(count, "score + {g} * keys")}
            {_scores(knobs, count)}
            {" ".join(_softmax(knobs, g) for g in range(count))}
            {_values(knobs, count)}
            {"" if shared else "delete[] score;"}"""

    rest = f"""for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = queries - queries % {group}; i < queries; ++i) {{
            {block(1)}
        }}"""
    before = "float* score = new float[keys];" if shared else "float total = 0.0f;" if knobs["slip"] == "stale" else ""
    bound = f"queries - queries % {group}" if group > 1 else "queries"
    return f"""{before}
    {parallel(knobs)}for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < {bound}; i += {group}) {{
            {block(group)}
        }}
    {f"{parallel(knobs)}{rest}" if group > 1 else ""}
    {"delete[] score;" if shared else ""}"""


def _matrix(knobs: Knobs) -> str:
    """All scores of a head first, then all its exponentials, then all its outputs."""
    loop = "for (int64_t i = 0; i < queries; ++i)"
    row = "score + i * keys"
    return f"""{parallel(knobs)}for (int64_t h = 0; h < heads; ++h) {{
        float* score = new float[queries * keys];
        {loop} {{
            {_pointers(1, row, "qw")}
            {_scores(knobs, 1)}
        }}
        {loop} {{
            {_pointers(1, row, "w")}
            {_softmax(knobs, 0)}
        }}
        {loop} {{
            {_pointers(1, row, "wo")}
            {_values(knobs, 1)}
        }}
        delete[] score;
    }}"""


def _again(knobs: Knobs) -> str:
    """No room for scores: they are computed anew for the maximum, for the sum and for the output."""
    e = "std::exp" if knobs["exp"] == "libm" else "exp_poly"

    def keys(step: str) -> str:
        return f"""for (int64_t j = 0; j < keys; ++j) {{
                const float* kj = k + (h * keys + j) * dim;
                {_dots(knobs, 1, step)}
            }}"""

    last = f"""const float w = {e}(s0 * scale - peak) / total;
                for (int64_t d = 0; d < dim; ++d) o0[d] += w * v[(h * keys + j) * dim + d];"""
    return f"""{parallel(knobs)}for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < queries; ++i) {{
            {_pointers(1, "", "qo")}
            float peak = -INFINITY, total = 0.0f;
            {keys("peak = std::max(peak, s0 * scale);")}
            {keys(f"total += {e}(s0 * scale - peak);")}
            for (int64_t d = 0; d < dim; ++d) o0[d] = 0.0f;
            {keys(last)}
        }}"""


def _online(knobs: Knobs) -> str:
    """One pass over tiles of keys: the output so far is scaled down whenever a larger score turns up."""
    tile = knobs["tile"]
    e = "std::exp" if knobs["exp"] == "libm" else "exp_poly"
    scale = "" if knobs["slip"] == "unscaled" else " * scale"
    rescale = "" if knobs["slip"] == "rescale" else "for (int64_t d = 0; d < dim; ++d) o0[d] *= shrink;"
    n = "count" if knobs["slip"] == "name" else "n"
    return f"""{parallel(knobs)}for (int64_t h = 0; h < heads; ++h)
        for (int64_t i = 0; i < queries; ++i) {{
            {_pointers(1, "", "qo")}
            float peak = -INFINITY, total = 0.0f, w[{tile}];
            for (int64_t d = 0; d < dim; ++d) o0[d] = 0.0f;
            for (int64_t j0 = 0; j0 < keys; j0 += {tile}) {{
                const int64_t n = std::min<int64_t>({tile}, keys - j0);
                float top = peak;
                for (int64_t j = 0; j < n; ++j) {{
                const float* kj = k + (h * keys + j0 + j) * dim;
                {_dots(knobs, 1, f"w[j] = s0{scale}; top = w[j] > top ? w[j] : top;")}
                }}
                const float shrink = {e}(peak - top);
                peak = top;
                total *= shrink;
                {rescale}
                for (int64_t j = 0; j < {n}; ++j) {{ w[j] = {e}(w[j] - peak); total += w[j]; }}
                for (int64_t j = 0; j < {n}; ++j)
                    for (int64_t d = 0; d < dim; ++d) o0[d] += w[j] * v[(h * keys + j0 + j) * dim + d];
            }}
            for (int64_t d = 0; d < dim; ++d) o0[d] /= total;
        }}"""


_BODIES = {"rows": _rows, "matrix": _matrix, "again": _again, "online": _online}


def _render(knobs: Knobs) -> str:
    flipped = knobs["score"] == "flipped"
    item = "k[(h * keys + j) * dim + d]"
    item = f"narrow({item})" if knobs["slip"] == "narrow" else item
    setup = f"""float* kt = new float[heads * keys * dim];
    for (int64_t h = 0; h < heads; ++h)
        for (int64_t d = 0; d < dim; ++d)
            for (int64_t j = 0; j < keys; ++j) kt[(h * dim + d) * keys + j] = {item};"""
    helpers = {"libm": "", "poly": FAST_EXP, "rounded": ROUNDED_EXP}[knobs["exp"]]
    helpers += NARROW if knobs["slip"] == "narrow" else ""
    helpers += vector_type(_LANES) if knobs["value"] == "chunk" else ""
    return tidy(f"""#include <cmath>
{HEADER}{helpers}
extern "C" void kernel(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
                       float* __restrict__ out, int64_t heads, int64_t queries, int64_t keys, int64_t dim) {{
    {"" if knobs["slip"] == "unscaled" else "const float scale = 1.0f / std::sqrt((float)dim);"}
    {setup if flipped else ""}
    {_BODIES[knobs["scheme"]](knobs)}
    {"delete[] kt;" if flipped else ""}
}}
""")


TEMPLATES = (Template("attention", "cpp", _KNOBS, _render, lambda knobs: fits(knobs, _KNOBS, _USES, _RULES)),)
