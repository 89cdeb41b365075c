"""C++ template of the scan family: how the chain of additions is broken up, and where that goes wrong."""

from __future__ import annotations

from foretell.kernels.propose.cpp.fragments import SCHEDULES, Fold, fold_loop, parallel_for, schedule_fits, tidy
from foretell.kernels.propose.template import Knobs, Template

_KNOBS = {
    "method": (
        "running",
        "chained",
        "copied",
        "inscan",
        "groups",
        "ladder",
        "rows",
        "segments",
        "levels",
        "doubling",
        "flat",
        "split",
    ),
    "size": (1, 4, 8, 16, 32, 64, 256),
    "scalar": ("float", "double"),
    "threads": ("one", "all"),
    "schedule": SCHEDULES,
    "place": ("buffer", "shared buffer", "descending", "ascending"),
    "hint": ("none", "simd", "parallel"),
    "kind": ("inclusive", "exclusive"),
    "start": ("each row", "once"),
    "tail": ("full", "dropped"),
}

_SIZES = {
    "groups": (4, 8, 16),
    "ladder": (8, 16, 32),
    "rows": (4, 8, 16, 32),
    "segments": (4, 8, 16),
    "levels": (16, 64, 256),
}


def _valid(knobs: Knobs) -> bool:
    method, one = knobs["method"], knobs["threads"] == "one"
    first_schedule, single = knobs["schedule"] == SCHEDULES[0], knobs["scalar"] == "float"
    if not schedule_fits(knobs) or knobs["size"] not in _SIZES.get(method, (1,)):
        return False
    if method in ("chained", "copied", "ladder") and not single:
        return False
    if knobs["place"] != "buffer" and method != "doubling":
        return False
    if method == "doubling" and (not single or (knobs["place"] == "ascending" and not first_schedule)):
        return False
    if method == "split" and (one or not first_schedule):
        return False
    if method == "flat" and not one:
        return False
    if knobs["hint"] == "simd" and (method != "running" or not first_schedule):
        return False
    if knobs["hint"] == "parallel" and (method != "chained" or not first_schedule or one):
        return False
    mistakes = (knobs["kind"] == "exclusive") + (knobs["start"] == "once") + (knobs["tail"] == "dropped")
    if mistakes == 0:
        return True
    if mistakes > 1 or not single or not first_schedule or knobs["hint"] != "none":
        return False
    if knobs["kind"] == "exclusive":
        return method in ("running", "inscan")
    if knobs["start"] == "once":
        return bool(method in ("running", "flat") and one)
    return bool(method in ("groups", "ladder", "segments") and (one or method == "groups"))


def _groups(size: int, scalar: str, rest: str) -> str:
    steps = [f"const {scalar} s0 = row[j];"]
    steps += [f"const {scalar} s{k} = s{k - 1} + row[j + {k}];" for k in range(1, size)]
    steps += [f"dst[j + {k}] = run + s{k};" for k in range(size)]
    return f"""{scalar} run = 0;
        int64_t j = 0;
        for (; j + {size} <= cols; j += {size}) {{
            {" ".join(steps)}
            run += s{size - 1};
        }}
        {rest}"""


def _ladder(size: int, rest: str) -> str:
    source, target, distance, steps = "a", "b", 1, ""
    while distance < size:
        steps += f"""for (int l = 0; l < {distance}; ++l) {target}[l] = {source}[l];
            for (int l = {distance}; l < {size}; ++l) {target}[l] = {source}[l] + {source}[l - {distance}];
            """
        source, target, distance = target, source, 2 * distance
    return f"""float run = 0;
        int64_t j = 0;
        for (; j + {size} <= cols; j += {size}) {{
            float a[{size}], b[{size}];
            for (int l = 0; l < {size}; ++l) a[l] = row[j + l];
            {steps}
            for (int l = 0; l < {size}; ++l) dst[j + l] = run + {source}[l];
            run += {source}[{size - 1}];
        }}
        {rest}"""


def _segments(size: int, scalar: str, tail: str) -> str:
    rest = f"for (int64_t j = {size} * length; j < cols; ++j) {{ offset += row[j]; dst[j] = offset; }}"
    return f"""const int64_t length = cols / {size};
        {scalar} run[{size}];
        for (int s = 0; s < {size}; ++s) run[s] = 0;
        for (int64_t k = 0; k < length; ++k)
            for (int s = 0; s < {size}; ++s) {{
                run[s] += row[s * length + k];
                dst[s * length + k] = run[s];
            }}
        {scalar} offset = run[0];
        for (int s = 1; s < {size}; ++s) {{
            for (int64_t k = 0; k < length; ++k) dst[s * length + k] += offset;
            offset += run[s];
        }}
        {rest if tail == "full" else ""}"""


def _levels(size: int, scalar: str) -> str:
    total = fold_loop([Fold("total", lambda j: f"row[start + {j}]", scalar=scalar)], "simd", count="width")
    return f"""{scalar} carry = 0;
        for (int64_t start = 0; start < cols; start += {size}) {{
            const int64_t width = cols - start < {size} ? cols - start : {size};
            {scalar} total = 0, run = carry;
        {total}
            for (int64_t j = start; j < start + width; ++j) {{ run += row[j]; dst[j] = run; }}
            carry += total;
        }}"""


