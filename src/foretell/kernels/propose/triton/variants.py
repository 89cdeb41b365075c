"""More ways to write row programs and maps: cache hints, pipelined loops, and work shared out among several kernels."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from foretell.kernels.propose.template import Knobs
from foretell.kernels.propose.triton.fragments import HEAD
from foretell.kernels.propose.triton.maps import MAP_KNOBS, Load, MapOp, map_source, map_valid
from foretell.kernels.propose.triton.rows import ROW_KNOBS, RowOp, row_source

_TOUCHES = ("plain", "far", "stages2", "stages4", "first", "last", "stream")
SLAB_KNOBS: dict[str, tuple[Any, ...]] = {
    "shape": (*ROW_KNOBS["shape"], "persistent1", "persistent8", "persistent16", "flat", "stride", "apply"),
    "rows": (1, 2, 4, 8, 16, 32),
    "block": (1024, 256, 512, 2048, 4096),
    "warps": (4, 1, 2, 8, 16),
    "touch": (*_TOUCHES, "scalar"),
    "form": ("plain",),
    "slip": ROW_KNOBS["slip"],
}
FLAT_STREAM_KNOBS: dict[str, tuple[Any, ...]] = {
    "shape": ("flat", "steps2", "steps4", "steps8", "stride8", "stride2", "stride4", "stride16"),
    "block": MAP_KNOBS["block"],
    "warps": MAP_KNOBS["warps"],
    "touch": (*_TOUCHES, "int64", "each"),
    "form": ("plain",),
    "slip": MAP_KNOBS["slip"],
}
STREAM_KNOBS = {**FLAT_STREAM_KNOBS, "shape": (*FLAT_STREAM_KNOBS["shape"], "row", "tile4", "tile16", "tile64")}
_APART = {"flat": "flat", "stride": "stride", "apply": "row"}


def _count(word: str, name: str, default: int) -> int:
    """The number behind `name` in a value such as `steps4`."""
    number = word.removeprefix(name)
    return int(number) if word.startswith(name) and number else default


def _row_knobs(knobs: Knobs) -> Knobs:
    shape, touch = knobs["shape"], knobs["touch"]
    return {
        **knobs,
        "shape": "loop" if shape in _APART else shape.rstrip("0123456789"),
        "programs": _count(shape, "persistent", 4),
        "lanes": "far" if touch == "far" else "near",
        "carry": "scalar" if touch == "scalar" else "lanes",
    }


def _map_knobs(knobs: Knobs) -> Knobs:
    shape, touch = knobs["shape"], knobs["touch"]
    return {
        **knobs,
        "shape": _APART.get(shape, shape.rstrip("0123456789")),
        "height": _count(shape, "tile", 1),
        "steps": _count(shape, "steps", 1),
        "programs": _count(shape, "stride", 8),
        "lanes": "far" if touch == "far" else "near",
        "offsets": "int64" if touch == "int64" else "int32",
    }


@dataclass(frozen=True)
class Slab:
    """A row program whose two halves can also be kernels of their own.

    `rows` and `cols` are expressions over the inputs; `carried` are the numbers of a row that its stores need.
    """

    op: RowOp
    carried: tuple[str, ...]
    rows: str = "x.shape[0]"
    cols: str = "x.shape[1]"


def varied(text: str, touch: str) -> str:
    """The source with its loops pipelined or its accesses hinted."""
    if touch.startswith("stages"):
        return re.sub(r" in range\((.*)\):", rf" in tl.range(\1, num_stages={touch[6:]}):", text)
    if touch in ("first", "last"):
        return text.replace("other=0.0)", f'other=0.0, eviction_policy="evict_{touch}")')
    if touch == "stream":
        return text.replace("mask=inside)", 'mask=inside, cache_modifier=".cs")')
    return text


def joined(parts: Sequence[str], inputs: Sequence[str], main: Sequence[str]) -> str:
    """One module of several: the `kernel` of each becomes `part_0`, `part_1`, ... for the statements `main` to call."""
    texts = []
    for number, part in enumerate(parts):
        text = part.removeprefix(HEAD).replace("def body(", f"def body_{number}(")
        texts.append(text.replace("body[", f"body_{number}[").replace("def kernel(", f"def part_{number}("))
    lines = "".join(f"    {line}\n" for line in main)
    return HEAD + "\n\n".join((*texts, f"def kernel({', '.join(inputs)}):\n{lines}"))


def _by_element(pointer: str) -> str:
    return re.sub(r"\bat\b", "i", pointer)


def _load(name: str, pointer: str, _: str, cast: str) -> Load:
    return Load(name, _by_element(pointer), "i" if "at" in pointer.split() else "c", cast)


def slab_source(slab: Slab, knobs: Knobs) -> str:
    """The module: one kernel for all, or one that folds the rows and one that writes the elements."""
    op = replace(slab.op, sizes=(f"rows, cols = {slab.rows}, {slab.cols}",))
    if knobs["shape"] not in _APART:
        return varied(row_source(op, _row_knobs(knobs)), knobs["touch"])
    written = {pointer.split()[0] for pointer, _ in op.stores}
    buffers = tuple(f"{name}_of" for name in slab.carried)
    empty = f"torch.empty(rows, dtype=torch.float32, device={op.inputs[0]}.device)"
    first = replace(
        op,
        outputs=(*(each for each in op.outputs if each[0] not in written), *((name, empty) for name in buffers)),
        late=(),
        stores=(),
        row_stores=(*op.row_stores, *((f"{name}_of + r", name) for name in slab.carried)),
    )
    second = MapOp(
        inputs=(*op.inputs, *buffers),
        outputs=tuple(each for each in op.outputs if each[0] in written),
        rows=slab.rows,
        cols=slab.cols,
        loads=(
            *(_load(*each) for each in (*op.loads, *op.late)),
            *(Load(name, f"{name}_of + r", "r") for name in slab.carried),
        ),
        lines=(*op.before, *op.values),
        stores=tuple((_by_element(pointer), value) for pointer, value in op.stores),
        scalars=op.scalars,
    )
    parts = (row_source(first, _row_knobs(knobs)), map_source(second, _map_knobs(knobs)))
    given, made = ", ".join(op.inputs), ", ".join(name for name, _ in second.outputs)
    main = [
        f"{', '.join(name for name, _ in first.outputs)} = part_0({given})",
        f"{made} = part_1({given}, {', '.join(buffers)})",
        f"return {', '.join(name for name, _ in op.outputs)}",
    ]
    return varied(joined(parts, op.inputs, main), knobs["touch"])


def slab_valid(longest: int) -> Callable[[Knobs], bool]:
    """Combinations that differ in the source and that registers can hold where rows have up to `longest` elements."""
    held = 1 << (longest - 1).bit_length()

    def valid(knobs: Knobs) -> bool:
        shape, rows, width, warps = knobs["shape"], knobs["rows"], knobs["block"], knobs["warps"]
        touch, form, slip = knobs["touch"], knobs["form"], knobs["slip"]
        apart, kept = shape in _APART, shape.startswith("persistent")
        looped = apart or shape in ("loop", "tiles")
        if not looped and width != 1024:
            return False
        if (shape in ("rows", "tiles")) != (rows > 1) and not kept:
            return False
        each = rows * (min(width, held) if looped else held) / (32 * warps)
        if each > 256 or each < 0.5 or (rows > 1 and each < 2):
            return False
        if looped and (width > max(512, held) or warps == 1):
            return False
        usual = warps in (4, 8)
        if kept and (not usual or rows not in (1, 4, 16) or (shape != "persistent" and form != "plain")):
            return False
        if shape == "tiles" and (width > 1024 or not usual or rows > 16 or (form != "plain" and held > 512)):
            return False
        if apart and not (usual and width in (512, 1024, 4096) and touch in ("plain", "stream")):
            return False
        common = usual and (not looped or width in (512, 1024, 2048))
        if form != "plain" and not (common and touch == "plain" and rows < 32):
            return False
        if touch == "far":
            return bool(shape in ("row", "loop") and common and width > 512 and slip == "none")
        if touch == "scalar":
            return bool(shape == "loop" and warps == 8 and slip == "none")
        if touch.startswith("stages"):
            return bool(common and slip == "none" and shape in ("persistent", "loop", "tiles") and rows in (1, 4))
        if touch != "plain":
            placed = shape in ("row", "rows", "loop") and (rows in (1, 4, 16) or held <= 512) and width != 512
            return bool(slip == "none" and common and (placed or (apart and width == 1024)))
        if slip == "none":
            return True
        if slip == "tail":
            return bool(common and form == "plain" and shape == "loop" and width > 512)
        few = shape in ("row", "rows") and rows in (1, 4)
        return bool(common and form == "plain" and (few or (shape == "loop" and width == min(2048, max(512, held)))))

    return valid


def stream_source(op: MapOp, knobs: Knobs) -> str:
    """The module: one kernel for all outputs, or one for each of them."""
    inner = _map_knobs(knobs)
    if knobs["touch"] != "each":
        return varied(map_source(op, inner), knobs["touch"])
    parts = [
        map_source(replace(op, outputs=(output,), stores=(store,)), inner)
        for output, store in zip(op.outputs, op.stores, strict=True)
    ]
    calls = ", ".join(f"part_{number}({', '.join(op.inputs)})" for number in range(len(parts)))
    return joined(parts, op.inputs, (f"return {calls}",))


def stream_valid(outputs: int = 1) -> Callable[[Knobs], bool]:
    """Combinations that differ in the source, for a map of so many outputs."""

    def valid(knobs: Knobs) -> bool:
        shape, width, warps, touch = knobs["shape"], knobs["block"], knobs["warps"], knobs["touch"]
        own = knobs["slip"] not in MAP_KNOBS["slip"]
        if not map_valid({**_map_knobs(knobs), "slip": "none" if own else knobs["slip"]}):
            return False
        if own:
            usual = shape in ("flat", "steps2", "stride8", "row") and width in (1024, 2048) and warps in (4, 8)
            return bool(usual and touch == "plain" and knobs["form"] == "plain")
        if touch in ("plain", "far", "int64"):
            return True
        if knobs["slip"] != "none" or knobs["form"] != "plain":
            return False
        if touch.startswith("stages"):
            return bool(shape.startswith(("steps", "stride", "row")) and width > 512 and warps in (4, 8))
        usual = warps in (4, 8) and width in (128, 256, 1024, 2048)
        if touch == "each":
            return outputs > 1 and usual
        return bool(usual and shape in ("flat", "steps2", "stride8", "stride4", "row", "tile4", "tile16"))

    return valid
