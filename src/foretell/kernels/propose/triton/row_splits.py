"""Row programs whose rows are cut into parts: one kernel folds the parts, a second joins them or maps the matrix.

Shapes beside those of `rows`: `split` (parts of a row in a buffer, joined by a second kernel) and `atomic` (parts of a
row added to its output at once). What is stored per element is mapped by the second kernel, block by block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import block, lanes, load, nested, source
from foretell.kernels.propose.triton.rows import ROW_KNOBS, Fold, Online, Phase, RowOp, row_source, row_valid

SPLIT_KNOBS: dict[str, tuple[Any, ...]] = {
    **ROW_KNOBS,
    "shape": (*ROW_KNOBS["shape"], "split", "atomic"),
    "parts": (1, 2, 4, 8, 16),
    "slip": (*ROW_KNOBS["slip"], "half"),
}
NEGATIVE = '-float("inf")'


@dataclass(frozen=True)
class Split:
    """How the parts of a row are folded and joined.

    `phases` fold a part into the numbers `carried`, kept in float32, or int32 where also in `whole`; `join` are the
    statements over vectors of those names, with `AXIS` and `KEEP` as in `Online`. `atomic` is the value that each
    part adds to the output.
    """

    phases: tuple[Phase, ...]
    carried: tuple[str, ...]
    join: tuple[str, ...]
    atomic: str = ""
    whole: tuple[str, ...] = ()


# The peak and the summed exponentials of a row in one pass, and how those of its parts are joined.
ONLINE = Online(
    start=(f"most = tl.full(SHAPE, {NEGATIVE}, tl.float32)", "sums = tl.full(SHAPE, 0.0, tl.float32)"),
    step=(
        "best = tl.maximum(most, v)",
        f"safe = tl.where(best == {NEGATIVE}, 0.0, best)",
        "sums = sums * tl.exp(most - safe) + tl.exp(v - safe)",
        "most = best",
    ),
    close=("peak = tl.max(most, AXIS)KEEP", "total = tl.sum(sums * tl.exp(most - peak), AXIS)KEEP"),
    once=("peak = tl.max(v, AXIS)KEEP", "total = tl.sum(tl.exp(v - peak), AXIS)KEEP"),
)
JOIN_EXPONENTIALS = (
    "best = tl.max(peak, AXIS)KEEP",
    "total = tl.sum(total * tl.exp(peak - best), AXIS)KEEP",
    "peak = best",
)


def split_of(phase: Phase, atomic: str = "") -> Split:
    """The split of a phase of plain folds."""
    folds = tuple(fold for fold in phase.folds if isinstance(fold, Fold))
    join = tuple(f"{fold.name} = tl.{fold.kind}({fold.name}, AXIS)KEEP" for fold in folds)
    return Split((Phase(folds),), tuple(fold.name for fold in folds), (*join, *phase.after), atomic)


Build = Callable[[Knobs], tuple[RowOp, Split]]


def row_template(
    task: str,
    build: Build,
    forms: tuple[str, ...],
    slips: tuple[str, ...],
    atomic: bool = False,
    looped_forms: tuple[str, ...] = (),
    whole_forms: tuple[str, ...] = (),
    without: tuple[str, ...] = (),
) -> Template:
    """The template of a row operation: `forms` and `slips` are its own; some forms need a loop or a whole row.

    `without` are the common slips that would do this operation no harm.
    """
    shapes = SPLIT_KNOBS["shape"] if atomic else SPLIT_KNOBS["shape"][:-1]
    common = tuple(slip for slip in SPLIT_KNOBS["slip"] if slip not in without)
    own = (*common, *(("unfilled",) if atomic else ()), *slips)
    knobs = {**SPLIT_KNOBS, "shape": shapes, "form": ("plain", *forms, *looped_forms, *whole_forms), "slip": own}

    def valid(chosen: Knobs) -> bool:
        if chosen["form"] in (whole_forms if chosen["shape"] in ("loop", "tiles") else looped_forms):
            return False
        return split_valid(chosen)

    return Template(task, "triton", knobs, lambda chosen: split_source(build, chosen), valid)


def split_valid(knobs: Knobs) -> bool:
    """Combinations that differ in the source; forms belong to the shapes of one kernel."""
    shape, rows, parts, warps, width = (knobs[name] for name in ("shape", "rows", "parts", "warps", "block"))
    if shape not in ("split", "atomic"):
        return bool(parts == 1 and knobs["slip"] not in ("half", "unfilled") and row_valid(knobs))
    if knobs["programs"] != 4 or knobs["form"] != "plain" or warps in (1, 16) or width in (256, 4096):
        return False
    if rows not in ((1, 4) if shape == "split" else (1,)) or (parts == 1 and (rows == 1 or shape == "atomic")):
        return False
    if knobs["carry"] == "scalar" and not (width == 1024 and rows == 1 and warps == 4 and knobs["lanes"] == "near"):
        return False
    if knobs["lanes"] == "far" and not (width > 512 and rows == 1 and warps == 4):
        return False
    if knobs["slip"] == "none":
        return True
    if knobs["slip"] in ("half", "unfilled") and (knobs["slip"] == "half") != (shape == "split"):
        return False
    common = knobs["lanes"] == "near" and knobs["carry"] == "lanes" and rows == 1
    return bool(common and warps == 4 and width == 512 and parts in (4, 8))


def split_source(build: Build, knobs: Knobs) -> str:
    """The module: for the shapes of `rows` the one of `row_source`, else two kernels or atomics."""
    op, split = build(knobs)
    if knobs["shape"] not in ("split", "atomic"):
        return row_source(op, knobs)
    narrow, _ = build({**knobs, "rows": 1})
    outputs = [name for name, _ in op.outputs]
    made = [f"{name} = {how}" for name, how in op.outputs]
    sizes = list(op.sizes or (f"rows, cols = {op.inputs[0]}.shape",))
    parts, width, warps = knobs["parts"], knobs["block"], knobs["warps"]
    if knobs["shape"] == "atomic":
        if knobs["slip"] != "unfilled":
            made = [text.replace("torch.empty(rows", "torch.zeros(rows") for text in made]
        close = [f"tl.atomic_add(out + r, {split.atomic})"]
        targets = outputs
        launch = [*sizes, *made]
        second = ""
    else:
        targets = [f"{name}_parts" for name in split.carried]
        close = [f"tl.store({name}_parts + r * P + p, {name})" for name in split.carried]
        buffers = [
            f"{name}_parts = torch.empty((rows, {parts}), dtype=torch.{'int32' if name in split.whole else 'float32'}, "
            f"device={op.inputs[0]}.device)"
            for name in split.carried
        ]
        launch = [*sizes, *made, *buffers]
        second = _map(op, split, knobs) if op.stores else _join(op, split, knobs)
    names = ", ".join([*op.inputs, *targets])
    launch.append(f"body[(rows, {parts})]({names}, rows, cols, P={parts}, B={width}, num_warps={warps})")
    if second and op.stores:
        tiles = f"triton.cdiv(rows, {knobs['rows']})" if knobs["rows"] > 1 else "rows"
        names = ", ".join([*op.inputs, *targets, *outputs])
        given = f"P={parts}, {_given(knobs)}B={width}, num_warps={warps}"
        launch += [f"join[({tiles}, triton.cdiv(cols, {width}))](", f"    {names}, rows, cols, {given}", ")"]
    elif second:
        tiles = f"triton.cdiv(rows, {knobs['rows'] * 8})" if knobs["rows"] > 1 else "rows"
        names = ", ".join([*targets, *outputs])
        given = f"P={parts}, {_given(knobs, 8)}num_warps=1"
        launch.append(f"join[({tiles},)]({names}, rows, cols, {given})")
    launch.append(f"return {', '.join(outputs)}")
    main = ["r = tl.program_id(0)", "p = tl.program_id(1)", *narrow.before, *_folded(narrow, split, knobs), *close]
    text = f"""@triton.jit
