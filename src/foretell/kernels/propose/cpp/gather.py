"""C++ template of the gather family: how rows are copied, in which order, how far ahead they are asked for."""

from __future__ import annotations

from foretell.kernels.propose.cpp.fragments import SCHEDULES, parallel_for, schedule_fits, tidy
from foretell.kernels.propose.template import Knobs, Template

_KNOBS = {
    "copy": ("loop", "simd", "memcpy", "std::copy", "blocks", "through"),
    "order": ("rows", "columns", "flat", "sorted"),
    "ahead": (0, 4, 16),
    "lines": ("first", "all"),
    "index": ("int64_t", "int32_t", "uint16_t"),
    "check": ("none", "clamp", "skip"),
    "threads": ("one", "all"),
    "schedule": ("static", "dynamic, 1", "dynamic, 64"),
    "buffer": ("private", "shared"),
    "extent": ("bytes", "items", "undeclared"),
    "tail": ("full", "dropped"),
}


def _valid(knobs: Knobs) -> bool:
    copy, order, ahead, check = knobs["copy"], knobs["order"], knobs["ahead"], knobs["check"]
    first_schedule = knobs["schedule"] == SCHEDULES[0]
    if not schedule_fits(knobs) or (knobs["lines"] == "all" and not ahead):
        return False
    if order != "rows" and (ahead or check == "skip" or knobs["index"] == "uint16_t"):
        return False
    if order in ("columns", "flat") and copy != "loop":
        return False
    if order == "flat" and knobs["schedule"] == "dynamic, 1":
        return False
    if order == "sorted" and (copy not in ("memcpy", "simd") or check != "none" or not first_schedule):
        return False
    if check != "none" and (ahead or not first_schedule or copy == "blocks"):
        return False
    if knobs["index"] == "int32_t" and ahead and not first_schedule:
        return False
    if knobs["index"] == "uint16_t" and (copy not in ("loop", "memcpy") or ahead == 4 or check != "none"):
        return False
    if knobs["index"] == "uint16_t" and (not first_schedule or knobs["lines"] == "all"):
        return False
    if knobs["buffer"] == "shared" and (copy != "through" or ahead == 4):
        return False
    if copy == "through" and (ahead and knobs["index"] != "int64_t"):
        return False
    if knobs["extent"] != "bytes":
        sound = copy == "memcpy" and order == "rows" and check == "none" and knobs["index"] == "int64_t"
        if not sound or not first_schedule or knobs["lines"] == "all":
            return False
        return bool(knobs["tail"] == "full" and (knobs["extent"] == "items" or ahead))
    if knobs["tail"] == "dropped":
        return bool(copy == "blocks" and first_schedule and knobs["index"] == "int64_t" and knobs["lines"] == "first")
    return True


def _copy(knobs: Knobs) -> str:
    """Statements that copy one row from `row` to `dst`."""
    copy = knobs["copy"]
    if copy == "loop":
        return "for (int64_t j = 0; j < dim; ++j) dst[j] = row[j];"
    if copy == "simd":
        return "#pragma omp simd\n        for (int64_t j = 0; j < dim; ++j) dst[j] = row[j];"
    if copy == "memcpy":
        extent = {"bytes": "dim * sizeof(float)", "items": "dim", "undeclared": "row_bytes"}[knobs["extent"]]
        return f"std::memcpy(dst, row, {extent});"
    if copy == "std::copy":
        return "std::copy(row, row + dim, dst);"
    if copy == "blocks":
        rest = "for (; j < dim; ++j) dst[j] = row[j];" if knobs["tail"] == "full" else ""
        return f"""int64_t j = 0;
        for (; j + 16 <= dim; j += 16) {{
            float part[16];
            for (int l = 0; l < 16; ++l) part[l] = row[j + l];
            for (int l = 0; l < 16; ++l) dst[j + l] = part[l];
        }}
        {rest}"""
    return """for (int64_t j = 0; j < dim; ++j) held[j] = row[j];
        for (int64_t j = 0; j < dim; ++j) dst[j] = held[j];"""


def _prefetch(knobs: Knobs) -> str:
    ahead = knobs["ahead"]
    if not ahead:
        return ""
    if knobs["lines"] == "first":
        return f"if (i + {ahead} < count) __builtin_prefetch(table + index[i + {ahead}] * dim);"
    return f"""if (i + {ahead} < count)
            for (int64_t j = 0; j < dim; j += 16) __builtin_prefetch(table + index[i + {ahead}] * dim + j);"""


def _place(knobs: Knobs, item: str) -> str:
    value = f"({knobs['index']})index[{item}]" if knobs["index"] != "int64_t" else f"index[{item}]"
    if knobs["check"] == "clamp":
        return f"std::min<int64_t>(std::max<int64_t>({value}, 0), vocab - 1)"
    return value


_SORTED = """int64_t* turn = new int64_t[count];
    for (int64_t k = 0; k < count; ++k) turn[k] = k;
    std::sort(turn, turn + count, [index](int64_t a, int64_t b) { return index[a] < index[b]; });
    """


def _body(knobs: Knobs) -> str:
    order, buffer = knobs["order"], knobs["buffer"]
    pragma = parallel_for(knobs["threads"], knobs["schedule"])
    if order == "columns":
        return f"""{pragma}for (int64_t j = 0; j < dim; ++j)
        for (int64_t i = 0; i < count; ++i) out[i * dim + j] = table[{_place(knobs, "i")} * dim + j];"""
    if order == "flat":
        return f"""{pragma}for (int64_t k = 0; k < count * dim; ++k)
        out[k] = table[{_place(knobs, "k / dim")} * dim + k % dim];"""
    held, free = ("", "")
    if knobs["copy"] == "through":
        held, free = "float* held = new float[dim];", "delete[] held;"
    shared = buffer == "shared"
    item, before, after = "i", "", ""
    if order == "sorted":
        item, before, after = "turn[i]", _SORTED, "delete[] turn;"
    skip = "if (place < 0 || place >= vocab) continue;" if knobs["check"] == "skip" else ""
    return f"""{held if shared else ""}
    {before}{pragma}for (int64_t i = 0; i < count; ++i) {{
        {_prefetch(knobs)}
        const int64_t place = {_place(knobs, item)};
        {skip}
        const float* row = table + place * dim;
        float* dst = out + {item} * dim;
        {"" if shared else held}
        {_copy(knobs)}
        {"" if shared else free}
    }}
    {after}
    {free if shared else ""}"""


def _render(knobs: Knobs) -> str:
    return tidy(f"""#include <algorithm>
#include <cstdint>
#include <cstring>
extern "C" void kernel(const float* __restrict__ table, const int64_t* __restrict__ index, float* __restrict__ out,
                       int64_t vocab, int64_t dim, int64_t count) {{
    {_body(knobs)}
}}
""")


TEMPLATES = (Template("embedding", "cpp", _KNOBS, _render, _valid),)
