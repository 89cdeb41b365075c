"""C++ template of `argmax`, a part of the reduction family: one pass or two, lanes, blocks, packed keys, ties."""

from __future__ import annotations

from foretell.kernels.propose.cpp.fragments import SCHEDULES, Fold, fold_loop, parallel_for, schedule_fits, tidy
from foretell.kernels.propose.template import Knobs, Template

_KNOBS = {
    "method": ("branch", "select", "lanes", "blocks", "two passes", "packed", "inner"),
    "style": ("plain", "simd", 8, 16, 32),
    "block": (64, 256, 1024),
    "find": ("break", "backwards", "onwards"),
    "index": ("int64_t", "int32_t"),
    "tie": ("first", "last"),
    "merge": ("guarded", "direct"),
    "threads": ("one", "all"),
    "schedule": SCHEDULES,
    "tail": ("full", "dropped"),
}


def _valid(knobs: Knobs) -> bool:
    method, style, tie = knobs["method"], knobs["style"], knobs["tie"]
    first_schedule = knobs["schedule"] == SCHEDULES[0]
    if not schedule_fits(knobs):
        return False
    if (method != "blocks" and knobs["block"] != 64) or (method != "two passes" and knobs["find"] != "break"):
        return False
    if knobs["tail"] == "dropped":
        sound = isinstance(style, int) and tie == "first" and first_schedule and knobs["find"] == "break"
        if not sound or method not in ("lanes", "two passes") or knobs["index"] == "int64_t":
            return False
    if knobs["merge"] == "direct" and method != "inner":
        return False
    if tie == "last" and (not first_schedule or knobs["index"] == "int32_t"):
        return False
    if method in ("branch", "select"):
        return bool(style == "plain")
    if method == "lanes":
        return isinstance(style, int)
    if method == "blocks":
        return bool(style != 32 and knobs["index"] == "int64_t" and (tie == "first" or style == "simd"))
    if method == "two passes":
        sound = first_schedule and style in ("simd", 32) and knobs["index"] == "int64_t"
        return bool(tie == "first" and (knobs["find"] != "onwards" or sound))
    if method == "packed":
        return bool(knobs["index"] == "int64_t" and style != 32 and (tie == "first" or style in ("plain", "simd")))
    sound = style == "plain" and knobs["threads"] == "all" and first_schedule and knobs["index"] == "int64_t"
    return bool(sound and (tie == "first" or knobs["merge"] == "direct"))


def _one_pass(knobs: Knobs) -> str:
    above = ">" if knobs["tie"] == "first" else ">="
    if knobs["method"] == "branch":
        step = f"if (row[j] {above} peak) {{ peak = row[j]; at = j; }}"
    else:
        step = f"const bool better = row[j] {above} peak; peak = better ? row[j] : peak; at = better ? j : at;"
    return f"""float peak = row[0];
        {knobs["index"]} at = 0;
        for ({knobs["index"]} j = 1; j < cols; ++j) {{ {step} }}"""


def _lanes(knobs: Knobs) -> str:
    lanes, index = knobs["style"], knobs["index"]
    merge = "top[l] > peak || (top[l] == peak && where[l] < at)" if knobs["tie"] == "first" else "top[l] > peak"
    rest = f"for (; j < cols; ++j) if (row[j] > peak) {{ peak = row[j]; at = ({index})j; }}"
    return f"""float top[{lanes}], peak = -INFINITY;
        {index} where[{lanes}], at = 0;
        for (int l = 0; l < {lanes}; ++l) {{ top[l] = -INFINITY; where[l] = 0; }}
        int64_t j = 0;
        for (; j + {lanes} <= cols; j += {lanes})
            for (int l = 0; l < {lanes}; ++l) {{
                const bool better = row[j + l] > top[l];
                top[l] = better ? row[j + l] : top[l];
                where[l] = better ? ({index})(j + l) : where[l];
            }}
        for (int l = 0; l < {lanes}; ++l)
            if ({merge}) {{ peak = top[l]; at = where[l]; }}
        {rest if knobs["tail"] == "full" else ""}"""


