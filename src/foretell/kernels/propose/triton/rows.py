"""Row programs: fold each row of a matrix, then store per row or per element. Shared by the families that reduce rows.

Shapes: a whole row a program, several rows, a fixed number of programs that take rows in turn (`persistent`), a loop
over blocks of columns (`loop`), and such a loop over several rows at once (`tiles`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foretell.kernels.propose.template import Knobs
from foretell.kernels.propose.triton.fragments import MULTIPROCESSORS, block, lanes, load, nested, source

ROW_KNOBS: dict[str, tuple[Any, ...]] = {
    "shape": ("row", "rows", "persistent", "loop", "tiles"),
    "rows": (1, 2, 4, 8),
    "block": (1024, 256, 512, 2048, 4096),
    "warps": (4, 1, 2, 8, 16),
    "programs": (4, 1, 8, 16),
    "carry": ("lanes", "scalar"),
    "lanes": ("near", "far"),
    "form": ("plain",),
    "slip": ("none", "unmasked", "undefined", "tail"),
}


@dataclass(frozen=True)
class Fold:
    """One accumulator over a row: `value`, neutral outside the row, combined by `sum` or `max`."""

    name: str
    value: str
    kind: str = "sum"
    dtype: str = "tl.float32"


@dataclass(frozen=True)
class Online:
    """An accumulation of its own: statements before the loop, for each block, after it; `once` for a whole row.

    `KEEP`, `AXIS` and `SHAPE` stand for the trailing index, the axis and the shape of the block.
    """

    start: tuple[str, ...]
    step: tuple[str, ...]
    close: tuple[str, ...]
    once: tuple[str, ...]


@dataclass(frozen=True)
class Phase:
    """One pass over the row and the statements that follow it."""

    folds: tuple[Fold | Online, ...]
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class RowOp:
    """What a row program computes. Pointers are written in `r`, `c` and `at`; loads are (name, pointer, other, cast).

    `values` are computed after the loads of every pass; `late` is loaded for the stores alone. `until` bounds the
    columns that loops fold; `sizes` are the statements that find `rows` and `cols` where the first input is no matrix;
    `scalars` are further arguments with their expressions.
    """

    inputs: tuple[str, ...]
    outputs: tuple[tuple[str, str], ...]
    loads: tuple[tuple[str, str, str, str], ...]
    phases: tuple[Phase, ...]
    values: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    late: tuple[tuple[str, str, str, str], ...] = ()
    stores: tuple[tuple[str, str], ...] = ()
    row_stores: tuple[tuple[str, str], ...] = ()
    until: str = "n_cols"
    sizes: tuple[str, ...] = ()
    scalars: tuple[tuple[str, str], ...] = ()


def row_valid(knobs: Knobs) -> bool:
    """Combinations that differ in the source; forms and slips only around the common settings."""
    shape, rows, warps = knobs["shape"], knobs["rows"], knobs["warps"]
    looped = shape in ("loop", "tiles")
    if not looped and (knobs["block"] != 1024 or knobs["carry"] != "lanes"):
        return False
    if shape != "persistent" and knobs["programs"] != 4:
        return False
    if shape in ("row", "loop") and rows != 1:
        return False
    if shape == "rows" and (rows == 1 or rows > 2 * warps):
        return False
    if shape == "persistent" and (rows not in (1, 4) or warps not in (4, 8)):
        return False
    if shape == "loop" and (warps == 1 or (knobs["carry"] == "scalar" and warps != 8)):
        return False
    if shape == "tiles" and (rows == 1 or knobs["block"] > 1024 or warps not in (4, 8) or knobs["carry"] != "lanes"):
        return False
    if knobs["lanes"] == "far" and (shape not in ("row", "loop") or warps not in (4, 8) or knobs["block"] == 256):
        return False
    common = knobs["lanes"] == "near" and knobs["carry"] == "lanes"
    if knobs["form"] != "plain" and not (common and warps in (4, 8) and (not looped or knobs["block"] in (1024, 2048))):
        return False
    if knobs["slip"] == "none":
        return True
    if knobs["slip"] == "tail":
        return bool(common and shape == "loop" and warps == 4 and knobs["block"] > 512 and knobs["form"] == "plain")
    usual = shape == "row" or (shape == "rows" and rows == 4) or (shape == "loop" and knobs["block"] == 2048)
    return bool(common and usual and warps == (8 if shape == "row" else 4) and knobs["form"] == "plain")


def row_source(op: RowOp, knobs: Knobs) -> str:
    """The module: the kernel and its launch."""
    wide = knobs["rows"] > 1
    looped = knobs["shape"] in ("loop", "tiles")
    statements = ["r = tile * R + tl.arange(0, R)[:, None]" if wide else "r = tile", *op.before]
    statements += _looped(op, knobs, wide) if looped else _whole(op, knobs, wide)
    mask = ", mask=r < n_rows" if wide else ""
    statements += [f"tl.store({pointer}, {value}{mask})" for pointer, value in op.row_stores]
    tiles = "tl.cdiv(n_rows, R)" if wide else "n_rows"
    if knobs["shape"] == "persistent":
        main = [nested(f"for tile in range(tl.program_id(0), {tiles}, tl.num_programs(0)):", statements)]
    else:
        main = ["tile = tl.program_id(0)", *statements]
    names = [*op.inputs, *(name for name, _ in op.outputs)]
    sizes = {"n_rows": "rows", "n_cols": "cols", **dict(op.scalars)}
    rows = ", R: tl.constexpr" if wide else ""
    width = str(knobs["block"]) if looped else "triton.next_power_of_2(cols)"
    grid = f"triton.cdiv(rows, {knobs['rows']})" if wide else "rows"
    if knobs["shape"] == "persistent":
        grid = f"min({MULTIPROCESSORS * knobs['programs']}, {grid})"
    given = f", R={knobs['rows']}" if wide else ""
    launch = [
        *(op.sizes or (f"rows, cols = {op.inputs[0]}.shape",)),
        *(f"{name} = {made}" for name, made in op.outputs),
        f"body[({grid},)](",
        f"    {', '.join([*names, *sizes.values()])}{given}, B={width}, num_warps={knobs['warps']}",
        ")",
        f"return {', '.join(name for name, _ in op.outputs)}",
    ]
    text = f"""@triton.jit
