"""C++ templates of pools over images: window loops, line folds, padded copies, scattering, shuffles, and mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from foretell.kernels.propose.cpp.dense import Rules, fits, vector_type
from foretell.kernels.propose.cpp.fragments import tidy
from foretell.kernels.propose.template import Knobs, Template

_HEADER = "#include <algorithm>\n#include <cmath>\n#include <cstdint>\n#include <cstring>\n"


@dataclass(frozen=True)
class _Pool:
    """One pool with stride 2: the window covers `offsets` around twice the output's place.

    `fold` joins two numbers a and b, `item` takes one in and `result` gives v out, each by the knob `factor`; `flaw` is
    what a slip puts in the place of `start` or, where that is the same, of `result`.
    """

    name: str
    tall: str
    wide: str
    offsets: tuple[int, ...]
    start: str
    fold: Mapping[str, str]
    item: Mapping[str, str]
    result: Mapping[str, str]
    flaw: tuple[str, str]


_POOLS = (
    _Pool(
        "max_pool2d",
        "(height + 1) / 2",
        "(width + 1) / 2",
        (-1, 0, 1),
        "-INFINITY",
        {"float": "a > b ? a : b", "library": "std::fmax(a, b)", "double": "a > b ? a : b"},
        dict.fromkeys(("float", "library", "double"), "{}"),
        dict.fromkeys(("float", "library", "double"), "{}"),
        ("0.0f", "{}"),
    ),
    _Pool(
        "avg_pool2d",
        "height / 2",
        "width / 2",
        (0, 1),
        "0.0f",
        dict.fromkeys(("float", "early", "double"), "a + b"),
        {"float": "{}", "early": "0.25f * {}", "double": "{}"},
        {"float": "0.25f * {}", "early": "{}", "double": "{} / 4.0"},
        ("0.0f", "0.5f * {}"),
    ),
)


def _knobs(pool: _Pool) -> dict[str, tuple[Any, ...]]:
    return {
        "scheme": ("direct", "unrolled", "separable", "padded", "scatter", "vector"),
        "order": ("nested", "flat", "strided"),
        "border": ("test", "clamp"),
        "threads": ("one", "all", "pairs", "rows"),
        "place": ("line", "plane", "across"),
        "size": (1, 4, 8, 16),
        "together": (1, 2, 4),
        "loop": ("plain", "simd"),
        "factor": tuple(pool.fold),
        "slip": ("none", "tail", "start", "reset", "odd", "shared", "name"),
    }


_USES = {
    "direct": {"order", "border", "threads", "factor"},
    "unrolled": {"threads", "together", "loop", "factor"},
    "separable": {"place", "threads", "loop", "factor"},
    "padded": {"threads", "together", "loop", "factor"},
    "scatter": {"order", "threads", "factor"},
    "vector": {"threads", "size", "together"},
}

_RULES: Rules = {
    "direct": lambda k: k["threads"] in ("one", "all"),
    "unrolled": lambda k: k["factor"] == "float" or (k["threads"] in ("one", "all") and k["together"] < 4),
    "separable": lambda k: k["threads"] in ("one", "all") or (k["threads"] == "rows" and k["factor"] == "float"),
    "padded": lambda k: k["threads"] in ("one", "all") and k["together"] < 4,
    "scatter": lambda k: k["threads"] in ("one", "all") and k["order"] != "flat",
    "vector": lambda k: k["size"] > 1 and k["together"] < 4,
    "tail": lambda k: (
        k["threads"] in ("one", "all")
        and (
            (k["scheme"] == "unrolled" and k["together"] == 4 and k["loop"] == "plain")
            or (k["scheme"] == "vector" and k["size"] == 16 and k["together"] == 1)
        )
    ),
    "start": lambda k: k["factor"] == "float" and (k["scheme"] == "scatter" or k["order"] == "flat"),
    "reset": lambda k: (
        k["scheme"] == "direct" and k["order"] == "nested" and k["border"] == "clamp" and k["factor"] != "float"
    ),
    "odd": lambda k: (
        k["scheme"] == "unrolled" and k["together"] == 1 and k["factor"] == "float" and k["loop"] == "simd"
    ),
    "shared": lambda k: k["scheme"] == "separable" and k["place"] == "line" and k["threads"] == "all",
    "name": lambda k: k["scheme"] == "padded" and k["together"] == 2 and k["factor"] == "double",
}


class _Writer:
    """The text of one setting of one pool."""

    def __init__(self, pool: _Pool, knobs: Knobs) -> None:
        self.pool, self.knobs, factor = pool, knobs, knobs["factor"]
        self.scalar = "double" if factor == "double" else "float"
        self.fold, self.item, self.result = pool.fold[factor], pool.item[factor], pool.result[factor]
        self.start = pool.start
        if knobs["slip"] == "start":
            self.start, self.result = pool.flaw
        self.simd = "#pragma omp simd\n            " if knobs["loop"] == "simd" else ""
        self.shared = "#pragma omp parallel for schedule(static)\n    "
        self.padding = pool.offsets[0] < 0

    def pragma(self, *kinds: str) -> str:
        return self.shared if self.knobs["threads"] in kinds else ""

    def helpers(self) -> str:
        if self.knobs["size"] > 1:
            size = self.knobs["size"]
            return f"""{vector_type(size)}typedef int lanes __attribute__((vector_size({4 * size})));
