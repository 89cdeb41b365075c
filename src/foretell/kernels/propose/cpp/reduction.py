"""C++ templates of the reduction family: sums along rows and columns, and the place of a row's maximum."""

from __future__ import annotations

from foretell.kernels.propose.cpp.argmax import ARGMAX
from foretell.kernels.propose.cpp.fragments import (
    SCHEDULES,
    Fold,
    fold_loop,
    parallel_for,
    schedule_fits,
    tidy,
)
from foretell.kernels.propose.template import Knobs, Template

_ROW_KNOBS = {
    "order": ("rows", "grouped", "tiles", "columns", "inner"),
    "style": ("plain", "simd", 4, 8, 16, 32),
    "scalar": ("float", "double", "int"),
    "ahead": (0, 256, 1024),
    "threads": ("one", "all"),
    "schedule": SCHEDULES,
    "clause": ("reduction", "none", "private"),
    "tail": ("full", "dropped"),
}

_COLUMN_KNOBS = {
    "order": ("columns", "rows", "blocks", "sweeps"),
    "size": (1, 4, 8, 16, 64, 256),
    "scalar": ("float", "double"),
    "simd": (False, True),
    "ahead": (0, 8),
    "threads": ("one", "all"),
    "split": ("columns", "private", "section", "interleaved", "direct", "repeated"),
    "schedule": SCHEDULES,
    "zero": ("kept", "missing"),
    "include": ("kept", "missing"),
    "tail": ("full", "dropped"),
}


def _row_valid(knobs: Knobs) -> bool:
    order, style, scalar, ahead = knobs["order"], knobs["style"], knobs["scalar"], knobs["ahead"]
    first_schedule = knobs["schedule"] == SCHEDULES[0]
    if not schedule_fits(knobs):
        return False
    if scalar == "int" and (order != "rows" or style not in ("plain", "simd", 4) or ahead or not first_schedule):
        return False
    if knobs["tail"] == "dropped":
        sound = isinstance(style, int) and scalar == "float" and not ahead and first_schedule
        if not sound or order not in ("rows", "grouped"):
            return False
    if knobs["clause"] != "reduction" and (order != "inner" or style != "plain"):
        return False
    if order == "grouped":
        misnamed = ahead == 256 and style == 4 and scalar == "float" and first_schedule and knobs["tail"] == "full"
        return bool(style in (4, 8, 16) and (not ahead or misnamed))
    if order == "tiles":
        return bool(not ahead and first_schedule)
    if order == "columns":
        return bool(style == "plain" and scalar == "float" and not ahead)
    if order == "inner":
        return bool(style in ("plain", "simd") and not ahead and knobs["threads"] == "all" and first_schedule)
    return True


