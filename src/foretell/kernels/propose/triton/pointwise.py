"""Pointwise programs from tables: formulas over loads, in one kernel or two, with cache hints; and their slips."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.maps import MAP_KNOBS, Load, MapOp, map_program, map_valid

POINT_KNOBS = {
    **MAP_KNOBS,
    "shape": (*MAP_KNOBS["shape"], "column"),
    "hint": ("plain", "first", "stream"),
    "slip": (*MAP_KNOBS["slip"], "tail"),
}
_PLAIN = ("programs", "steps", "lanes", "offsets", "form")


@dataclass(frozen=True)
class Pointwise:
    """An operation on elements. A formula is lines that end with the value to store.

    `loads` are (name, pointer, by) as in `Load`; `staged` are the formulas of two kernels, where the second sees the
    first one's value as `s`; `moved` gives, for a slip, a load in the place of the one of its name.
    """

    task: str
    inputs: tuple[str, ...]
    loads: tuple[tuple[str, str, str], ...]
    forms: Mapping[str, str]
    slips: Mapping[str, str] = field(default_factory=dict)
    moved: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    staged: tuple[str, str] | None = None
    wide: bool = True
    rows: str = ""
    cols: str = ""
    out: str = ""
    scalars: tuple[tuple[str, str], ...] = ()
    before: tuple[str, ...] = ()


def point_valid(knobs: Knobs) -> bool:
    """What `map_valid` allows; strips of columns, hints and short loops around the common settings."""
    shape, width, warps = knobs["shape"], knobs["block"], knobs["warps"]
    plain = all(knobs[name] == POINT_KNOBS[name][0] for name in _PLAIN)
    if shape == "column":
        sound = plain and knobs["hint"] == "plain" and knobs["slip"] == "none"
        return sound and width in (128, 256) and knobs["height"] in (4, 16) and warps in (4, 8)
    if knobs["hint"] != "plain":
        usual = shape in ("flat", "stride", "row") and width in (1024, 2048) and warps in (4, 8)
        return plain and usual and knobs["height"] == 1 and knobs["slip"] == "none"
    if knobs["slip"] == "tail":
        return plain and shape == "row" and width > 256 and knobs["height"] == 1 and width < 4096 and warps in (4, 8)
    return map_valid(knobs)


def point_template(
    task: str,
    inputs: tuple[str, ...],
    make: Callable[[Knobs], tuple[MapOp, ...]],
    forms: tuple[str, ...],
    slips: tuple[str, ...],
) -> Template:
    """The template of maps that `make` gives for chosen knobs; the last of them makes or completes `out`."""
    knobs = {**POINT_KNOBS, "form": ("plain", *forms), "slip": (*POINT_KNOBS["slip"], *slips)}
    return Template(task, "triton", knobs, lambda k: map_program(make(k), k, inputs, ("out",)), point_valid)


def pointwise_template(op: Pointwise) -> Template:
    """The template of a pointwise operation: its forms, in double precision too, and in two kernels."""
    forms = (*(form for form in op.forms if form != "plain"), "double", *(("staged",) if op.staged else ()))
    return point_template(op.task, op.inputs, lambda knobs: _maps(op, knobs), forms, (*op.slips, *op.moved))


def _maps(op: Pointwise, knobs: Knobs) -> tuple[MapOp, ...]:
    form, slip = knobs["form"], knobs["slip"]
    cast = (".to(tl.float32)" if op.wide else "") + (".to(tl.float64)" if form == "double" else "")
    moved = {found[0]: found for found in (op.moved[slip],)} if slip in op.moved else {}
    loads = tuple(Load(*moved.get(item[0], item), cast) for item in op.loads)
    out = ("out", op.out or f"torch.empty_like({op.inputs[0]})")
    if form != "staged":
        close = "({}).to(tl.float32)" if form == "double" else "{}"
        return (_map(op, loads, op.slips.get(slip) or op.forms.get(form, op.forms["plain"]), out, close),)
    assert op.staged is not None
    kept = ("kept", "torch.empty((rows, cols), dtype=torch.float32, device=" + op.inputs[0] + ".device)")
    second = (*loads, Load("s", "kept + i"))
    return _map(op, loads, op.staged[0], kept), _map(op, second, op.staged[1], out)


def _map(op: Pointwise, loads: tuple[Load, ...], formula: str, out: tuple[str, str], close: str = "{}") -> MapOp:
    *lines, value = formula.splitlines()
    used = tuple(item for item in loads if re.search(rf"\b{item.name}\b", formula))
    text = "\n".join((formula, *(item.pointer for item in used)))
    return MapOp(
        inputs=tuple(name for name in op.inputs if re.search(rf"\b{name}\b", text)),
        outputs=(out,),
        rows=op.rows or f"{op.inputs[0]}.shape[0]",
        cols=op.cols or f"{op.inputs[0]}.shape[1]",
        lines=tuple(lines),
        stores=((f"{out[0]} + i", close.format(value)),),
        loads=used,
        scalars=op.scalars,
        before=op.before,
    )
