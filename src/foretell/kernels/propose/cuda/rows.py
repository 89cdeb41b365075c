"""CUDA programs that work on rows: a group of threads has a row, sweeps over it, folds, and sweeps again."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foretell.kernels.propose.cuda.fragments import BOUNDED, C_TYPES, PACK, WARP, Fold, constants, fold, module
from foretell.kernels.propose.template import Knobs

RESIDENT_BLOCKS = 528
_COLUMN = re.compile(r"\bj\b")
ROW_KNOBS = {
    "layout": ("block", "warp", "part", "thread", "persistent"),
    "threads": (256, 128, 512, 1024),
    "vector": (1, 4, 2, 8),
    "keep": ("reread", "registers", "shared"),
    "fold": ("shuffle", "twice", "tree", "atomic"),
    "unroll": (1, 4),
    "slip": ("none", "narrow", "barrier", "reuse", "floor", "assume", "short", "misnamed"),
}
_GROUPS: dict[str, int] = {"warp": WARP, "part": 8, "thread": 1}
_DEFAULTS = {name: values[0] for name, values in ROW_KNOBS.items()}


def group(knobs: Knobs) -> int:
    """Threads that share one row."""
    layout, threads = str(knobs["layout"]), int(knobs["threads"])
    return _GROUPS.get(layout, threads)


def plain(knobs: Knobs, *names: str) -> bool:
    """Are these knobs at their first value?"""
    return all(knobs[name] == _DEFAULTS[name] for name in names)


def row_valid(knobs: Knobs) -> bool:
    """Combinations that make sense for any operation on rows."""
    layout, threads, vector, keep = knobs["layout"], knobs["threads"], knobs["vector"], knobs["keep"]
    if layout in ("part", "thread") and not (threads in (128, 256) and keep == "reread" and vector in (1, 4)):
        return False
    if layout == "warp" and (threads == 1024 or (threads == 512 and vector != 4)):
        return False
    if layout == "persistent" and not (threads == 256 and vector in (1, 4) and keep != "shared"):
        return False
    if threads == 1024 and layout == "block" and (vector != 4 or keep == "shared"):
        return False
    if vector == 2 and not (threads == 256 and keep == "reread"):
        return False
    if vector == 8 and not (threads in (128, 256) and keep != "shared" and layout in ("block", "warp")):
        return False
    if not plain(knobs, "fold") and not (
        threads == 256 and layout == "block" and keep == "reread" and vector in (1, 4)
    ):
        return False
    if not plain(knobs, "unroll"):
        sound = plain(knobs, "keep", "fold", "slip") and threads == 256 and layout in ("block", "warp")
        if not sound or vector not in (1, 4):
            return False
    return knobs["slip"] == "none" or _slips(knobs)


def _slips(knobs: Knobs) -> bool:
    layout, slip, packed = knobs["layout"], knobs["slip"], knobs["vector"] == 4
    if knobs["threads"] not in (128, 256) or layout not in ("block", "warp"):
        return False
    if slip == "short":
        return bool(knobs["keep"] == "registers" and layout == "block" and packed)
    if not plain(knobs, "keep"):
        return False
    if slip in ("assume", "floor"):
        return packed and plain(knobs, "fold")
    if slip == "misnamed":
        return packed and plain(knobs, "layout", "fold", "threads")
    if slip == "narrow":
        return knobs["fold"] in ("shuffle", "tree") and knobs["vector"] == 1 and plain(knobs, "threads")
    return bool(layout == "block" and knobs["fold"] != "atomic" and knobs["vector"] == 1 and plain(knobs, "threads"))


def sweep(knobs: Knobs, source: str, do: str, store: str = "", save: bool = False, also: Sequence[str] = ()) -> str:
    """One pass over a row.

    `do` sees the item `v` and its column `j`; `store` is the value written to the output; `source` is `from` (memory),
    `to` (the output as written before) or `kept`; `save` keeps `v` as `do` leaves it; `also` names rows of parameters,
    seen as `NAME_v`.
    """
    keep, packed = knobs["keep"], knobs["vector"] > 1
    kept = {"registers": "kept[s]", "shared": "cache[i]"}.get(keep, "")
    if packed:
        kept = {"registers": "kept[s * W + k]", "shared": "cache[i + k]"}.get(keep, "")
    step = "GROUP * W" if packed else "GROUP"
    start = "lane * W" if packed else "lane"
    if keep == "registers":
        head = f"""#pragma unroll
        for (int s = 0; s < STEPS; ++s) {{
        const int i = s * {step} + {start};
        if (i < cols) {{"""
        tail = "}\n}"
    elif knobs["slip"] == "floor":
        head, tail = f"for (int s = 0; s < cols / ({step}); ++s) {{\nconst int i = s * {step} + {start};", "}"
    else:
        pragma = f"#pragma unroll {knobs['unroll']}\n" if knobs["unroll"] > 1 else ""
        head, tail = f"{pragma}for (int i = {start}; i < cols; i += {step}) {{", "}"
    memory = source in ("from", "to")
    saved = f"{kept} = v;" if save and kept else ""
    if not packed:
        taken = f"{source}[i]" if memory else kept
        rows = "".join(f"const float {name}_v = {name}[i];\n" for name in also)
        written = f"to[i] = T({store});" if store else ""
        column = "const int j = i;" if _COLUMN.search(do) else ""
        return f"{head}\n{column}\n{rows}float v = {taken};\n{do}\n{saved}\n{written}\n{tail}\n"
    loads = [(source, "p")] if memory else []
    loads += [(name, f"p_{name}") for name in also]
    lines = "".join(f"const Pack<W> {pack} = *reinterpret_cast<const Pack<W>*>({name} + i);\n" for name, pack in loads)
    rows = "".join(f"const float {name}_v = p_{name}.v[k];\n" for name in also)
    column = "const int j = i + k;" if _COLUMN.search(do) else ""
    return f"""{head}
    {lines}
    {"Pack<W> q;" if store else ""}
    #pragma unroll
    for (int k = 0; k < W; ++k) {{
    {column}
    {rows}
    float v = {"p.v[k]" if memory else kept};
    {do}
    {saved}
    {f"q.v[k] = T({store});" if store else ""}
    }}
    {"*reinterpret_cast<Pack<W>*>(to + i) = q;" if store else ""}
    {tail}
"""


@dataclass(frozen=True)
class RowProgram:
    """What differs between operations on rows.

    `passes(knobs)` is the body for one row, made of sweeps; `longest` the longest row that registers must hold;
    `out` the C++ type of the output; `row_out` says whether the output has rows of `cols` items or one item a row;
    `matrices` are the names after the first that have rows like it; `sizes` finds `rows` and `cols` on the host;
    `sees_row` says whether the passes use the row's number `row`.
    """

    names: tuple[str, ...]
    dtype: str
    longest: int
    folds: tuple[Fold, ...]
    passes: Callable[[Knobs], str]
    out: str = "T"
    row_out: bool = True
    head: str = ""
    matrices: tuple[str, ...] = ()
    sizes: str = "rows, cols = x.shape"
    sees_row: bool = False


def render_rows(program: RowProgram, knobs: Knobs) -> str:
    """The candidate of these knobs."""
    width, threads, slip = group(knobs), knobs["threads"], knobs["slip"]
    per_block = threads // width
    packed = knobs["vector"] > 1
    numbers = {"THREADS": threads, "GROUP": width}
    if packed:
        numbers["V"] = knobs["vector"]
    if knobs["keep"] == "registers":
        numbers["CAPACITY"] = program.longest // (4 if slip == "short" else 1)
    text = f"using T = {C_TYPES[program.dtype]};\n{constants(**numbers)}{PACK if packed else ''}{program.head}"
    text += "".join(fold(f, knobs["fold"], width, slip) for f in program.folds)
    heads = {name: f"all_{name}" for name in program.matrices}
    parameters = [f"const T* __restrict__ {heads.get(name, name)}" for name in program.names]
    extra = "".join(f", const T* __restrict__ {name}" for name in program.names[1:])
    passed = "".join(f", {name}" for name in program.names[1:])
    out = f"{program.out}* __restrict__"
    cache = "extern __shared__ float all_rows[];\nfloat* cache = all_rows + (threadIdx.x / GROUP) * cols;"
    cache = cache if knobs["keep"] == "shared" else ""
    body = program.passes(knobs)
    if knobs["keep"] == "registers":
        steps = "(CAPACITY + GROUP * W - 1) / (GROUP * W)" if packed else "(CAPACITY + GROUP - 1) / GROUP"
        body = f"constexpr int STEPS = {steps};\nfloat kept[STEPS{' * W' if packed else ''}];\n{body}"
    to = "out + (long long)row * cols" if program.row_out else "out + row"
    here = "const T* from = x + (long long)row * cols;\n" + f"{program.out}* to = {to};\n"
    here += "".join(f"const T* {name} = {given} + (long long)row * cols;\n" for name, given in heads.items())
    if packed:
        text += f"template <int W> __device__ void one_row(const T* __restrict__ from{extra}, {out} to, int cols, "
        text += f"int lane{', int row' * program.sees_row}) {{\n{cache}\n{body}\n}}\n"
        call = f"(from{passed}, to, {'columns' if slip == 'misnamed' else 'cols'}, lane{', row' * program.sees_row});"
        body = (
            f"one_row<V>{call}" if slip == "assume" else f"if (cols % V == 0) one_row<V>{call}\nelse one_row<1>{call}"
        )
        cache = ""
    return module(
        text + _entry(knobs, parameters, out, cache + here + body), _host(program, knobs, per_block), (program.dtype,)
    )


def _entry(knobs: Knobs, parameters: list[str], out: str, body: str) -> str:
    width, per_block = group(knobs), knobs["threads"] // group(knobs)
    lane = "threadIdx.x" if per_block == 1 else "threadIdx.x % GROUP"
    first = "blockIdx.x" if per_block == 1 else "blockIdx.x * (THREADS / GROUP) + threadIdx.x / GROUP"
    if knobs["layout"] == "persistent":
        body = f"for (int row = blockIdx.x; row < rows; row += gridDim.x) {{\n{body}\n}}"
    else:
        # A warp that holds several rows must stay whole for its shuffles: threads past the last row repeat it.
        past = "if (row >= rows) row = rows - 1;" if 1 < width < WARP else "if (row >= rows) return;"
        body = f"int row = {first};\n{past}\n{body}"
    return f"""{BOUNDED}({", ".join(parameters)}, {out} out, int rows, int cols) {{
    const int lane = {lane};
    {body}
    }}
"""


def _host(program: RowProgram, knobs: Knobs, per_block: int) -> str:
    names = ", ".join(program.names)
    kind = {"long long": "torch.int64", "T": "x.dtype"}.get(program.out, "torch.float32")
    made = "torch.empty_like(x)" if program.row_out else f"torch.empty(rows, dtype={kind}, device=x.device)"
    grid = f"math.ceil(rows / {per_block})" if per_block > 1 else "rows"
    if knobs["layout"] == "persistent":
        grid = f"min(rows, {RESIDENT_BLOCKS})"
    shared = f", {per_block} * cols * 4" if per_block > 1 else ", cols * 4"
    shared = shared if knobs["keep"] == "shared" else ""
    return f"""def kernel({names}):
    {program.sizes}
    out = {made}
    program.body(({grid},), ({knobs["threads"]},), ({names}, out, rows, cols){shared})
    return out
"""
