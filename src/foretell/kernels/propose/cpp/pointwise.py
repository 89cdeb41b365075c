"""What templates of pointwise operations share: a table of formulas, and the ways to walk a matrix with any of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from foretell.kernels.propose.cpp.fragments import HEADER, SCHEDULES, parallel_for, schedule_fits, tidy
from foretell.kernels.propose.template import Knobs, Template

MATRIX = "{i} * cols + {j}"
ROW = "{i}"
COLUMN = "{j}"

_WALKS = ("nested", "flat", "grouped", "tiles", "columns", "inner", "interleaved", "sweeps", "temporary", "buffered")
_STAGED = ("sweeps", "temporary", "buffered")
_BLOCKS = {"grouped": (2, 4), "tiles": (64, 512)}


@dataclass(frozen=True)
class Operand:
    """The value `name` of a formula, read from `array` at `place`, an expression over row `{i}` and column `{j}`."""

    name: str
    array: str
    place: str = MATRIX
    scalar: str = "float"

    def at(self, i: str, j: str) -> str:
        return f"{self.array}[{self.place.format(i=i, j=j).removeprefix('0 * cols + ')}]"


@dataclass(frozen=True)
class Program:
    """One operation: its operands in the order of the task's inputs, and formulas for one output.

    A formula is a helper's source and lines of which the last is the value. `forms` are right, the plainest first, and
    `slips` are not. `staged` splits the form of that name in two formulas, the second over `s`, what the first gave.
    `moved` is an operand read from the place of another.
    """

    task: str
    operands: tuple[Operand, ...]
    forms: Mapping[str, tuple[str, str]]
    slips: Mapping[str, tuple[str, str]]
    staged: Mapping[str, tuple[str, str]]
    moved: Mapping[str, str] = field(default_factory=dict)


def _knobs(program: Program) -> dict[str, tuple[object, ...]]:
    return {
        "form": (*program.forms, *program.slips),
        "walk": _WALKS,
        "block": (1, 2, 4, 64, 512),
        "style": ("plain", "simd", 8, 16, 64),
        "ahead": (0, 64, 512),
        "pointers": ("restrict", "plain"),
        "threads": ("one", "all"),
        "schedule": SCHEDULES,
        "slip": ("none", "dropped", "misnamed", "shared", *(("moved",) if program.moved else ())),
    }


def _valid(program: Program) -> Callable[[Knobs], bool]:
    forms = list(program.forms)

    def valid(knobs: Knobs) -> bool:
        walk, style, slip, form = knobs["walk"], knobs["style"], knobs["slip"], knobs["form"]
        threads, ahead, restrict = knobs["threads"], knobs["ahead"], knobs["pointers"] == "restrict"
        first_schedule = knobs["schedule"] == SCHEDULES[0]
        if not schedule_fits(knobs) or knobs["block"] not in _BLOCKS.get(walk, (1,)):
            return False
        if (ahead or not first_schedule) and (walk != "nested" or style == 8 or not restrict or slip != "none"):
            return False
        if ahead and (not first_schedule or style == "simd"):
            return False
        if not restrict and (walk not in ("nested", "flat") or style not in ("plain", 16) or slip != "none"):
            return False
        if form in program.slips:
            if ahead or not first_schedule or not restrict or slip != "none":
                return False
            return (walk, style) in (("nested", "plain"), ("nested", "simd"), ("nested", 16), ("flat", "plain"))
        if slip == "dropped":
            return bool(walk in ("nested", "flat") and isinstance(style, int) and form == forms[-1])
        if slip == "misnamed":
            return bool(walk == "nested" and style in ("plain", "simd") and form in forms[-2:])
        if slip == "moved":
            return bool(walk in ("nested", "columns") and style == "plain" and form in forms[:2])
        if slip == "shared":
            return bool(
                walk == "buffered" and threads == "all" and form in program.staged and style in ("plain", "simd")
            )
        if walk in _STAGED:
            return bool(form in program.staged and style in ("plain", "simd"))
        if walk == "inner":
            return bool(threads == "all" and style in ("plain", "simd"))
        if walk == "interleaved":
            return bool(threads == "all" and style == "plain")
        if walk == "columns":
            return bool(style == "plain")
        if walk in ("grouped", "tiles"):
            return bool(style in ("plain", "simd"))
        return not (walk == "flat" and style == 8)

    return valid


def _function(name: str, formula: str, operands: tuple[Operand, ...]) -> str:
    *lines, value = formula.splitlines()
    given = ", ".join(f"{operand.scalar} {operand.name}" for operand in operands)
    return f"""static inline float {name}({given}) {{
    {" ".join(f"{line};" for line in lines)}
    return {value};
}}
"""


def _used(formula: str, operands: tuple[Operand, ...]) -> tuple[Operand, ...]:
    return tuple(operand for operand in operands if re.search(rf"\b{operand.name}\b", formula))


@dataclass(frozen=True)
class _Step:
    """One sweep: `target` at row i and column j becomes the function of the operands there."""

    function: str
    operands: tuple[Operand, ...]
    target: Operand

    def value(self, i: str, j: str) -> str:
        return f"{self.function}({', '.join(operand.at(i, j) for operand in self.operands)})"

    def store(self, i: str, j: str) -> str:
        return f"{self.target.at(i, j)} = {self.value(i, j)};"

    def chunk(self, n: int, i: Callable[[str], str], j: Callable[[str], str], at: str) -> str:
        """`n` items from `at` on, by way of a small array; `i` and `j` give the place of an item."""
        item = f"{at} + l"
        return f"""float part[{n}];
            for (int l = 0; l < {n}; ++l) part[l] = {self.value(i(item), j(item))};
            for (int l = 0; l < {n}; ++l) {self.target.at(i(item), j(item))} = part[l];"""

    def along(self, style: str | int, tail: bool = True, ahead: int = 0, start: str = "0", end: str = "cols") -> str:
        """The loop over the columns of row i."""
        reads = (operand for operand in self.operands if "* cols" in operand.place) if ahead else ()
        prefetch = " ".join(f"__builtin_prefetch(&{operand.at('i', f'j + {ahead}')});" for operand in reads)
        if isinstance(style, str):
            pragma = "#pragma omp simd\n        " if style == "simd" else ""
            return f"{pragma}for (int64_t j = {start}; j < {end}; ++j) {{ {prefetch} {self.store('i', 'j')} }}"
        rest = f"for (; j < {end}; ++j) {self.store('i', 'j')}" if tail else ""
        return f"""int64_t j = {start};
        for (; j + {style} <= {end}; j += {style}) {{
            {prefetch}
            {self.chunk(style, lambda _: "i", lambda item: item, "j")}
        }}
        {rest}"""

    def flat(self, knobs: Knobs) -> str:
        """One loop over all items; row and column are found by division where an operand needs them."""
        whole = all(operand.place == MATRIX for operand in (*self.operands, self.target))

        def row(item: str) -> str:
            return "0" if whole else f"(({item}) / cols)"

        def column(item: str) -> str:
            return item if whole else f"(({item}) % cols)"

        style, threads = knobs["style"], knobs["threads"]
        if isinstance(style, str):
            simd = style == "simd"
            pragma = f"#pragma omp parallel for{' simd' if simd else ''}" if threads == "all" else "#pragma omp simd"
            return f"""const int64_t total = rows * cols;
    {pragma if simd or threads == "all" else ""}
    for (int64_t k = 0; k < total; ++k) {self.store(row("k"), column("k"))}"""
        rest = f"for (int64_t k = whole; k < total; ++k) {self.store(row('k'), column('k'))}"
        return f"""const int64_t total = rows * cols, whole = total - total % {style};
    {parallel_for(threads)}for (int64_t k = 0; k < whole; k += {style}) {{
            {self.chunk(style, row, column, "k")}
    }}
    {"" if knobs["slip"] == "dropped" else rest}"""


def _body(knobs: Knobs, steps: tuple[_Step, ...]) -> str:
    walk, style, block, step = knobs["walk"], knobs["style"], knobs["block"], steps[-1]
    pragma = parallel_for(knobs["threads"], knobs["schedule"])
    rows = f"{pragma}for (int64_t i = 0; i < rows; ++i)"
    simd = "#pragma omp simd\n        " if style == "simd" else ""
    if walk == "flat":
        return step.flat(knobs)
    if walk == "columns":
        return f"""{pragma}for (int64_t j = 0; j < cols; ++j)
        for (int64_t i = 0; i < rows; ++i) {step.store("i", "j")}"""
    if walk == "tiles":
        return f"""{pragma}for (int64_t start = 0; start < cols; start += {block}) {{
        const int64_t end = std::min<int64_t>(start + {block}, cols);
        for (int64_t i = 0; i < rows; ++i) {{
        {step.along(style, start="start", end="end")}
        }}
    }}"""
    if walk == "grouped":
        together = " ".join(step.store(f"(i + {k})", "j") for k in range(block))
        return f"""const int64_t whole = rows - rows % {block};
    {pragma}for (int64_t i = 0; i < whole; i += {block}) {{
        {simd}for (int64_t j = 0; j < cols; ++j) {{ {together} }}
    }}
    for (int64_t i = whole; i < rows; ++i)
        for (int64_t j = 0; j < cols; ++j) {step.store("i", "j")}"""
    if walk == "inner":
        return f"""#pragma omp parallel
    for (int64_t i = 0; i < rows; ++i) {{
        #pragma omp for{" simd" if simd else ""} nowait
        for (int64_t j = 0; j < cols; ++j) {step.store("i", "j")}
    }}"""
    if walk == "interleaved":
        return f"""#pragma omp parallel
    for (int64_t k = omp_get_thread_num(); k < rows * cols; k += omp_get_num_threads()) {{
        const int64_t i = k / cols, j = k % cols;
        {step.store("i", "j")}
    }}"""
    if walk in ("sweeps", "temporary"):
        sweeps = "\n    ".join(f"{rows} {{\n        {each.along(style)}\n    }}" for each in steps)
        if walk == "sweeps":
            return sweeps
        return f"float* kept = new float[rows * cols];\n    {sweeps}\n    delete[] kept;"
    if walk == "buffered":
        make, drop = "float* kept = new float[cols];", "delete[] kept;"
        shared = knobs["slip"] == "shared"
        return f"""{make if shared else ""}
    {rows} {{
        {"" if shared else make}
        {steps[0].along(style)}
        {steps[1].along(style)}
        {"" if shared else drop}
    }}
    {drop if shared else ""}"""
    end = "width" if knobs["slip"] == "misnamed" else "cols"
    return f"""{rows} {{
        {step.along(style, knobs["slip"] != "dropped", knobs["ahead"], end=end)}
    }}"""


def _render(program: Program) -> Callable[[Knobs], str]:
    forms = {**program.forms, **program.slips}

    def render(knobs: Knobs) -> str:
        walk = knobs["walk"]
        moved = program.moved if knobs["slip"] == "moved" else {}
        operands = tuple(Operand(o.name, o.array, moved.get(o.name, o.place), o.scalar) for o in program.operands)
        helper, formula = forms[knobs["form"]]
        out = Operand("out", "out")
        parts = [("value", formula, operands, out)]
        if walk in _STAGED:
            kept = {
                "sweeps": Operand("s", "out"),
                "temporary": Operand("s", "kept"),
                "buffered": Operand("s", "kept", COLUMN),
            }[walk]
            first, second = program.staged[knobs["form"]]
            parts = [("first", first, operands, kept), ("value", second, (kept, *operands), out)]
        functions = "".join(_function(name, text, _used(text, given)) for name, text, given, _ in parts)
        steps = tuple(_Step(name, _used(text, given), target) for name, text, given, target in parts)
        restrict = " __restrict__" if knobs["pointers"] == "restrict" else ""
        arrays = dict.fromkeys((o.array, o.scalar) for o in program.operands)
        inputs = "".join(f"const {scalar}*{restrict} {array}, " for array, scalar in arrays)
        include = "#include <omp.h>\n" if walk == "interleaved" else ""
        return tidy(f"""{HEADER}{include}{helper}
{functions}
extern "C" void kernel({inputs}float*{restrict} out, int64_t rows, int64_t cols) {{
    {_body(knobs, steps)}
}}
""")

    return render


def template(program: Program) -> Template:
    return Template(program.task, "cpp", _knobs(program), _render(program), _valid(program))
