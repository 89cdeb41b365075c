"""Maps: programs whose every output element is computed by itself. Shared by the families without a reduction.

Shapes: a block of consecutive elements a program (`flat`), several blocks in turn (`steps`), a fixed number of programs
that stride over all blocks (`stride`), a loop over the columns of one row (`row`), a tile of rows and columns, and a
loop over narrow strips of a block of rows (`column`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from foretell.kernels.propose.template import Knobs
from foretell.kernels.propose.triton.fragments import MULTIPROCESSORS, block, lanes, load, nested, source

MAP_KNOBS: dict[str, tuple[Any, ...]] = {
    "shape": ("flat", "steps", "stride", "row", "tile"),
    "block": (1024, 128, 256, 512, 2048, 4096),
    "height": (1, 4, 16, 64),
    "warps": (4, 1, 2, 8),
    "steps": (1, 2, 4, 8),
    "programs": (8, 2, 4, 16),
    "lanes": ("near", "far"),
    "offsets": ("int32", "int64"),
    "form": ("plain",),
    "slip": ("none", "undefined", "floor"),
}
_LOAD_HINTS = {"first": ', eviction_policy="evict_first"', "stream": ', cache_modifier=".cg"'}
_STORE_HINTS = {"first": ', eviction_policy="evict_first"', "stream": ', cache_modifier=".cs"'}
FLAT_KNOBS = {**MAP_KNOBS, "shape": ("flat", "steps", "stride"), "height": (1,)}


@dataclass(frozen=True)
class Load:
    """One input: a pointer written in `i` (element), `r` and `c`; `by` says which of those its place depends on.

    `where` is a condition besides: elsewhere the value is 0.
    """

    name: str
    pointer: str
    by: str = "i"
    cast: str = ""
    where: str = ""


@dataclass(frozen=True)
class MapOp:
    """What a map computes: `before`, loads, then `lines`, then stores of (pointer, value).

    In `lines`, `@ROW` stands for the mask arguments of a load that depends on the row alone. `rows` and `cols` are
    expressions over the inputs; `scalars` are further arguments with their expressions.
    """

    inputs: tuple[str, ...]
    outputs: tuple[tuple[str, str], ...]
    rows: str
    cols: str
    lines: tuple[str, ...]
    stores: tuple[tuple[str, str], ...]
    loads: tuple[Load, ...] = ()
    scalars: tuple[tuple[str, str], ...] = ()
    before: tuple[str, ...] = ()


def map_valid(knobs: Knobs) -> bool:
    """Combinations that differ in the source; forms, far lanes and slips only around the common settings."""
    shape, width, warps = knobs["shape"], knobs["block"], knobs["warps"]
    if (shape == "tile") != (knobs["height"] > 1) or (shape == "steps") != (knobs["steps"] > 1):
        return False
    if shape != "stride" and knobs["programs"] != 8:
        return False
    if shape in ("steps", "stride") and (width not in (512, 1024, 2048) or warps not in (4, 8)):
        return False
    if shape == "row" and (width in (128, 4096) or warps == 1):
        return False
    if shape == "tile" and (width not in (128, 256) or warps not in (4, 8)):
        return False
    common = width in (1024, 2048) and warps in (4, 8) and knobs["programs"] in (4, 8) and knobs["steps"] in (1, 2)
    if knobs["lanes"] == "far" and not (shape in ("flat", "row") and common and knobs["offsets"] == "int32"):
        return False
    if knobs["offsets"] == "int64" and not (shape in ("flat", "stride") and common):
        return False
    plain = knobs["lanes"] == "near" and knobs["offsets"] == "int32"
    if knobs["form"] != "plain" and not (common and plain):
        return False
    if knobs["slip"] == "none":
        return True
    usual = shape in ("flat", "stride", "row") and warps * 256 == width and knobs["programs"] == 8
    if knobs["slip"] == "floor":
        usual = shape == "flat" and warps == 4
    return bool(common and plain and usual and knobs["form"] == "plain")


def map_source(op: MapOp, knobs: Knobs) -> str:
    """The module: the kernel and its launch."""
    return map_program((op,), knobs, op.inputs, tuple(name for name, _ in op.outputs))


def map_program(ops: Sequence[MapOp], knobs: Knobs, inputs: tuple[str, ...], results: tuple[str, ...]) -> str:
    """The module of one or several maps, each a kernel; a later one may take what an earlier one made."""
    made: dict[str, str] = {}
    kernels, launches = [], []
    for op, name in zip(ops, ("body", "after"), strict=False):
        made |= dict(op.outputs)
        kernel, launch = _kernel(op, knobs, name, made)
        kernels.append(kernel)
        launches += launch
    body = f"""{"".join(kernels)}def kernel({", ".join(inputs)}):
{block([*launches, f"return {', '.join(results)}"])}
"""
    return source(body, knobs["slip"])


def _kernel(op: MapOp, knobs: Knobs, called: str, made: Mapping[str, str]) -> tuple[str, list[str]]:
    """The function `called`, and the statements that launch it; it is given all tensors `made` so far that it uses."""
    shape, hint = knobs["shape"], knobs.get("hint", "plain")
    places = (*op.before, *(f"{item.pointer} {item.where}" for item in op.loads), *op.lines)
    text = "\n".join((*places, *(f"{p} {v}" for p, v in op.stores)))
    masks = _masks(shape)
    work = [*op.before]
    for item in op.loads:
        mask = " & ".join(part for part in (masks[item.by], item.where) if part)
        taken = load(item.pointer, mask)
        work.append(f"{item.name} = {taken[:-1]}{_LOAD_HINTS.get(hint, '')}){item.cast}")
    row_mask = f", mask={masks['r']}, other=0.0" if masks["r"] else ""
    work += [line.replace("@ROW", row_mask) for line in op.lines]
    work += [f"tl.store({pointer}, {value}, mask=inside{_STORE_HINTS.get(hint, '')})" for pointer, value in op.stores]
    main = _placed(knobs, work, bool(re.search(r"\b[rc]\b", text)))
    names = [*op.inputs, *(name for name in made if re.search(rf"\b{name}\b", text))]
    given = {"n": "rows * cols", "n_rows": "rows", "n_cols": "cols", **dict(op.scalars)}
    used = {name: value for name, value in given.items() if re.search(rf"\b{name}\b", main)}
    fixed = {"steps": "S", "tile": "H", "column": "H"}
    constants = {fixed[shape]: knobs["steps" if shape == "steps" else "height"]} if shape in fixed else {}
    parameters = [*names, *used, *(f"{name}: tl.constexpr" for name in constants), "B: tl.constexpr"]
    arguments = [*names, *used.values(), *(f"{name}={value}" for name, value in constants.items())]
    launch = [
        f"rows, cols = {op.rows}, {op.cols}",
        *(f"{name} = {value}" for name, value in op.outputs),
        f"{called}[{_grid(knobs)}](",
        f"    {', '.join(arguments)}, B={knobs['block']}, num_warps={knobs['warps']}",
        ")",
    ]
    return f"@triton.jit\ndef {called}({', '.join(parameters)}):\n{main}\n\n\n", launch


def _masks(shape: str) -> Mapping[str, str]:
    if shape == "row":
        return {"i": "inside", "c": "inside", "r": ""}
    if shape in ("tile", "column"):
        return {"i": "inside", "c": "c < n_cols", "r": "r < n_rows"}
    return {"i": "inside", "c": "inside", "r": "inside"}


def _placed(knobs: Knobs, work: list[str], by_row: bool) -> str:
    """The work under statements that say which elements it is for."""
    shape = knobs["shape"]
    first = "tl.program_id(0).to(tl.int64)" if knobs["offsets"] == "int64" else "tl.program_id(0)"
    inner = ["inside = i < n", *(("r = i // n_cols", "c = i % n_cols") if by_row else ()), *work]
    if shape == "flat":
        return block([f"i = {first} * B + {lanes(knobs)}", *inner])
    if shape == "steps":
        return block([nested("for k in range(S):", [f"i = ({first} * S + k) * B + {lanes(knobs)}", *inner])])
    if shape == "stride":
        head = f"for start in range({first} * B, n, tl.num_programs(0) * B):"
        return block([nested(head, [f"i = start + {lanes(knobs)}", *inner])])
    if shape == "row":
        inner = [f"c = start + {lanes(knobs)}", "i = r * n_cols + c", "inside = c < n_cols", *work]
        stop = "n_cols // B * B" if knobs["slip"] == "tail" else "n_cols"
        return block([f"r = {first}", nested(f"for start in range(0, {stop}, B):", inner)])
    if shape == "column":
        strip = ["c = start + tl.arange(0, H)[None, :]", "i = r * n_cols + c"]
        strip += ["inside = (r < n_rows) & (c < n_cols)", *work]
        place = [f"r = {first} * B + tl.arange(0, B)[:, None]"]
        return block([*place, nested("for start in range(0, n_cols, H):", strip)])
    place = [f"r = {first} * H + tl.arange(0, H)[:, None]", "c = tl.program_id(1) * B + tl.arange(0, B)[None, :]"]
    return block([*place, "i = r * n_cols + c", "inside = (r < n_rows) & (c < n_cols)", *work])


def _grid(knobs: Knobs) -> str:
    shape, width = knobs["shape"], knobs["block"]
    if shape == "flat":
        return f"(rows * cols // {width},)" if knobs["slip"] == "floor" else f"(triton.cdiv(rows * cols, {width}),)"
    if shape == "steps":
        return f"(triton.cdiv(rows * cols, {width * knobs['steps']}),)"
    if shape == "stride":
        return f"({MULTIPROCESSORS * knobs['programs']},)"
    if shape == "row":
        return "(rows,)"
    if shape == "column":
        return f"(triton.cdiv(rows, {width}),)"
    return f"(triton.cdiv(rows, {knobs['height']}), triton.cdiv(cols, {width}))"