def body({", ".join([*names, *sizes])}{rows}, B: tl.constexpr):
{block(main)}


def kernel({", ".join(op.inputs)}):
{block(launch)}
"""
    return source(text, knobs["slip"])


def _read(op: RowOp, knobs: Knobs, wide: bool, start: str, late: bool) -> list[str]:
    found = [f"c = {start}{lanes(knobs)}{'[None, :]' if wide else ''}", "at = r * n_cols + c"]
    found.append("inside = (r < n_rows) & (c < n_cols)" if wide else "inside = c < n_cols")
    for name, pointer, other, cast in (*op.loads, *(op.late if late else ())):
        mask = "" if knobs["slip"] == "unmasked" else ("inside" if "at" in pointer.split() else "c < n_cols")
        found.append(f"{name} = {load(pointer, mask, other)}{cast}")
    return [*found, *op.values]


def _stores(op: RowOp) -> list[str]:
    return [f"tl.store({pointer}, {value}, mask=inside)" for pointer, value in op.stores]


def _reduced(fold: Fold, value: str, wide: bool) -> str:
    return f"tl.{fold.kind}({value}, {int(wide)}){'[:, None]' if wide else ''}"


def _filled(statements: tuple[str, ...], wide: bool) -> list[str]:
    def fill(text: str) -> str:
        text = text.replace("SHAPE", "(R, B)" if wide else "(B,)").replace("AXIS", str(int(wide)))
        return text.replace("KEEP", "[:, None]" if wide else "")

    return [fill(text) for text in statements]


def _whole(op: RowOp, knobs: Knobs, wide: bool) -> list[str]:
    found = _read(op, knobs, wide, "", late=True)
    for phase in op.phases:
        for fold in phase.folds:
            if isinstance(fold, Online):
                found += _filled(fold.once, wide)
            else:
                cast = "" if fold.dtype == "tl.float32" else f".to({fold.dtype})"
                value = f"({fold.value}){cast}" if cast else fold.value
                found.append(f"{fold.name} = {_reduced(fold, value, wide)}{'.to(tl.float32)' if cast else ''}")
        found += phase.after
    return found + _stores(op)


def _looped(op: RowOp, knobs: Knobs, wide: bool) -> list[str]:
    found: list[str] = []
    stop = f"{op.until} // B * B" if knobs["slip"] == "tail" else op.until
    head = f"for start in range(0, {stop}, B):"
    for phase in op.phases:
        step = _read(op, knobs, wide, "start + ", late=False)
        close: list[str] = []
        for fold in phase.folds:
            if isinstance(fold, Online):
                found += _filled(fold.start, wide)
                step += _filled(fold.step, wide)
                close += _filled(fold.close, wide)
            else:
                made, update, end = _accumulated(fold, knobs["carry"], wide)
                found.append(made)
                step.append(update)
                close.append(end)
        found += [nested(head, step), *close, *phase.after]
    if op.stores:
        head = head.replace(op.until, "n_cols")
        found.append(nested(head, [*_read(op, knobs, wide, "start + ", late=True), *_stores(op)]))
    return found


def _accumulated(fold: Fold, carry: str, wide: bool) -> tuple[str, str, str]:
    """Statements that make an accumulator, update it with a block, and reduce it to one number a row."""
    name = fold.name
    neutral = "0.0" if fold.kind == "sum" else '-float("inf")'
    if carry == "scalar":
        made = f"{name} = tl.full((R, 1), {neutral}, tl.float32)" if wide else f"{name} = {neutral}"
        part = _reduced(fold, fold.value, wide)
        return made, f"{name} += {part}" if fold.kind == "sum" else f"{name} = tl.maximum({name}, {part})", ""
    made = f"{name} = tl.full({'(R, B)' if wide else '(B,)'}, {neutral}, {fold.dtype})"
    cast = "" if fold.dtype == "tl.float32" else f".to({fold.dtype})"
    value = f"({fold.value}){cast}" if cast else fold.value
    update = f"{name} += {value}" if fold.kind == "sum" else f"{name} = tl.maximum({name}, {value})"
    return made, update, f"{name} = {_reduced(fold, name, wide)}{'.to(tl.float32)' if cast else ''}"
