"""The machine behind `planes`: what a stencil is, and the C++ text of one setting of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foretell.kernels.propose.cpp.dense import vector_type
from foretell.kernels.propose.template import Knobs

HEADER = "#include <algorithm>\n#include <cmath>\n#include <cstdint>\n#include <cstring>\n"
PLACES = {f"{r}{c}": (r, c) for r in ("u", "m", "d") for c in ("l", "c", "r")}
_SHIFT = {"l": " - 1", "c": "", "r": " + 1"}

_NEWTON = """
static inline float root(float v) {
    union { float f; int32_t i; } y;
    y.f = v;
    y.i = 0x5f3759df - (y.i >> 1);
    float r = y.f;
    r = r * (1.5f - 0.5f * v * r * r);
    r = r * (1.5f - 0.5f * v * r * r);
    r = r * (1.5f - 0.5f * v * r * r);
    return v * r;
}
"""


@dataclass(frozen=True)
class Plane:
    """One stencil.

    `taps` names the neighbours it reads: u, m, d for the row and l, c, r for the column. `mix` computes the result of
    a point from them, by the knob `factor`; `{f}` is the suffix of a constant. The rest says the same by other means:
    `sums` over the three rows (arrays), which `joined` combines along the row; `tables` of weights, which `total`
    combines. `flaw` is a text of `mix` and what a slip puts in its place.
    """

    name: str
    inputs: tuple[str, ...]
    rim: str
    taps: tuple[str, ...]
    mix: Mapping[str, str]
    sums: Mapping[str, str]
    joined: str
    tables: Mapping[str, str]
    total: str
    flaw: tuple[str, str]
    root: bool = False


class Writer:
    """The text of one setting of one stencil."""

    def __init__(self, plane: Plane, knobs: Knobs) -> None:
        self.plane, self.knobs = plane, knobs
        self.scalar = "double" if knobs["factor"] == "double" else "float"
        self.suffix = "" if knobs["factor"] == "double" else "f"
        schedule = {"one": None, "all": "static", "turns": "dynamic, 4"}[knobs["threads"]]
        self.pragma = f"#pragma omp parallel for schedule({schedule})\n    " if schedule else ""
        self.simd = "#pragma omp simd\n            " if knobs["loop"] == "simd" else ""

    def finish(self, value: str) -> str:
        if not self.plane.root or self.knobs["factor"] == "hypot":
            return value
        return f"root({value})" if self.knobs["factor"] == "newton" else f"std::sqrt({value})"

    def helpers(self) -> str:
        """`mix`, the result of one point from its neighbours."""
        plane, size = self.plane, self.knobs["size"]
        body = plane.mix[self.knobs["factor"]]
        if self.knobs["slip"] == "weight":
            body = body.replace(*plane.flaw)
        body = body.replace("{f}", self.suffix)
        found = vector_type(size) if size > 1 else ""
        found += _NEWTON if self.knobs["factor"] == "newton" else ""
        if self.knobs["scheme"] in ("lines", "taps"):
            return found
        args = ", ".join(f"T {tap}" for tap in plane.taps)
        if size > 1:
            found += "\nstatic inline vec load(const float* p) { vec v; std::memcpy(&v, p, sizeof v); return v; }\n"
            return f"{found}\ntemplate <typename T> static inline T mix({args}) {{ {body} }}\n"
        return found + f"\nstatic inline T mix({args}) {{ {body} }}\n".replace("T ", f"{self.scalar} ")

    def value(self, rows: tuple[str, str, str], own: str, j: str = "j", vector: bool = False) -> str:
        """The point at column `j` of the middle one of three rows."""
        names = dict(zip("umd", rows, strict=True))
        args = []
        for tap in self.plane.taps:
            base = own if tap == "own" else names[PLACES[tap][0]]
            at = j if tap == "own" else j + _SHIFT[PLACES[tap][1]]
            args.append(f"load({base} + {at})" if vector else f"{base}[{at}]")
        mixed = f"mix({', '.join(args)})"
        return (
            mixed if vector else self.finish(mixed if self.knobs["size"] == 1 else mixed.replace("mix(", "mix<float>("))
        )

    def at(self, row: str) -> tuple[tuple[str, str, str], str]:
        """Three rows around `row` and the source's, as expressions over the whole arrays."""
        return (f"(x + ({row} - 1) * width)", f"(x + {row} * width)", f"(x + ({row} + 1) * width)"), (
            f"(source + {row} * width)"
        )

    def pointers(self) -> str:
        own = "const float* own = source + i * width;" if "source" in self.plane.inputs else ""
        return f"""const float *up = x + (i - 1) * width, *mid = up + width, *down = mid + width;
            {own} float* to = out + i * width;"""

    def sides(self) -> str:
        """Statements for the two ends of a row with the pointers set."""
        return " ".join(f"to[{j}] = {self.plane.rim.format(j=j)};" for j in ("0", "width - 1"))

    def rims(self, r: int) -> str:
        """Statements for the two ends of row i + `r`."""
        row = f"[(i + {r}) * width + "
        ends = [(j, self.plane.rim.format(j=j).replace("mid[", f"x{row}")) for j in ("0", "width - 1")]
        return " ".join(f"out{row}{j}] = {rim};" for j, rim in ends)

    def ends(self) -> str:
        """The first and the last row."""
        if self.plane.rim == "0.0f":
            rows = "std::memset({0}, 0, sizeof(float) * width);"
        else:
            rows = "std::memcpy({0}, {1}, sizeof(float) * width);"
        places = [(f"out{at}", f"x{at}") for at in ("", " + (height - 1) * width")]
        return "\n    ".join(rows.format(*place) for place in places)

    def direct(self) -> str:
        k, rim = self.knobs, self.plane.rim.format(j="j").replace("mid[", "x[i * width + ")
        rows, own = self.at("i")
        step = f"out[i * width + j] = {self.value(rows, own)};"
        if k["border"] == "test":
            heads = ["for (int64_t i = 0; i < height; ++i)", "for (int64_t j = 0; j < width; ++j)"]
            step = f"""if (i == 0 || j == 0 || i == height - 1 || j == width - 1) out[i * width + j] = {rim};
            else {step}"""
        else:
            heads = ["for (int64_t i = 1; i < height - 1; ++i)", "for (int64_t j = 1; j < width - 1; ++j)"]
        outer, inner = heads if k["order"] == "rows" else heads[::-1]
        rest = ""
        if k["border"] == "split":
            sides = f"for (int64_t i = 1; i < height - 1; ++i) {{ {self.pointers()} {self.sides()} }}"
            rest = f"{self.ends()}\n    {sides}"
        return f"{self.pragma}{outer}\n        {inner} {{\n            {step}\n        }}\n    {rest}"

    def line(self, low: str, high: str) -> str:
        return (
            f"{self.simd}for (int64_t j = {low}; j < {high}; ++j) to[j] = {self.value(('up', 'mid', 'down'), 'own')};"
        )

    def rows(self) -> str:
        count, slip = self.knobs["together"], self.knobs["slip"]
        low, high, sides = ("0", "width", "") if slip == "wrap" else ("1", "width - 1", self.sides())
        single = f"{{ {self.pointers()}\n            {self.line(low, high)}\n            {sides} }}"
        if count == 1:
            return f"{self.ends()}\n    {self.pragma}for (int64_t i = 1; i < height - 1; ++i) {single}"
        steps, rims = [], []
        for r in range(count):
            rows, own = self.at(f"(i + {r})")
            steps.append(f"out[(i + {r}) * width + j] = {self.value(rows, own)};")
            rims.append(self.rims(r))
        newline = "\n                "
        rest = f"for (int64_t i = height - 1 - (height - 2) % {count}; i < height - 1; ++i) {single}"
        return f"""{self.ends()}
    {self.pragma}for (int64_t i = 1; i < height - {count}; i += {count}) {{
            {self.simd}for (int64_t j = 1; j < width - 1; ++j) {{
                {newline.join(steps)}
            }}
            {" ".join(rims)}
        }}
    {"" if slip == "tail" else rest}"""

    def tiled(self) -> str:
        tall, wide = self.knobs["tall"], self.knobs["wide"]
        sides = f"for (int64_t i = i0; i < i1; ++i) {{ {self.pointers()} {self.sides()} }}"
        return f"""{self.ends()}
    {self.pragma}for (int64_t i0 = 1; i0 < height - 1; i0 += {tall}) {{
        const int64_t i1 = std::min<int64_t>(height - 1, i0 + {tall});
        for (int64_t j0 = 1; j0 < width - 1; j0 += {wide}) {{
            const int64_t j1 = std::min<int64_t>(width - 1, j0 + {wide});
            for (int64_t i = i0; i < i1; ++i) {{
                {self.pointers()}
                {self.line("j0", "j1")}
            }}
        }}
        {"" if self.knobs["slip"] == "edge" else sides}
    }}"""

    def lines(self) -> str:
        """Sums over three rows first, for one row (`rows`) or the whole plane (`cols`), then along the row."""
        plane, scalar, whole = self.plane, self.scalar, self.knobs["order"] == "cols"
        count = "height * width" if whole else "width"
        hold = " ".join(f"{scalar}* {name}{'_all' if whole else ''} = new {scalar}[{count}];" for name in plane.sums)
        free = " ".join(f"delete[] {name}{'_all' if whole else ''};" for name in plane.sums)
        step = " ".join(f"{name}[j] = {value};" for name, value in plane.sums.items()).replace("{f}", self.suffix)
        sums = f"{self.simd}for (int64_t j = 0; j < width; ++j) {{ {step} }}"
        value = self.finish(plane.joined.replace("{f}", self.suffix))
        join = f"{self.simd}for (int64_t j = 1; j < width - 1; ++j) to[j] = {value};\n            {self.sides()}"
        head = f"{self.pragma}for (int64_t i = 1; i < height - 1; ++i) {{\n            "
        if whole:
            part = " ".join(f"{scalar}* {name} = {name}_all + i * width;" for name in plane.sums)
            return f"""{self.ends()}
    {hold}
    {head}{self.pointers().replace("float* to = out + i * width;", "")} {part}
            {sums}
        }}
    {head}{self.pointers()} {part}
            {join}
        }}
    {free}"""
        outside = self.knobs["slip"] == "shared" or self.knobs["threads"] == "one"
        return f"""{self.ends()}
    {hold if outside else ""}
    {head}{self.pointers()}
            {"" if outside else hold}
            {sums}
            {join}
            {"" if outside else free}
        }}
    {free if outside else ""}"""

    def taps(self) -> str:
        """Tables of nine weights: a loop over them inside (`rows`), or outside a row of partial results (`cols`)."""
        plane, scalar = self.plane, self.scalar
        tables = " ".join(f"static const {scalar} {n}_table[9] = {{{w}}};" for n, w in plane.tables.items())
        tables = tables.replace("{f}", self.suffix)
        if self.knobs["order"] == "rows":
            total = plane.total.format(f=self.suffix, **{name: name for name in plane.tables})
            work = f"""for (int64_t j = 1; j < width - 1; ++j) {{
                {scalar} {", ".join(f"{name} = 0" for name in plane.tables)};
                for (int a = 0; a < 3; ++a)
                    for (int b = 0; b < 3; ++b) {{
                        const {scalar} v = up[a * width + j + b - 1];
                        {" ".join(f"{name} += {name}_table[3 * a + b] * v;" for name in plane.tables)}
                    }}
                to[j] = {self.finish(total)};
            }}"""
        else:
            total = plane.total.format(f=self.suffix, **{name: f"{name}[j]" for name in plane.tables})
            work = f"""{" ".join(f"{scalar}* {name} = new {scalar}[width]();" for name in plane.tables)}
            for (int a = 0; a < 3; ++a)
                for (int b = 0; b < 3; ++b)
                    for (int64_t j = 1; j < width - 1; ++j) {{
                        const {scalar} v = up[a * width + j + b - 1];
                        {" ".join(f"{name}[j] += {name}_table[3 * a + b] * v;" for name in plane.tables)}
                    }}
            for (int64_t j = 1; j < width - 1; ++j) to[j] = {self.finish(total)};
            {" ".join(f"delete[] {name};" for name in plane.tables)}"""
        pointers = self.pointers().replace(", *down = mid + width", "")
        pointers = pointers if "mid" in plane.rim else pointers.replace(", *mid = up + width", "")
        return f"""{self.ends()}
    {tables}
    {self.pragma}for (int64_t i = 1; i < height - 1; ++i) {{
            {pointers}
            {work}
            {self.sides()}
        }}"""

    def sliding(self) -> str:
        """Neighbours kept in registers while walking along a row (`rows`) or down a strip of columns (`cols`)."""
        size, along = self.knobs["size"], self.knobs["order"] == "rows"
        kind = self.scalar if size == 1 else "vec"
        taps = [tap for tap in self.plane.taps if tap != "own"]
        lanes = ("l", "c", "r") if along else ("u", "m", "d")
        tracks = [t for t in ("u", "m", "d") if any(tap[0] == t for tap in taps)] if along else ["l", "c", "r"]

        def name(track: str, lane: str) -> str:
            return track + lane if along else lane + track

        def fetch(track: str, ahead: str) -> str:
            if along:
                return f"{ {'u': 'up', 'm': 'mid', 'd': 'down'}[track] }[{ahead}]"
            at = f"x + {ahead} * width + j{_SHIFT[track]}"
            return f"load({at})" if size > 1 else f"*({at})"

        first = " ".join(
            f"{kind} {name(t, lanes[0])} = {fetch(t, '0')}, {name(t, lanes[1])} = {fetch(t, '1')};" for t in tracks
        )
        ahead = "j + 1" if along else "(i + 1)"
        then = " ".join(f"const {kind} {name(t, lanes[2])} = {fetch(t, ahead)};" for t in tracks)
        move = " ".join(
            f"{name(t, lanes[0])} = {name(t, lanes[1])}; {name(t, lanes[1])} = {name(t, lanes[2])};" for t in tracks
        )
        own = "own[j]" if along else "source[i * width + j]" if size == 1 else "load(source + i * width + j)"
        mixed = f"mix({', '.join(own if tap == 'own' else tap for tap in self.plane.taps)})"
        if along:
            return f"""{self.ends()}
    {self.pragma}for (int64_t i = 1; i < height - 1; ++i) {{
            {self.pointers()}
            {first}
            for (int64_t j = 1; j < width - 1; ++j) {{
                {then}
                to[j] = {self.finish(mixed)};
                {move}
            }}
            {self.sides()}
        }}"""
        store = f"out[i * width + j] = {self.finish(mixed)};"
        rest = ""
        if size > 1:
            store = self.store(mixed, "out + i * width + j")
            rows, other = self.at("i")
            rest = f"""for (int64_t i = 1; i < height - 1; ++i)
        for (int64_t j = width - 1 - (width - 2) % {size}; j < width - 1; ++j)
            out[i * width + j] = {self.value(rows, other)};"""
        return f"""{self.ends()}
    {self.pragma}for (int64_t j = 1; j < width - {size}; j += {size}) {{
            {first}
            for (int64_t i = 1; i < height - 1; ++i) {{
                {then}
                {store}
                {move}
            }}
        }}
    {rest}
    for (int64_t i = 1; i < height - 1; ++i) {{ {self.pointers()} {self.sides()} }}"""

    def store(self, mixed: str, to: str) -> str:
        size = self.knobs["size"]
        lanes = f"for (int l = 0; l < {size}; ++l) v[l] = {self.finish('v[l]')};" if self.plane.root else ""
        return f"{{ vec v = {mixed}; {lanes} std::memcpy({to}, &v, sizeof v); }}"

    def vector(self) -> str:
        size, count = self.knobs["size"], self.knobs["together"]
        steps = []
        for r in range(count):
            rows, own = self.at(f"(i + {r})") if count > 1 else (("up", "mid", "down"), "own")
            to = f"out + (i + {r}) * width + j" if count > 1 else "to + j"
            steps.append(self.store(self.value(rows, own, vector=True), to))
        newline = "\n                "
        near = ("up", "mid", "down")
        whole = self.store(self.value(near, "own", vector=True), "to + j")
        rest = f"for (; j < width - 1; ++j) to[j] = {self.value(near, 'own')};"
        one = f"""{{
            {self.pointers()}
            int64_t j = 1;
            for (; j + {size} < width; j += {size}) {whole}
            {"" if self.knobs["slip"] == "tail" else rest}
            {self.sides()}
        }}"""
        if count == 1:
            return f"{self.ends()}\n    {self.pragma}for (int64_t i = 1; i < height - 1; ++i) {one}"
        rims = " ".join(self.rims(r) for r in range(count))
        scalar = []
        for r in range(count):
            rows, own = self.at(f"(i + {r})")
            scalar.append(f"out[(i + {r}) * width + j] = {self.value(rows, own)};")
        end = "limit" if self.knobs["slip"] == "name" else "width"
        return f"""{self.ends()}
    {self.pragma}for (int64_t i = 1; i < height - {count}; i += {count}) {{
            int64_t j = 1;
            for (; j + {size} < {end}; j += {size}) {{
                {newline.join(steps)}
            }}
            for (; j < width - 1; ++j) {{ {" ".join(scalar)} }}
            {rims}
        }}
    for (int64_t i = height - 1 - (height - 2) % {count}; i < height - 1; ++i) {one}"""