def body({", ".join([*op.inputs, *targets])}, n_rows, n_cols, P: tl.constexpr, B: tl.constexpr):
{block(main)}


{second}def kernel({", ".join(op.inputs)}):
{block(launch)}
"""
    return source(text, knobs["slip"])


def _given(knobs: Knobs, times: int = 1) -> str:
    return f"R={times * knobs['rows']}, " if knobs["rows"] > 1 else ""


def _folded(op: RowOp, split: Split, knobs: Knobs) -> list[str]:
    """The loops over one part of a row."""
    scalar = knobs["carry"] == "scalar"
    stop = f"{op.until} // (P * B) * (P * B)" if knobs["slip"] == "tail" else op.until
    found: list[str] = []
    for phase in split.phases:
        step = [f"c = start + {lanes(knobs)}", "at = r * n_cols + c", "inside = c < n_cols"]
        step += _loaded(op.loads, "" if knobs["slip"] == "unmasked" else "inside")
        step += op.values
        close: list[str] = []
        for fold in phase.folds:
            if isinstance(fold, Online):
                found += [text.replace("SHAPE", "(B,)") for text in fold.start]
                step += [text.replace("AXIS", "0").replace("KEEP", "") for text in fold.step]
                close += [text.replace("AXIS", "0").replace("KEEP", "") for text in fold.close]
                continue
            name, neutral = fold.name, "0.0" if fold.kind == "sum" else NEGATIVE
            value = f"tl.{fold.kind}({fold.value}, 0)" if scalar else fold.value
            found.append(f"{name} = {neutral}" if scalar else f"{name} = tl.full((B,), {neutral}, {fold.dtype})")
            if fold.dtype != "tl.float32" and not scalar:
                value = f"({value}).to({fold.dtype})"
            step.append(f"{name} += {value}" if fold.kind == "sum" else f"{name} = tl.maximum({name}, {value})")
            if not scalar:
                close.append(f"{name} = tl.{fold.kind}({name}, 0).to(tl.float32)")
        found += [nested(f"for start in range(p * B, {stop}, P * B):", step), *close, *phase.after]
    return found


def _loaded(loads: tuple[tuple[str, str, str, str], ...], mask: str) -> list[str]:
    own = {pointer: mask if not mask or "at" in pointer.split() else "c < n_cols" for _, pointer, _, _ in loads}
    return [f"{name} = {load(pointer, own[pointer], other)}{cast}" for name, pointer, other, cast in loads]


def _joined(op: RowOp, split: Split, knobs: Knobs) -> list[str]:
    """The statements that read the parts of this program's row, or rows, and join them."""
    wide = knobs["rows"] > 1
    mask = ["r < n_rows"] if wide else []
    if knobs["slip"] == "half":
        mask.append("s < P // 2")
    found = [f"s = tl.arange(0, P){'[None, :]' if wide else ''}"]
    found += [f"{name} = {load(f'{name}_parts + r * P + s', ' & '.join(mask), '0')}" for name in split.carried]
    axis, keep = ("1", "[:, None]") if wide else ("0", "")
    return [*found, *(text.replace("AXIS", axis).replace("KEEP", keep) for text in split.join)]