def _render_row(knobs: Knobs) -> str:
    order, style, scalar, ahead = knobs["order"], knobs["style"], knobs["scalar"], knobs["ahead"]
    pragma = parallel_for(knobs["threads"], knobs["schedule"])
    prefetch = f"__builtin_prefetch(row + j + {ahead});" if ahead else ""
    row_fold = fold_loop([Fold("sum", lambda j: f"row[{j}]", scalar=scalar)], style, tail=knobs["tail"], also=prefetch)
    if order == "rows":
        body = f"""{pragma}for (int64_t i = 0; i < rows; ++i) {{
        const float* row = x + i * cols;
        {scalar} sum = 0;
        {row_fold}
        out[i] = sum;
    }}"""
    elif order == "tiles":
        tile_fold = fold_loop([Fold("sum", lambda j: f"row[{j}]", scalar=scalar)], style, count="width")
        body = f"""for (int64_t i = 0; i < rows; ++i) out[i] = 0.0f;
    for (int64_t start = 0; start < cols; start += 512) {{
        const int64_t width = std::min<int64_t>(512, cols - start);
        {pragma}for (int64_t i = 0; i < rows; ++i) {{
        const float* row = x + i * cols + start;
        {scalar} sum = 0;
        {tile_fold}
        out[i] += sum;
        }}
    }}"""
    elif order == "columns":
        body = f"""for (int64_t i = 0; i < rows; ++i) out[i] = 0.0f;
    {pragma}for (int64_t j = 0; j < cols; ++j)
        for (int64_t i = 0; i < rows; ++i) out[i] += x[i * cols + j];"""
    elif order == "inner":
        clause = {"reduction": "reduction(+:sum) ", "none": "", "private": "private(sum) "}[knobs["clause"]]
        body = f"""for (int64_t i = 0; i < rows; ++i) {{
        const float* row = x + i * cols;
        {scalar} sum = 0;
        #pragma omp parallel for {"simd " if style == "simd" else ""}{clause}if (cols >= 4096)
        for (int64_t j = 0; j < cols; ++j) sum += row[j];
        out[i] = sum;
    }}"""
    else:
        rest = f"""for (int64_t i = rows - rows % {style}; i < rows; ++i) {{
        {scalar} sum = 0;
        for (int64_t j = 0; j < cols; ++j) sum += x[i * cols + j];
        out[i] = sum;
    }}"""
        body = f"""{pragma}for (int64_t i = 0; i < rows - rows % {style}; i += {style}) {{
        {scalar} sum[{style}];
        for (int l = 0; l < {style}; ++l) sum[l] = 0;
        for (int64_t j = 0; j < cols; ++j) {{
            {prefetch}
            for (int l = 0; l < {style}; ++l) sum[l] += x[(i + l) * cols + j];
        }}
        for (int l = 0; l < {style}; ++l) out[i + l] = sum[l];
    }}
    {rest if knobs["tail"] == "full" else ""}"""
    return tidy(f"""#include <algorithm>
#include <cstdint>
extern "C" void kernel(const float* __restrict__ x, float* __restrict__ out, int64_t rows, int64_t cols) {{
    {body}
}}
""")


def _column_valid(knobs: Knobs) -> bool:
    order, size, split, simd, ahead = (knobs[name] for name in ("order", "size", "split", "simd", "ahead"))
    mistakes = (knobs["zero"] == "missing") + (knobs["include"] == "missing") + (knobs["tail"] == "dropped")
    first_schedule, single = knobs["schedule"] == SCHEDULES[0], knobs["scalar"] == "float"
    if not schedule_fits(knobs) or (knobs["threads"] == "one" and split != "columns"):
        return False
    if mistakes > 1 or (mistakes == 1 and (simd or ahead or not first_schedule)):
        return False
    if knobs["zero"] == "missing" and not (
        split == "columns" and single and (order, size) in (("rows", 1), ("sweeps", 4))
    ):
        return False
    if knobs["include"] == "missing" and not (order == "rows" and split == "interleaved"):
        return False
    if knobs["tail"] == "dropped" and not (single and order in ("blocks", "sweeps") and size < 256):
        return False
    if order == "columns":
        return bool(size in (1, 4, 16) and split == "columns" and not ahead and not (simd and size > 1))
    if order == "blocks":
        return bool(size >= 16 and split == "columns" and not simd)
    if not first_schedule:
        return False
    if order == "sweeps":
        return bool(size in (4, 8, 16) and split == "columns" and not ahead)
    if split in ("section", "repeated") and not single:
        return False
    return bool(size == 1 and not (split in ("direct", "repeated") and simd))


_MY_COLUMNS = """const int64_t parts = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t low = cols * me / parts, high = cols * (me + 1) / parts;"""


def _over_columns(knobs: Knobs, statement: str, simd: bool) -> str:
    """A loop of `statement` over this thread's columns j."""
    pragma = "#pragma omp simd\n        " if simd else ""
    if knobs["split"] == "interleaved":
        return f"{pragma}for (int64_t j = me; j < cols; j += parts) {{ {statement} }}"
    if knobs["threads"] == "all" and knobs["split"] == "columns":
        return f"{pragma}for (int64_t j = low; j < high; ++j) {{ {statement} }}"
    return f"{pragma}for (int64_t j = 0; j < cols; ++j) {{ {statement} }}"