def _blocks(knobs: Knobs) -> str:
    above = ">" if knobs["tie"] == "first" else ">="
    fold = fold_loop([Fold("local", lambda j: f"part[{j}]", op="max")], knobs["style"], count="width")
    return f"""float peak = -INFINITY;
        int64_t at = 0;
        for (int64_t start = 0; start < cols; start += {knobs["block"]}) {{
            const int64_t width = std::min<int64_t>({knobs["block"]}, cols - start);
            const float* part = row + start;
            float local = -INFINITY;
        {fold}
            if (local {above} peak) {{
                peak = local;
                at = start;
                while (row[at] != peak) ++at;
            }}
        }}"""


def _two_passes(knobs: Knobs) -> str:
    index, find = knobs["index"], knobs["find"]
    fold = fold_loop([Fold("peak", lambda j: f"row[{j}]", op="max")], knobs["style"], tail=knobs["tail"])
    search = {
        "break": f"for ({index} j = 0; j < cols; ++j) if (row[j] == peak) {{ at = j; break; }}",
        "backwards": f"for ({index} j = cols - 1; j >= 0; --j) at = row[j] == peak ? j : at;",
        "onwards": f"for ({index} j = 0; j < cols; ++j) at = row[j] == peak ? j : at;",
    }[find]
    return f"""float peak = -INFINITY;
        {index} at = 0;
        {fold}
        {search}"""


def _packed(knobs: Knobs) -> str:
    low = "0xffffffffLL - ({j})" if knobs["tie"] == "first" else "({j})"

    def key(j: str) -> str:
        return f"((int64_t)ordered(row[{j}]) * 4294967296LL + {low.format(j=j)})"

    fold = fold_loop([Fold("key", key, op="max", scalar="int64_t")], knobs["style"]).replace("-INFINITY", "INT64_MIN")
    at = "0xffffffffLL - (key & 0xffffffffLL)" if knobs["tie"] == "first" else "key & 0xffffffffLL"
    return f"int64_t key = INT64_MIN;\n        {fold}\n        const int64_t at = {at};"


_ORDERED = """
static inline int32_t ordered(float v) {
    union { float f; int32_t i; } u;
    u.f = v;
    return u.i ^ ((u.i >> 31) & 0x7fffffff);
}
"""


def _inner(knobs: Knobs) -> str:
    """Threads share a row: each finds its own best and they are merged one by one, or all write one answer."""
    if knobs["merge"] == "direct":
        above = ">" if knobs["tie"] == "first" else ">="
        return f"""float peak = row[0];
        int64_t at = 0;
        #pragma omp parallel for if (cols >= 2048)
        for (int64_t j = 1; j < cols; ++j)
            if (row[j] {above} peak) {{ peak = row[j]; at = j; }}"""
    return """float peak = -INFINITY;
        int64_t at = 0;
        #pragma omp parallel if (cols >= 2048)
        {
            float mine = -INFINITY;
            int64_t place = 0;
            #pragma omp for nowait
            for (int64_t j = 0; j < cols; ++j)
                if (row[j] > mine) { mine = row[j]; place = j; }
            #pragma omp critical
            if (mine > peak || (mine == peak && place < at)) { peak = mine; at = place; }
        }"""


def _render(knobs: Knobs) -> str:
    parts = {
        "branch": _one_pass,
        "select": _one_pass,
        "lanes": _lanes,
        "blocks": _blocks,
        "two passes": _two_passes,
        "packed": _packed,
        "inner": _inner,
    }
    pragma = "" if knobs["method"] == "inner" else parallel_for(knobs["threads"], knobs["schedule"])
    helper = _ORDERED if knobs["method"] == "packed" else ""
    return tidy(f"""#include <algorithm>
#include <cmath>
#include <cstdint>
{helper}
extern "C" void kernel(const float* __restrict__ x, int64_t* __restrict__ out, int64_t rows, int64_t cols) {{
    {pragma}for (int64_t i = 0; i < rows; ++i) {{
        const float* row = x + i * cols;
        {parts[knobs["method"]](knobs)}
        out[i] = at;
    }}
}}
""")


ARGMAX = Template("argmax", "cpp", _KNOBS, _render, _valid)
