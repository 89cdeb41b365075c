"""CUDA programs that make each item by itself, from tables: walks over the items, packs, hints, one kernel or two."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from foretell.kernels.propose.cuda.fragments import C_TYPES, constants, module
from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.task import ITEM_BYTES

MULTIPROCESSORS = 132
KNOBS: dict[str, tuple[Any, ...]] = {
    "walk": ("flat", "stride", "rows", "warp", "column", "tile"),
    "threads": (256, 64, 128, 512, 1024),
    "vector": (1, 2, 4, 8),
    "items": (1, 2, 4),
    "waves": (8, 2, 4, 16),
    "across": (32, 8, 128),
    "index": ("int", "long long"),
    "hint": ("plain", "stream"),
    "form": ("plain",),
    "slip": ("none", "floor", "short", "misnamed", "shared"),
}
_PACK = "template <typename S, int W> struct alignas(sizeof(S) * W) Pack { S v[W]; };\n"
_RAW = {1: "unsigned char", 2: "unsigned short", 4: "unsigned", 8: "uint2", 16: "uint4"}
_STREAM = (
    "template <int N> struct Raw;\n"
    + "".join(f"template <> struct Raw<{size}> {{ using type = {kind}; }};\n" for size, kind in _RAW.items())
    + """template <typename P> __device__ __forceinline__ P pull(const P* from) {
    using R = typename Raw<sizeof(P)>::type;
    const R raw = __ldcs(reinterpret_cast<const R*>(from));
    return *reinterpret_cast<const P*>(&raw);
    }
    template <typename P> __device__ __forceinline__ void push(P* to, const P& what) {
    using R = typename Raw<sizeof(P)>::type;
    __stcs(reinterpret_cast<R*>(to), *reinterpret_cast<const R*>(&what));
    }
    """
)


@dataclass(frozen=True)
class Read:
    """A value read at a pointer written in `i` (item), `row` and `col`.

    A pack of it is read at once where `packed`, its item k being the pack's item `lane`; else each is read by itself.
    """

    name: str
    pointer: str
    dtype: str = ""
    packed: bool = True
    lane: str = "k"


@dataclass(frozen=True)
class Form:
    """One kernel: reads, then a formula (lines that end with the value), stored at `to`.

    `rows` and `cols` are host expressions of what is walked over; `whole` a further condition for packs; `raw` keeps
    items in the tensors' type; `text` replaces all of that, for a pack of W items.
    """

    reads: tuple[Read, ...]
    formula: str
    to: str = "out + i"
    packed: bool = True
    rows: str = ""
    cols: str = ""
    whole: str = ""
    raw: bool = False
    text: str = ""


@dataclass(frozen=True)
class Program:
    """An operation: tensors with their types, the output's host expression, further integers, forms of 1 or 2 kernels.

    `rows` and `cols` are those of forms that give none; a form of two kernels may keep float32 items in `kept`;
    `packed_forms` differ from the plain one for packs only.
    """

    task: str
    dtype: str
    inputs: tuple[tuple[str, str], ...]
    forms: Mapping[str, tuple[Form, ...]]
    slips: Mapping[str, Form]
    rows: str
    cols: str
    out: str
    integers: tuple[tuple[str, str], ...] = ()
    packed_forms: tuple[str, ...] = ()


def pointwise(
    task: str,
    dtype: str,
    reads: tuple[Read, ...],
    formulas: Mapping[str, str],
    slips: Mapping[str, str],
    moved: Mapping[str, Read] | None = None,
    staged: tuple[str, str] | None = None,
    inputs: tuple[tuple[str, str], ...] = (),
    rows: str = "",
    cols: str = "",
    out: str = "",
    integers: tuple[tuple[str, str], ...] = (),
) -> Program:
    """A program from formulas over the same reads; `moved` gives slips that read a value elsewhere."""
    inputs = inputs or tuple((read.pointer.split()[0], read.dtype or dtype) for read in reads)

    def form(formula: str, given: tuple[Read, ...] = reads, to: str = "out + i") -> Form:
        return Form(tuple(r for r in given if re.search(rf"\b{r.name}\b", formula)), formula, to)

    forms: dict[str, tuple[Form, ...]] = {name: (form(formula),) for name, formula in formulas.items()}
    if staged:
        forms["staged"] = (
            form(staged[0], to="kept + i"),
            form(staged[1], (*reads, Read("s", "kept + i", "float32"))),
        )
    wrong = {name: form(formula) for name, formula in slips.items()}
    for name, read in (moved or {}).items():
        wrong[name] = form(formulas["plain"], tuple(read if r.name == read.name else r for r in reads))
    first = inputs[0][0]
    rows, cols = rows or f"{first}.shape[0]", cols or f"{first}.shape[1]"
    return Program(task, dtype, inputs, forms, wrong, rows, cols, out or f"torch.empty_like({first})", integers)


def template(program: Program) -> Template:
    """The template of a program."""
    knobs = {**KNOBS, "form": tuple(program.forms), "slip": (*KNOBS["slip"], *program.slips)}
    return Template(program.task, "cuda", knobs, lambda k: _render(program, k), _valid(program))


def _valid(program: Program) -> Callable[[Knobs], bool]:
    widest = 16 // ITEM_BYTES[program.dtype]

    def valid(knobs: Knobs) -> bool:
        walk, threads, vector, items, slip = (knobs[name] for name in ("walk", "threads", "vector", "items", "slip"))
        common = threads == 256 and items == 1 and knobs["waves"] == 8 and knobs["across"] == 32
        extras = ("index", "hint", "form", "slip")
        changed = [name for name in extras if knobs[name] != KNOBS[name][0]]
        if changed:
            if len(changed) > 1 or not common:
                return False
            if knobs["hint"] == "stream":
                return walk in ("flat", "stride", "rows") and vector in (1, 4, 8) and vector <= widest
            if knobs["index"] != "int":
                return walk in ("flat", "stride")
            if knobs["form"] in program.packed_forms and vector == 1:
                return False
            if knobs["form"] != "plain":
                return (walk in ("flat", "stride", "rows") and vector != 2) or (walk, vector) == ("warp", 4)
            if slip == "floor":
                return walk == "flat" and vector in (1, 8)
            if slip in ("misnamed", "shared"):
                return walk in ("flat", "rows") and vector == 4
            return walk in ("flat", "stride", "rows") and vector == (8 if slip == "short" else 4)
        if items > 1 and knobs["waves"] != 8:
            return False
        if items > 1 and not (
            (walk == "flat" and vector > 2 and threads in (256, 512))
            or (walk == "stride" and vector < 8 and threads == 256 and items == 4)
        ):
            return False
        if knobs["waves"] != 8 and not (walk == "stride" and threads == 256 and vector != 2):
            return False
        if walk == "tile":
            return threads in (128, 256, 512) and vector in (1, 4)
        if knobs["across"] != 32:
            return False
        if walk == "column":
            return threads in (64, 128) and vector != 2
        sizes = {"stride": (128, 256, 512), "warp": (128, 256, 512), "rows": (64, 128, 256, 512)}
        return threads in sizes.get(walk, KNOBS["threads"])

    return valid


def _each(text: str) -> str:
    """A pointer for item k of a pack."""
    return re.sub(r"\b(i|col)\b", r"(\1 + k)", text)


def _inner(program: Program, form: Form, knobs: Knobs) -> str:
    """The work on the item, or on the pack of W items, at `i`, `row` and `col`."""
    packed, stream = knobs["vector"] > 1, knobs["hint"] == "stream"
    if form.text:
        text = re.sub(r"\*(reinterpret_cast<Pack<.*) = q;", r"push(\1, q);", form.text) if stream else form.text
        return text if packed else f"constexpr int W = 1;\n{text}"
    kind = "T" if form.raw else "float"
    target = "float" if form.to.startswith("kept") else "T"
    *lines, value = form.formula.splitlines()
    statements = "".join(f"{line};\n" for line in lines)
    item = value if form.raw else f"{target}({value})"
    before, inside = "", ""
    for read in form.reads if packed else (replace(r, pointer=re.sub(r"\bW\b", "1", r.pointer)) for r in form.reads):
        source = C_TYPES[read.dtype] if read.dtype and read.dtype != program.dtype else "T"
        taken = f"*{read.pointer}" if " ? " in read.pointer else "{}[{}]".format(*read.pointer.split(" + ", 1))
        by_item = re.search(r"\b(i|col)\b", read.pointer)
        if not packed or not by_item:
            before += f"{kind} {read.name} = {f'pull({read.pointer})' if stream else taken};\n"
        elif read.packed:
            place = f"reinterpret_cast<const Pack<{source}, W>*>({read.pointer})"
            before += f"const Pack<{source}, W> p_{read.name} = {f'pull({place})' if stream else f'*{place}'};\n"
            inside += f"{kind} {read.name} = p_{read.name}.v[{read.lane}];\n"
        else:
            inside += f"{kind} {read.name} = {_each(taken)};\n"
    base, place = form.to.split(" + ", 1)
    if not packed:
        stored = f"push({form.to}, {item});" if stream else f"{base}[{place}] = {item};"
        return f"{before}{statements}{stored}\n"
    if not form.packed:
        return f"""{before}#pragma unroll
        for (int k = 0; k < W; ++k) {{
        {inside}{statements}{base}[{_each(place)}] = {item};
        }}
        """
    cast = f"reinterpret_cast<Pack<{target}, W>*>({form.to})"
    return f"""{before}Pack<{target}, W> q;
    #pragma unroll
    for (int k = 0; k < W; ++k) {{
    {inside}{statements}q.v[k] = {item};
    }}
    {f"push({cast}, q);" if stream else f"*{cast} = q;"}
    """


def _walk(knobs: Knobs, inner: str) -> str:
    walk, vector, items = knobs["walk"], knobs["vector"], knobs["items"]
    packed = vector > 1
    each = " * W" if packed else ""
    short = (" + W" if packed else " + 1") if knobs["slip"] == "short" else ""
    length = "length" if knobs["slip"] == "misnamed" else "total"
    width = "width" if knobs["slip"] == "misnamed" else "cols"
    split = "const int row = i / cols;\n" if re.search(r"\brow\b", inner) else ""
    split += "const int col = i % cols;\n" if re.search(r"\bcol\b", inner) else ""
    whole = "const I i = (I)row * cols + col;\n" if re.search(r"\bi\b", inner) else ""
    total = "const I total = (I)rows * cols;\n"
    if walk == "stride":
        pragma = f"#pragma unroll {items}\n" if items > 1 else ""
        first, step = f"((I)blockIdx.x * THREADS + threadIdx.x){each}", f"(I)gridDim.x * THREADS{each}"
        return f"{total}{pragma}for (I i = {first}; i{short} < {length}; i += {step}) {{\n{split}{inner}}}\n"
    if walk == "flat":
        if packed or items > 1:
            steps = f"{items} * V / W" if packed and items > 1 else "V / W" if packed else str(items)
            return f"""{total}#pragma unroll
            for (int s = 0; s < {steps}; ++s) {{
            const I i = (((I)blockIdx.x * ({steps}) + s) * THREADS + threadIdx.x){each};
            if (i{short} < {length}) {{
            {split}{inner}}}
            }}
            """
        place = "const I i = (I)blockIdx.x * THREADS + threadIdx.x;\n"
        return f"{total}{place}if (i{short} < {length}) {{\n{split}{inner}}}\n"
    if walk == "tile":
        row = "const int row = blockIdx.x * (THREADS / ACROSS) + threadIdx.x / ACROSS;\nif (row >= rows) return;\n"
        if packed:
            return f"""{row}#pragma unroll
            for (int s = 0; s < V / W; ++s) {{
            const int col = ((blockIdx.y * (V / W) + s) * ACROSS + threadIdx.x % ACROSS) * W;
            if (col < cols) {{
            {whole}{inner}}}
            }}
            """
        return (
            f"{row}const int col = blockIdx.y * ACROSS + threadIdx.x % ACROSS;\nif (col < cols) {{\n{whole}{inner}}}\n"
        )
    lane, step = {"rows": ("threadIdx.x", "THREADS"), "warp": ("threadIdx.x % 32", "32"), "column": ("0", "1")}[walk]
    row = {
        "rows": "blockIdx.x",
        "warp": "blockIdx.x * (THREADS / 32) + threadIdx.x / 32",
        "column": "blockIdx.x * THREADS + threadIdx.x",
    }[walk]
    guard = "" if walk == "rows" else "if (row >= rows) return;\n"
    if packed:
        lane, step = {"rows": ("threadIdx.x * W", "THREADS * W"), "warp": ("threadIdx.x % 32 * W", "32 * W")}.get(
            walk, ("0", "W")
        )
    head = f"for (int col = {lane}; col{short} < {width}; col += {step})"
    return f"const int row = {row};\n{guard}{head} {{\n{whole}{inner}}}\n"


def _grid(knobs: Knobs) -> str:
    threads, vector = knobs["threads"], knobs["vector"]
    whole = "int" if knobs["slip"] == "floor" else "math.ceil"
    high = threads // knobs["across"]
    return {
        "flat": f"({whole}(rows * cols / {threads * vector * knobs['items']}),)",
        "stride": f"(min({MULTIPROCESSORS * knobs['waves']}, math.ceil(rows * cols / {threads * vector})),)",
        "rows": "(rows,)",
        "warp": f"(math.ceil(rows / {threads // 32}),)",
        "column": f"(math.ceil(rows / {threads}),)",
        "tile": f"(math.ceil(rows / {high}), math.ceil(cols / {knobs['across'] * vector}))",
    }[knobs["walk"]]


def _render(program: Program, knobs: Knobs) -> str:
    slip, vector, packed = knobs["slip"], knobs["vector"], knobs["vector"] > 1
    forms = (program.slips[slip],) if slip in program.slips else program.forms[knobs["form"]]
    kept = any(form.to.startswith("kept") for form in forms)
    names = [*(name for name, _ in program.inputs), *(["kept"] if kept else []), "out", "rows", "cols"]
    names += [name for name, _ in program.integers]
    parameters = [
        f"const {'T' if dtype == program.dtype else C_TYPES[dtype]}* __restrict__ {name}"
        for name, dtype in program.inputs
    ]
    parameters += [*(["float* kept"] if kept else []), "T* __restrict__ out", "int rows", "int cols"]
    parameters += [f"int {name}" for name, _ in program.integers]
    numbers = {"THREADS": knobs["threads"]} | ({"V": vector} if packed else {})
    numbers |= {"ACROSS": knobs["across"]} if knobs["walk"] == "tile" else {}
    text = f"using T = {C_TYPES[program.dtype]};\nusing I = {knobs['index']};\n{constants(**numbers)}"
    inners = [_inner(program, form, knobs) for form in forms]
    text += _PACK if any("Pack<" in inner for inner in inners) else ""
    text += _STREAM if knobs["hint"] == "stream" else ""
    launches: list[str] = []
    for form, inner, called in zip(forms, inners, ("body", "after"), strict=False):
        walk = _walk(knobs, inner)
        if packed:
            run = f"run_{called}" if len(forms) > 1 else "run"
            text += f"template <int W> __device__ __forceinline__ void {run}({', '.join(parameters)}) {{\n{walk}}}\n"
            whole = " && ".join(part for part in ("cols % V == 0", form.whole) if part)
            given = f"({', '.join(names)});"
            walk = f"if ({whole}) {run}<V>{given}\nelse {run}<1>{given}\n"
        text += (
            f'extern "C" __global__ void __launch_bounds__(THREADS) {called}({", ".join(parameters)}) {{\n{walk}}}\n'
        )
        sizes = f"{form.rows or program.rows}, {form.cols or program.cols}"
        arguments = [*names[: names.index("rows") + 2], *(value for _, value in program.integers)]
        shared = ", 300000" if slip == "shared" else ""
        launches += [f"    rows, cols = {sizes}\n"] if not launches or sizes not in launches[0] else []
        launches.append(
            f"    program.{called}({_grid(knobs)}, ({knobs['threads']},), ({', '.join(arguments)}){shared})\n"
        )
    first = program.inputs[0][0]
    made = f"    out = {program.out}\n"
    if kept:
        made += f"    kept = torch.empty(out.shape, dtype=torch.float32, device={first}.device)\n"
    given = ", ".join(name for name, _ in program.inputs)
    host = f"def kernel({given}):\n{launches[0]}{made}{''.join(launches[1:])}    return out\n"
    dtypes = (program.dtype, *(dtype for _, dtype in program.inputs))
    return module(text, host, dtypes)