def _column_rows(knobs: Knobs, target: str) -> str:
    """Row after row, or several rows in one sweep, added to `target`."""
    size, split, scalar = knobs["size"], knobs["split"], knobs["scalar"]
    place = "mine" if split == "private" else target
    prefetch = f"__builtin_prefetch(x + (i + {knobs['ahead']}) * cols + j);" if knobs["ahead"] else ""
    one = _over_columns(knobs, f"{prefetch} {place}[j] += x[i * cols + j];", knobs["simd"])
    if knobs["order"] == "sweeps":
        terms = " + ".join(f"({scalar})x[(i + {k}) * cols + j]" for k in range(size))
        rest = f"for (; i < rows; ++i) {{\n        {one}\n        }}" if knobs["tail"] == "full" else ""
        loops = f"""int64_t i = 0;
        for (; i + {size} <= rows; i += {size}) {{
        {_over_columns(knobs, f"{place}[j] += {terms};", knobs["simd"])}
        }}
        {rest}"""
    else:
        loops = f"for (int64_t i = 0; i < rows; ++i) {{\n        {one}\n        }}"
    if knobs["threads"] == "one":
        return loops
    if split == "private":
        return f"""#pragma omp parallel
    {{
        {scalar}* mine = new {scalar}[cols]();
        #pragma omp for
        {loops}
        #pragma omp critical
        for (int64_t j = 0; j < cols; ++j) {target}[j] += mine[j];
        delete[] mine;
    }}"""
    if split == "repeated":
        return f"#pragma omp parallel\n    {loops}"
    if split in ("section", "direct"):
        clause = f" reduction(+:{target}[:cols])" if split == "section" else ""
        return f"#pragma omp parallel for{clause}\n    {loops}"
    return f"#pragma omp parallel\n    {{\n    {_MY_COLUMNS}\n    {loops}\n    }}"


def _column_blocks(knobs: Knobs) -> str:
    size, scalar = knobs["size"], knobs["scalar"]
    prefetch = f"__builtin_prefetch(x + (i + {knobs['ahead']}) * cols + start);" if knobs["ahead"] else ""
    rest = f"""for (int64_t j = whole; j < cols; ++j) {{
        {scalar} sum = 0;
        for (int64_t i = 0; i < rows; ++i) sum += x[i * cols + j];
        out[j] = sum;
    }}"""
    return f"""const int64_t whole = cols - cols % {size};
    {parallel_for(knobs["threads"], knobs["schedule"])}for (int64_t start = 0; start < whole; start += {size}) {{
        {scalar} sum[{size}];
        for (int l = 0; l < {size}; ++l) sum[l] = 0;
        for (int64_t i = 0; i < rows; ++i) {{
            {prefetch}
            for (int l = 0; l < {size}; ++l) sum[l] += x[i * cols + start + l];
        }}
        for (int l = 0; l < {size}; ++l) out[start + l] = sum[l];
    }}
    {rest if knobs["tail"] == "full" else ""}"""


def _render_column(knobs: Knobs) -> str:
    scalar = knobs["scalar"]
    if knobs["order"] == "columns":
        style = "simd" if knobs["simd"] else ("plain" if knobs["size"] == 1 else knobs["size"])
        fold = fold_loop([Fold("sum", lambda j: f"x[({j}) * cols + k]", scalar=scalar)], style, count="rows")
        body = f"""{parallel_for(knobs["threads"], knobs["schedule"])}for (int64_t k = 0; k < cols; ++k) {{
        {scalar} sum = 0;
        {fold}
        out[k] = sum;
    }}"""
    elif knobs["order"] == "blocks":
        body = _column_blocks(knobs)
    elif scalar == "float":
        zero = "for (int64_t j = 0; j < cols; ++j) out[j] = 0.0f;" if knobs["zero"] == "kept" else ""
        body = f"{zero}\n    {_column_rows(knobs, 'out')}"
    else:
        body = f"""double* sums = new double[cols]();
    {_column_rows(knobs, "sums")}
    for (int64_t j = 0; j < cols; ++j) out[j] = (float)sums[j];
    delete[] sums;"""
    include = "#include <omp.h>\n" if "omp_get" in body and knobs["include"] == "kept" else ""
    return tidy(f"""#include <cstdint>
{include}extern "C" void kernel(const float* __restrict__ x, float* __restrict__ out, int64_t rows, int64_t cols) {{
    {body}
}}
""")


TEMPLATES = (
    Template("row_sum", "cpp", _ROW_KNOBS, _render_row, _row_valid),
    Template("column_sum", "cpp", _COLUMN_KNOBS, _render_column, _column_valid),
    ARGMAX,
)