static inline vec load(const float* p) {{ vec v; std::memcpy(&v, p, sizeof v); return v; }}
template <typename T> static inline T fold(T a, T b) {{ return {self.fold}; }}
"""
        return f"\nstatic inline {self.scalar} fold({self.scalar} a, {self.scalar} b) {{ return {self.fold}; }}\n"

    def folded(self, *items: str) -> str:
        return reduce(lambda left, right: f"fold({left}, {right})", items)

    def heads(self, body: str) -> str:
        """`body` for each output row i of each plane p."""
        pairs = self.shared.replace("for s", "for collapse(2) s") if self.knobs["threads"] == "pairs" else ""
        return f"""{self.pragma("all")}{pairs}for (int64_t p = 0; p < planes; ++p)
        {self.pragma("rows")}for (int64_t i = 0; i < tall; ++i) {{
            {body}
        }}"""

    def pointers(self) -> str:
        """The rows of the window, those outside replaced by their neighbours, and the output's row."""
        stride = "(2 * wide)" if self.knobs["slip"] == "odd" else "width"
        rows = ("std::max<int64_t>(2 * i - 1, 0)", "2 * i", "std::min<int64_t>(2 * i + 1, height - 1)")
        rows = rows if self.padding else ("2 * i", "(2 * i + 1)", "")
        steps = [f"const float* r{n} = base + {row} * {stride};" for n, row in enumerate(rows) if row]
        return f"""const float* base = x + p * height * {stride};
            {" ".join(steps)}
            float* to = out + (p * tall + i) * wide;"""

    def point(self, j: str, clamp: bool = False) -> str:
        """The output at column `j` from the rows of the window."""
        near = [f"2 * ({j}) {'+' if at > 0 else '-'} {abs(at)}" if at else f"2 * ({j})" for at in self.pool.offsets]
        if clamp:
            near[0], near[-1] = f"std::max<int64_t>({near[0]}, 0)", f"std::min<int64_t>({near[-1]}, width - 1)"
        rows = range(len(near))
        return self.result.format(self.folded(*(self.item.format(f"r{r}[{c}]") for r in rows for c in near)))

    def edges(self) -> str:
        """The columns whose window leaves the row."""
        if not self.padding:
            return ""
        return f"""to[0] = {self.point("0", True)};
            for (int64_t j = std::max<int64_t>(1, width / 2); j < wide; ++j) to[j] = {self.point("j", True)};"""

    @property
    def inner(self) -> tuple[str, str]:
        """First and last of the columns whose window stays in the row."""
        return ("1", "width / 2") if self.padding else ("0", "wide")

    def direct(self) -> str:
        k, first = self.knobs, self.pool.offsets[0]
        low = f" - {-first}" if first else ""
        source = self.item.format("x[(p * height + r) * width + c]")
        if k["border"] == "test":
            window = f"""for (int64_t r = 2 * i{low}; r <= 2 * i + 1; ++r)
                    for (int64_t c = 2 * j{low}; c <= 2 * j + 1; ++c)
                        if (r >= 0 && r < height && c >= 0 && c < width) v = fold(v, {source});"""
        else:
            top, left = (f"2 * {n}{low}" for n in "ij")
            top, left = (f"std::max<int64_t>(0, {n})" for n in (top, left)) if self.padding else (top, left)
            window = f"""const int64_t r0 = {top}, r1 = std::min<int64_t>(height, 2 * i + 2);
                const int64_t c0 = {left}, c1 = std::min<int64_t>(width, 2 * j + 2);
                for (int64_t r = r0; r < r1; ++r)
                    for (int64_t c = c0; c < c1; ++c) v = fold(v, {source});"""
        declare = f"{self.scalar} v = {self.start};"
        outside = k["slip"] == "reset"
        body = f"""{"" if outside else declare}
                {window}
                out[(p * tall + i) * wide + j] = {self.result.format("v")};"""
        if k["order"] == "flat":
            return f"""{self.pragma("all")}for (int64_t n = 0; n < planes * tall * wide; ++n) {{
        const int64_t p = n / (tall * wide), i = n / wide % tall, j = n % wide;
                {body}
    }}"""
        if k["order"] == "strided":
            return f"""{self.pragma("all")}for (int64_t j = 0; j < wide; ++j)
        for (int64_t i = 0; i < tall; ++i)
            for (int64_t p = 0; p < planes; ++p) {{
                {body}
            }}"""
        return self.heads(f"""{declare if outside else ""}
            for (int64_t j = 0; j < wide; ++j) {{
                {body}
            }}""")

    def row(self) -> str:
        """The loop over a row's inner columns, `together` at once."""
        count, (low, high) = self.knobs["together"], self.inner
        if count == 1:
            return f"{self.simd}for (int64_t j = {low}; j < {high}; ++j) to[j] = {self.point('j')};"
        steps = " ".join(f"to[j + {u}] = {self.point(f'j + {u}')};" for u in range(count))
        rest = f"for (int64_t j = {high} - ({high} - {low}) % {count}; j < {high}; ++j) to[j] = {self.point('j')};"
        rest = f"if ({high} > {low}) {rest}"
        return f"""{self.simd}for (int64_t j = {low}; j < {high} - {count - 1}; j += {count}) {{ {steps} }}
            {"" if self.knobs["slip"] == "tail" else rest}"""

    def unrolled(self) -> str:
        return self.heads(f"{self.pointers()}\n            {self.row()}\n            {self.edges()}")

    def separable(self) -> str:
        """Rows folded into a line (or a plane of them), which is then folded; or each row alone first (`across`)."""
        place, count = self.knobs["place"], len(self.pool.offsets)
        low, high = self.inner
        near = [f"t[2 * j{f' + {at}' if at > 0 else f' - {-at}' if at else ''}]" for at in self.pool.offsets]
        line = self.folded(*(self.item.format(f"r{r}[c]") for r in range(count)))
        down = f"{self.simd}for (int64_t c = 0; c < width; ++c) t[c] = {line};"
        along = f"{self.simd}for (int64_t j = {low}; j < {high}; ++j) to[j] = {self.result.format(self.folded(*near))};"
        if self.padding:
            ends = self.folded(
                "t[std::max<int64_t>(2 * j - 1, 0)]", "t[2 * j]", "t[std::min<int64_t>(2 * j + 1, width - 1)]"
            )
            along += f"""
            for (int64_t j = 0; j < wide; j = j == 0 ? std::max<int64_t>(1, width / 2) : j + 1)
                to[j] = {self.result.format(ends)};"""
        size = {"line": "width", "plane": "tall * width", "across": "height * wide"}[place]
        hold, free = f"{self.scalar}* hold = new {self.scalar}[{size}];", "delete[] hold;"
        if place == "line":
            outside = self.knobs["slip"] == "shared" or self.knobs["threads"] == "one"
            body = self.heads(f"""{"" if outside else hold}
            {self.scalar}* t = hold;
            {self.pointers()}
            {down}
            {along}
            {"" if outside else free}""")
            return f"{hold if outside else ''}\n    {body}\n    {free if outside else ''}"
        rows = "for (int64_t i = 0; i < tall; ++i) {"
        pointers = self.pointers().replace("const float* base = x + p * height * width;", "")
        reading, writing = pointers.rsplit("float* to", 1)[0], "float* to = out + (p * tall + i) * wide;"
        if place == "plane":
            t = f"{self.scalar}* t = hold + i * width;"
            first = f"{rows}\n            {reading} {t}\n            {down}\n        }}"
            then = f"{rows}\n            {writing} {t}\n            {along}\n        }}"
        else:
            cells = [cell.replace("t[", "row[") for cell in near]
            value = self.folded(*(self.item.format(cell) for cell in cells))
            ends = self.folded(
                *(
                    f"row[{c}]"
                    for c in ("std::max<int64_t>(2 * j - 1, 0)", "2 * j", "std::min<int64_t>(2 * j + 1, width - 1)")
                )
            )
            edge = f"""for (int64_t j = 0; j < wide; j = j == 0 ? std::max<int64_t>(1, width / 2) : j + 1)
                t[j] = {ends};"""
            first = f"""for (int64_t r = 0; r < height; ++r) {{
            const float* row = base + r * width;
            {self.scalar}* t = hold + r * wide;
            {self.simd}for (int64_t j = {low}; j < {high}; ++j) t[j] = {value};
            {edge if self.padding else ""}
        }}"""
            swapped = reading.replace("const float* r", f"const {self.scalar}* r").replace("base +", "hold +")
            swapped = swapped.replace("* width", "* wide")
            value = self.result.format(self.folded(*(f"r{r}[j]" for r in range(count))))
            then = f"""{rows}
            {swapped} {writing}
            {self.simd}for (int64_t j = 0; j < wide; ++j) to[j] = {value};
        }}"""
        share = self.pragma("rows")
        return f"""{self.pragma("all")}for (int64_t p = 0; p < planes; ++p) {{
        {hold}
        const float* base = x + p * height * width;
        {share}{first}
        {share}{then}
        {free}
    }}"""

    def padded(self) -> str:
        """Each plane copied with room on all sides, so that no window leaves it."""
        border = 1 if self.padding else 0
        count = self.knobs["together"]
        stride = "step" if self.knobs["slip"] == "name" else "stride"
        rows = range(len(self.pool.offsets))
        cells = [f"pad[(2 * i + {r}) * stride + 2 * (J) + {c}]" for r in rows for c in rows]
        value = self.result.format(self.folded(*(self.item.format(cell) for cell in cells)))
        steps = " ".join(f"to[j + {u}] = {value.replace('(J)', f'(j + {u})')};" for u in range(count))
        single = f"to[j] = {value.replace('(J)', 'j')};"
        rest = f"for (int64_t j = wide - wide % {count}; j < wide; ++j) {single}" if count > 1 else ""
        main = f"int64_t j = 0; j < wide - {count - 1}; j += {count}"
        return f"""const int64_t stride = width + {3 * border}, lines = height + {3 * border};
    {self.pragma("all")}for (int64_t p = 0; p < planes; ++p) {{
        float* pad = new float[lines * {stride}];
        {f"std::fill(pad, pad + lines * stride, {self.start});" if border else ""}
        for (int64_t r = 0; r < height; ++r)
            std::memcpy(pad + (r + {border}) * stride + {border}, x + (p * height + r) * width, sizeof(float) * width);
        for (int64_t i = 0; i < tall; ++i) {{
            float* to = out + (p * tall + i) * wide;
            {self.simd}for ({main}) {{ {steps if count > 1 else single} }}
            {rest}
        }}
        delete[] pad;
    }}"""

    def scatter(self) -> str:
        """Each input folded into the outputs whose windows hold it."""
        at = "out[(p * tall + i) * wide + j]"
        cell = self.item.format("x[(p * height + r) * width + c]")
        step = f"{at} = fold({at}, {cell});"
        if self.padding:
            work = f"""for (int64_t i = r / 2; i <= (r + 1) / 2 && i < tall; ++i)
                    for (int64_t j = c / 2; j <= (c + 1) / 2 && j < wide; ++j) {step}"""
        else:
            work = f"const int64_t i = r / 2, j = c / 2;\n                if (i < tall && j < wide) {step}"
        heads = ["for (int64_t r = 0; r < height; ++r)", "for (int64_t c = 0; c < width; ++c)"]
        outer, inner = heads[::-1] if self.knobs["order"] == "strided" else heads
        last = "" if self.result == "{}" else f"o[n] = {self.result.format('o[n]')};"
        return f"""{self.pragma("all")}for (int64_t p = 0; p < planes; ++p) {{
        float* o = out + p * tall * wide;
        for (int64_t n = 0; n < tall * wide; ++n) o[n] = {self.start};
        {outer}
            {inner} {{
                {work}
            }}
        {f"for (int64_t n = 0; n < tall * wide; ++n) {last}" if last else ""}
    }}"""

    def vector(self) -> str:
        """Rows folded in registers, then every other lane taken."""
        size, count = self.knobs["size"], self.knobs["together"]
        rows = range(len(self.pool.offsets))
        even, odd = (", ".join(str(2 * lane + n) for lane in range(size)) for n in (0, 1))

        def both(shift: str) -> list[str]:
            parts = (f"2 * j{shift}", f"2 * j + {size}{shift}")
            return [self.folded(*(f"load(r{r} + {part})" for r in rows)) for part in parts]

        def block(lead: str) -> str:
            a, b = both("")
            text = f"const vec a = {a}; const vec b = {b}; "
            parts = [f"__builtin_shuffle(a, b, (lanes){{{lanes}}})" for lanes in (even, odd)]
            if self.padding:
                c, d = both(" - 1")
                text += f"const vec c = {c}; const vec d = {d}; "
                parts.append(f"__builtin_shuffle(c, d, (lanes){{{even}}})")
            value = self.result.format(self.folded(*parts))
            return f"{{ {lead}{text}const vec v = {value}; std::memcpy(to + j, &v, sizeof v); }}"

        low, high = self.inner
        blocks = (
            block("")
            if count == 1
            else f"{{ {block('')} const int64_t k = j; {{ const int64_t j = k + {size}; {block('')} }} }}"
        )
        rest = f"for (; j < {high}; ++j) to[j] = {self.point('j')};"
        reach = size * count
        return self.heads(f"""{self.pointers()}
            int64_t j = {low};
            for (; j + {reach} <= {high}; j += {reach}) {blocks}
            {"" if self.knobs["slip"] == "tail" else rest}
            {self.edges()}""")


def _render(pool: _Pool, knobs: Knobs) -> str:
    writer = _Writer(pool, knobs)
    return tidy(f"""{_HEADER}{writer.helpers()}
extern "C" void kernel(const float* __restrict__ x, float* __restrict__ out, int64_t planes, int64_t height,
                       int64_t width) {{
    const int64_t tall = {pool.tall}, wide = {pool.wide};
    {getattr(writer, knobs["scheme"])()}
}}
""")


def _template(pool: _Pool) -> Template:
    knobs = _knobs(pool)
    return Template(pool.name, "cpp", knobs, lambda k: _render(pool, k), lambda k: fits(k, knobs, _USES, _RULES))


TEMPLATES = tuple(_template(pool) for pool in _POOLS)