def _doubling(place: str) -> str:
    if place in ("descending", "ascending"):
        loop = "int64_t j = cols - 1; j >= d; --j" if place == "descending" else "int64_t j = d; j < cols; ++j"
        return f"""std::memcpy(dst, row, cols * sizeof(float));
        for (int64_t d = 1; d < cols; d *= 2)
            for ({loop}) dst[j] += dst[j - d];"""
    return """std::memcpy(dst, row, cols * sizeof(float));
        for (int64_t d = 1; d < cols; d *= 2) {
            for (int64_t j = 0; j < d; ++j) next[j] = dst[j];
            for (int64_t j = d; j < cols; ++j) next[j] = dst[j] + dst[j - d];
            std::memcpy(dst, next, cols * sizeof(float));
        }"""


_SPLIT = """{scalar} totals[256];
        #pragma omp parallel if (cols >= 4096)
        {{
            const int64_t parts = omp_get_num_threads(), me = omp_get_thread_num();
            const int64_t low = cols * me / parts, high = cols * (me + 1) / parts;
            {scalar} run = 0;
            for (int64_t j = low; j < high; ++j) {{ run += row[j]; dst[j] = run; }}
            totals[me] = run;
            #pragma omp barrier
            {scalar} offset = 0;
            for (int64_t p = 0; p < me; ++p) offset += totals[p];
            if (me > 0)
                for (int64_t j = low; j < high; ++j) dst[j] += offset;
        }}"""


def _row(knobs: Knobs) -> str:
    """Statements that scan one row from `row` to `dst`."""
    method, size, scalar = knobs["method"], knobs["size"], knobs["scalar"]
    step = "run += row[j]; dst[j] = run;" if knobs["kind"] == "inclusive" else "dst[j] = run; run += row[j];"
    declare = f"{scalar} run = 0;" if knobs["start"] == "each row" else ""
    rest = "for (; j < cols; ++j) { run += row[j]; dst[j] = run; }" if knobs["tail"] == "full" else ""
    if method == "running":
        pragma = "#pragma omp simd reduction(+:run)" if knobs["hint"] == "simd" else ""
        return f"{declare}\n        {pragma}\n        for (int64_t j = 0; j < cols; ++j) {{ {step} }}"
    if method == "chained":
        return f"""dst[0] = row[0];
        {"#pragma omp parallel for if (cols >= 4096)" if knobs["hint"] == "parallel" else ""}
        for (int64_t j = 1; j < cols; ++j) dst[j] = dst[j - 1] + row[j];"""
    if method == "copied":
        return """std::memcpy(dst, row, cols * sizeof(float));
        for (int64_t j = 1; j < cols; ++j) dst[j] += dst[j - 1];"""
    if method == "inscan":
        first, second = step.split("; ", 1)
        kind = knobs["kind"]
        return f"""{declare}
        #pragma omp simd reduction(inscan, +:run)
        for (int64_t j = 0; j < cols; ++j) {{
            {first};
            #pragma omp scan {kind}(run)
            {second}
        }}"""
    if method == "groups":
        return _groups(size, scalar, rest)
    if method == "ladder":
        return _ladder(size, rest)
    if method == "segments":
        return _segments(size, scalar, knobs["tail"])
    if method == "levels":
        return _levels(size, scalar)
    if method == "split":
        return _SPLIT.format(scalar=scalar)
    return _doubling(knobs["place"])


def _body(knobs: Knobs) -> str:
    method, size, scalar = knobs["method"], knobs["size"], knobs["scalar"]
    inside = method == "split" or knobs["hint"] == "parallel"
    pragma = "" if inside else parallel_for(knobs["threads"], knobs["schedule"])
    if method == "flat":
        reset = "if (k % cols == 0) run = 0;" if knobs["start"] == "each row" else ""
        return f"""{scalar} run = 0;
    for (int64_t k = 0; k < rows * cols; ++k) {{ {reset} run += x[k]; out[k] = run; }}"""
    if method == "rows":
        return f"""{pragma}for (int64_t i = 0; i < rows; i += {size}) {{
        const int64_t height = rows - i < {size} ? rows - i : {size};
        {scalar} run[{size}];
        for (int r = 0; r < {size}; ++r) run[r] = 0;
        for (int64_t j = 0; j < cols; ++j)
            for (int64_t r = 0; r < height; ++r) {{
                run[r] += x[(i + r) * cols + j];
                out[(i + r) * cols + j] = run[r];
            }}
    }}"""
    buffered = method == "doubling" and knobs["place"] in ("buffer", "shared buffer")
    allocate, release = ("float* next = new float[cols];", "delete[] next;") if buffered else ("", "")
    shared = knobs["place"] == "shared buffer"
    return f"""{allocate if shared else ""}
    {f"{scalar} run = 0;" if knobs["start"] == "once" else ""}
    {pragma}for (int64_t i = 0; i < rows; ++i) {{
        const float* row = x + i * cols;
        float* dst = out + i * cols;
        {"" if shared else allocate}
        {_row(knobs)}
        {"" if shared else release}
    }}
    {release if shared else ""}"""


def _render(knobs: Knobs) -> str:
    include = "#include <omp.h>\n" if knobs["method"] == "split" else ""
    return tidy(f"""#include <cstdint>
#include <cstring>
{include}extern "C" void kernel(const float* __restrict__ x, float* __restrict__ out, int64_t rows, int64_t cols) {{
    {_body(knobs)}
}}
""")


TEMPLATES = (Template("prefix_sum", "cpp", _KNOBS, _render, _valid),)