def _row(knobs: Knobs) -> str:
    return "r = tl.program_id(0) * R + tl.arange(0, R)[:, None]" if knobs["rows"] > 1 else "r = tl.program_id(0)"


def _join(op: RowOp, split: Split, knobs: Knobs) -> str:
    wide = knobs["rows"] > 1
    parameters = [*(f"{name}_parts" for name in split.carried), *(name for name, _ in op.outputs), "n_rows", "n_cols"]
    parameters += ["P: tl.constexpr", *(["R: tl.constexpr"] if wide else [])]
    mask = ", mask=r < n_rows" if wide else ""
    main = [_row(knobs), *_joined(op, split, knobs)]
    main += [f"tl.store({pointer}, {value}{mask})" for pointer, value in op.row_stores]
    return f"@triton.jit\ndef join({', '.join(parameters)}):\n{block(main)}\n\n\n"


def _map(op: RowOp, split: Split, knobs: Knobs) -> str:
    wide = knobs["rows"] > 1
    names = [*op.inputs, *(f"{name}_parts" for name in split.carried), *(name for name, _ in op.outputs)]
    parameters = [*names, "n_rows", "n_cols", "P: tl.constexpr", *(["R: tl.constexpr"] if wide else [])]
    main = [
        _row(knobs),
        *op.before,
        *_joined(op, split, knobs),
        f"c = tl.program_id(1) * B + {lanes(knobs)}{'[None, :]' if wide else ''}",
        "at = r * n_cols + c",
        "inside = (r < n_rows) & (c < n_cols)" if wide else "inside = c < n_cols",
        *_loaded((*op.loads, *op.late), "" if knobs["slip"] == "unmasked" else "inside"),
        *op.values,
        *(f"tl.store({pointer}, {value}, mask=inside)" for pointer, value in op.stores),
    ]
    return f"@triton.jit\ndef join({', '.join(parameters)}, B: tl.constexpr):\n{block(main)}\n\n\n"
