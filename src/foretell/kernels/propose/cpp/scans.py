"""C++ templates of running totals that leave out the item itself or start at the row's end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foretell.kernels.propose.cpp.dense import HEADER, Rules, fits
from foretell.kernels.propose.cpp.fragments import tidy
from foretell.kernels.propose.template import Knobs, Template


@dataclass(frozen=True)
class _Scan:
    """A running total along each row: from its end or not, with the item itself or without."""

    name: str
    reverse: bool
    exclusive: bool


_SCANS = (_Scan("exclusive_cumsum", False, True), _Scan("reverse_cumsum", True, False))

_KNOBS: dict[str, tuple[Any, ...]] = {
    "scheme": (
        "running",
        "chained",
        "difference",
        "buffered",
        "groups",
        "ladder",
        "rows",
        "segments",
        "levels",
        "flat",
        "split",
        "quadratic",
    ),
    "size": (4, 8, 16, 64, 256),
    "scalar": ("float", "double"),
    "threads": ("one", "all", "turns", "pieces"),
    "walk": ("index", "pointer"),
    "store": ("straight", "staged"),
    "slip": ("none", "kind", "start", "tail", "shared", "order", "name"),
}

_USES = {
    "running": {"scalar", "threads", "walk", "store"},
    "chained": {"threads", "walk", "store"},
    "difference": {"scalar", "threads", "store"},
    "buffered": {"scalar", "threads", "store"},
    "groups": {"size", "scalar", "threads"},
    "ladder": {"size", "threads", "store"},
    "rows": {"size", "scalar", "threads", "walk"},
    "segments": {"size", "scalar", "threads"},
    "levels": {"size", "scalar", "threads"},
    "flat": {"scalar", "walk"},
    "split": {"scalar", "threads"},
    "quadratic": {"size", "scalar", "threads"},
}

_RULES: Rules = {
    "running": lambda k: k["threads"] != "pieces" or k["store"] == "straight",
    "chained": lambda k: k["threads"] != "pieces",
    "difference": lambda k: k["threads"] != "pieces",
    "buffered": lambda k: k["threads"] != "pieces",
    "groups": lambda k: k["size"] <= 16 and (k["scalar"] == "float" or k["threads"] in ("one", "all")),
    "ladder": lambda k: k["size"] <= 16 and (k["store"] == "straight" or k["threads"] in ("one", "all")),
    "rows": lambda k: k["size"] <= 16 and k["threads"] in ("one", "all"),
    "segments": lambda k: k["size"] <= 16 and (k["scalar"] == "float" or k["threads"] in ("one", "all")),
    "levels": lambda k: k["size"] >= 16 and k["threads"] != "pieces",
    "flat": lambda k: True,
    "split": lambda k: k["threads"] == "all",
    "quadratic": lambda k: k["size"] in (4, 8, 16) and k["threads"] in ("one", "all") and k["scalar"] == "float",
    "kind": lambda k: (
        k["scheme"] == "running"
        and k["threads"] in ("one", "all")
        and k["store"] == "straight"
        and k["scalar"] == "float"
    ),
    "start": lambda k: (
        k["scheme"] == "flat" or (k["scheme"] == "levels" and k["threads"] == "one" and k["scalar"] == "float")
    ),
    "tail": lambda k: (
        k["scheme"] in ("groups", "ladder", "segments")
        and k["threads"] == "one"
        and k["size"] > 4
        and k["store"] == "straight"
        and k["scalar"] == "float"
    ),
    "shared": lambda k: k["scheme"] == "buffered" and k["threads"] in ("all", "turns") and k["store"] == "straight",
    "order": lambda k: k["scheme"] == "split" or (k["scheme"] == "rows" and k["size"] == 4 and k["scalar"] == "float"),
    "name": lambda k: k["scheme"] == "difference" and k["threads"] == "turns" and k["store"] == "staged",
}


class _Writer:
    """The text of one setting; a position in the order of the scan is turned into a column by `at`."""

    def __init__(self, scan: _Scan, knobs: Knobs) -> None:
        self.scan, self.knobs, self.scalar, self.size = scan, knobs, knobs["scalar"], knobs["size"]
        self.exclusive = scan.exclusive != (knobs["slip"] == "kind")
        self.reverse = scan.reverse != (knobs["slip"] == "order" and knobs["scheme"] == "rows")
        schedule = {"all": "static", "turns": "dynamic, 1", "pieces": "static, 16"}.get(knobs["threads"])
        self.pragma = f"#pragma omp parallel for schedule({schedule})\n    " if schedule else ""

    def at(self, k: str) -> str:
        return f"cols - 1 - ({k})" if self.reverse else k

    def step(self, k: str, run: str = "run", row: str = "row", dst: str = "dst") -> str:
        """One item at position `k`."""
        add, put = f"{run} += {row}[{self.at(k)}];", f"{dst}[{self.at(k)}] = {run};"
        return f"{put} {add}" if self.exclusive else f"{add} {put}"

    def each_row(self, body: str, before: str = "", after: str = "") -> str:
        return f"""{before}
    {self.pragma}for (int64_t i = 0; i < rows; ++i) {{
        const float* row = x + i * cols;
        float* dst = out + i * cols;
        {body}
    }}
    {after}"""

    def staged(self, body: str) -> str:
        """`body` as it is, or with its results in a row of its own that is copied to the output."""
        if self.knobs["store"] == "straight":
            return body
        return f"""float* own = new float[cols];
        {body.replace("dst", "own")}
        std::memcpy(dst, own, sizeof(float) * cols);
        delete[] own;"""

    def running(self) -> str:
        if self.knobs["walk"] == "index":
            body = f"for (int64_t k = 0; k < cols; ++k) {{ {self.step('k')} }}"
        else:
            first, last, move = ("cols - 1", "- 1", "--") if self.reverse else ("0", "+ cols", "++")
            add, put = "run += *from;", "*to = run;"
            inner = f"{put} {add}" if self.exclusive else f"{add} {put}"
            body = f"""const float* from = row + {first};
        float* to = dst + {first};
        for (const float* end = row {last}; from != end; {move}from, {move}to) {{ {inner} }}"""
        return self.each_row(self.staged(f"{self.scalar} run = 0;\n        {body}"))

    def chained(self) -> str:
        """Each result from the one before, read back from memory."""
        here, last, zero = self.at("k"), self.at("k - 1"), self.at("0")
        if self.knobs["walk"] == "index":
            first = f"dst[{zero}] = {'0.0f' if self.exclusive else f'row[{zero}]'};"
            step = f"dst[{here}] = dst[{last}] + row[{last if self.exclusive else here}];"
            body = f"{first}\n        for (int64_t k = 1; k < cols; ++k) {step}"
        else:
            value = f"k == 0 ? 0.0f : row[{last}]" if self.exclusive else f"row[{here}]"
            body = f"""for (int64_t k = 0; k < cols; ++k) dst[{here}] = {value};
        for (int64_t k = 1; k < cols; ++k) dst[{here}] += dst[{last}];"""
        return self.each_row(self.staged(body))

    def difference(self) -> str:
        """The total with the item less the item, or the row's total less what stands before."""
        name = "sum" if self.knobs["slip"] == "name" else "run"
        if not self.reverse:
            body = f"""{self.scalar} run = 0;
        for (int64_t j = 0; j < cols; ++j) {{ run += row[j]; dst[j] = {name}; }}
        for (int64_t j = 0; j < cols; ++j) dst[j] -= row[j];"""
        else:
            body = f"""{self.scalar} run = 0;
        for (int64_t j = 0; j < cols; ++j) {{ dst[j] = run; run += row[j]; }}
        for (int64_t j = 0; j < cols; ++j) dst[j] = {name} - dst[j];"""
        return self.each_row(self.staged(body))

    def buffered(self) -> str:
        """The plain scan of a copy in a row of its own: shifted by one, or turned round and back."""
        hold, free = f"{self.scalar}* line = new {self.scalar}[cols + 1];", "delete[] line;"
        if self.reverse:
            fill, back = "std::reverse_copy(row, row + cols, line);", "std::reverse_copy(line, line + cols, dst);"
            scan = "for (int64_t k = 1; k < cols; ++k) line[k] += line[k - 1];"
        else:
            fill, back = "line[0] = 0; std::copy(row, row + cols, line + 1);", "std::copy(line, line + cols, dst);"
            scan = "for (int64_t k = 1; k <= cols; ++k) line[k] += line[k - 1];"
        if self.knobs["store"] == "staged":
            back = f"for (int64_t j = 0; j < cols; ++j) dst[j] = line[{'cols - 1 - j' if self.reverse else 'j'}];"
        outside = self.knobs["slip"] == "shared" or self.knobs["threads"] == "one"
        body = f"{fill}\n        {scan}\n        {back}"
        if outside:
            return self.each_row(body, hold, free)
        return self.each_row(f"{hold}\n        {body}\n        {free}")

    def rest(self) -> str:
        return "" if self.knobs["slip"] == "tail" else f"for (; k < cols; ++k) {{ {self.step('k')} }}"

    def groups(self) -> str:
        size, scalar = self.size, self.scalar
        steps = [f"const {scalar} s0 = row[{self.at('k')}];"]
        steps += [f"const {scalar} s{n} = s{n - 1} + row[{self.at(f'k + {n}')}];" for n in range(1, size)]
        for n in range(size):
            before = f"run + s{n - 1}" if n else "run"
            steps.append(f"dst[{self.at(f'k + {n}')}] = {before if self.exclusive else f'run + s{n}'};")
        return self.each_row(f"""{scalar} run = 0;
        int64_t k = 0;
        for (; k + {size} <= cols; k += {size}) {{
            {" ".join(steps)}
            run += s{size - 1};
        }}
        {self.rest()}""")

    def ladder(self) -> str:
        """Partial totals at distances 1, 2, 4, ... within a group."""
        size, source, target, distance, steps = self.size, "a", "b", 1, ""
        while distance < size:
            steps += f"""for (int l = 0; l < {distance}; ++l) {target}[l] = {source}[l];
            for (int l = {distance}; l < {size}; ++l) {target}[l] = {source}[l] + {source}[l - {distance}];
            """
            source, target, distance = target, source, 2 * distance
        shifted = f"run + {source}[l] - row[{self.at('k + l')}]" if self.exclusive else f"run + {source}[l]"
        if self.exclusive and self.size > 4:
            shifted = f"l == 0 ? run : run + {source}[l - 1]"
        return self.each_row(
            self.staged(f"""float run = 0;
        int64_t k = 0;
        for (; k + {size} <= cols; k += {size}) {{
            float a[{size}], b[{size}];
            for (int l = 0; l < {size}; ++l) a[l] = row[{self.at("k + l")}];
            {steps}
            for (int l = 0; l < {size}; ++l) dst[{self.at("k + l")}] = {shifted};
            run += {source}[{size - 1}];
        }}
        {self.rest()}""")
        )

    def rows(self) -> str:
        """Several rows at once, so that their chains overlap."""
        size = self.size
        one = self.step("k", "run[r]", "(row + r * cols)", "(dst + r * cols)")
        steps = [self.step("k", f"run[{r}]", f"(row + {r} * cols)", f"(dst + {r} * cols)") for r in range(size)]
        newline = "\n                "
        loops = f"for (int64_t k = 0; k < cols; ++k)\n            for (int64_t r = 0; r < high; ++r) {{ {one} }}"
        if self.knobs["walk"] == "pointer":
            loops = f"""if (high == {size})
            for (int64_t k = 0; k < cols; ++k) {{
                {newline.join(steps)}
            }}
        else
            {loops}"""
        return f"""{self.pragma}for (int64_t i = 0; i < rows; i += {size}) {{
        const int64_t high = std::min<int64_t>({size}, rows - i);
        const float* row = x + i * cols;
        float* dst = out + i * cols;
        {self.scalar} run[{size}] = {{0}};
        {loops}
    }}"""

    def segments(self) -> str:
        """The row in `size` parts whose chains overlap, then what stands before added to each part."""
        size = self.size
        rest = f"for (int64_t k = {size} * length; k < cols; ++k) {{ {self.step('k', 'offset')} }}"
        return self.each_row(f"""const int64_t length = cols / {size};
        {self.scalar} run[{size}] = {{0}};
        for (int64_t n = 0; n < length; ++n)
            for (int s = 0; s < {size}; ++s) {{ {self.step("s * length + n", "run[s]")} }}
        {self.scalar} offset = run[0];
        for (int s = 1; s < {size}; ++s) {{
            for (int64_t n = 0; n < length; ++n) dst[{self.at("s * length + n")}] += offset;
            offset += run[s];
        }}
        {"" if self.knobs["slip"] == "tail" else rest}""")

    def levels(self) -> str:
        """Blocks: the total of each by a vector sum, so that the next may start before this one is through."""
        size, scalar = self.size, self.scalar
        outside = self.knobs["slip"] == "start"
        declare = f"{scalar} carry = 0;"
        body = f"""{"" if outside else declare}
        for (int64_t first = 0; first < cols; first += {size}) {{
            const int64_t last = std::min<int64_t>(cols, first + {size});
            {scalar} total = 0, run = carry;
            #pragma omp simd reduction(+:total)
            for (int64_t k = first; k < last; ++k) total += row[{self.at("k")}];
            for (int64_t k = first; k < last; ++k) {{ {self.step("k")} }}
            carry += total;
        }}"""
        return self.each_row(body, declare if outside else "")

    def flat(self) -> str:
        """One loop over all items; a row's beginning found by division or by counting."""
        test = "n % cols == 0" if self.knobs["walk"] == "index" else "left == 0"
        count = "" if self.knobs["walk"] == "index" else "--left;"
        reset = (
            f"if ({test}) {{ {'' if self.knobs['slip'] == 'start' else 'run = 0;'} {'left = cols;' if count else ''} }}"
        )
        reset = "" if self.knobs["slip"] == "start" and not count else reset
        place = "rows * cols - 1 - n" if self.reverse else "n"
        add, put = f"run += x[{place}];", f"out[{place}] = run;"
        return f"""{self.scalar} run = 0;
    {"int64_t left = 0;" if count else ""}
    for (int64_t n = 0; n < rows * cols; ++n) {{
        {reset}
        {f"{put} {add}" if self.exclusive else f"{add} {put}"} {count}
    }}"""

    def split(self) -> str:
        """Every row shared out among the threads: parts first, then what stands before added."""
        wait = "" if self.knobs["slip"] == "order" else "#pragma omp barrier"
        return f"""for (int64_t i = 0; i < rows; ++i) {{
        const float* row = x + i * cols;
        float* dst = out + i * cols;
        {self.scalar} totals[256];
        #pragma omp parallel if (cols >= 1024)
        {{
            const int64_t parts = omp_get_num_threads(), me = omp_get_thread_num();
            const int64_t low = cols * me / parts, high = cols * (me + 1) / parts;
            {self.scalar} run = 0;
            for (int64_t k = low; k < high; ++k) {{ {self.step("k")} }}
            totals[me] = run;
            {wait}
            {self.scalar} offset = 0;
            for (int64_t p = 0; p < me; ++p) offset += totals[p];
            if (me > 0)
                for (int64_t k = low; k < high; ++k) dst[{self.at("k")}] += offset;
        }}
    }}"""

    def quadratic(self) -> str:
        """Each item of a group summed anew from the group's beginning."""
        size = self.size
        bound = "m < k" if self.exclusive else "m <= k"
        return self.each_row(f"""{self.scalar} carry = 0;
        for (int64_t first = 0; first < cols; first += {size}) {{
            const int64_t last = std::min<int64_t>(cols, first + {size});
            for (int64_t k = first; k < last; ++k) {{
                {self.scalar} run = carry;
                for (int64_t m = first; {bound}; ++m) run += row[{self.at("m")}];
                dst[{self.at("k")}] = run;
            }}
            for (int64_t k = first; k < last; ++k) carry += row[{self.at("k")}];
        }}""")


def _render(scan: _Scan, knobs: Knobs) -> str:
    include = "#include <omp.h>\n" if knobs["scheme"] == "split" else ""
    return tidy(f"""{HEADER}{include}
extern "C" void kernel(const float* __restrict__ x, float* __restrict__ out, int64_t rows, int64_t cols) {{
    {getattr(_Writer(scan, knobs), knobs["scheme"])()}
}}
""")


def _template(scan: _Scan) -> Template:
    return Template(scan.name, "cpp", _KNOBS, lambda k: _render(scan, k), lambda k: fits(k, _KNOBS, _USES, _RULES))


TEMPLATES = tuple(_template(scan) for scan in _SCANS)
