"""Triton templates of folds of a whole matrix to one number: blocks, strides, runs or rows; atomics or parts; slips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import MULTIPROCESSORS, block, lanes, load, nested, source

_KNOBS: dict[str, tuple[Any, ...]] = {
    "walk": ("block", "strided", "runs", "rows"),
    "join": ("atomic", "parts"),
    "block": (1024, 256, 2048, 4096, 8192),
    "warps": (4, 1, 8, 16),
    "programs": (4, 1, 2, 16),
    "carry": ("lanes", "scalar"),
    "lanes": ("near", "far"),
    "form": ("plain",),
    "slip": ("none", "unmasked", "undefined", "unfilled", "overlap", "tail", "first"),
}


@dataclass(frozen=True)
class Total:
    """The sum of `item` over the elements `v`, and `w` of a second input, with `scale` applied; `forms` of the item."""

    inputs: tuple[str, ...]
    item: str
    scale: str
    values: tuple[str, ...] = ()
    forms: Mapping[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)


def _valid(knobs: Knobs) -> bool:
    walk, width, warps, programs = knobs["walk"], knobs["block"], knobs["warps"], knobs["programs"]
    if walk in ("block", "rows") and (programs != 4 or knobs["carry"] != "lanes"):
        return False
    if (walk in ("strided", "runs") and (width == 256 or warps == 1)) or (warps == 1 and width > 2048):
        return False
    if walk == "runs" and (width == 8192 or warps == 16):
        return False
    if walk == "rows" and width in (256, 8192):
        return False
    usual = width in (1024, 2048) and warps == 4
    if knobs["carry"] == "scalar" and not (usual and walk == "strided" and knobs["form"] == "plain"):
        return False
    if knobs["lanes"] == "far" and not (usual and knobs["carry"] == "lanes" and programs in (4, 16)):
        return False
    if knobs["form"] != "plain" and not (
        warps in (4, 8) and width > 512 and programs == 4 and knobs["lanes"] == "near"
    ):
        return False
    slip = knobs["slip"]
    if slip == "none":
        return True
    if knobs["form"] != "plain" or knobs["lanes"] == "far" or knobs["carry"] == "scalar" or width != 1024 or warps != 4:
        return False
    if (slip == "unfilled" and knobs["join"] != "atomic") or (slip == "first" and knobs["join"] != "parts"):
        return False
    return bool(
        programs == 4 and (slip != "tail" or walk != "block") and (slip != "first" or walk in ("block", "rows"))
    )


def _render(op: Total, knobs: Knobs) -> str:
    walk, slip, width = knobs["walk"], knobs["slip"], knobs["block"]
    values, item = op.forms.get(knobs["form"], (op.values, op.item))
    dtype = "tl.float64" if knobs["form"] == "double" else "tl.float32"
    step = "(B // 2)" if slip == "overlap" else "B"
    cast = "" if dtype == "tl.float32" else f".to({dtype})"
    stop = {"runs": "last", "rows": "n_cols"}.get(walk, "n")
    base = "tl.program_id(0) * n_cols + " if walk == "rows" else ""
    read = [f"i = start + {lanes(knobs)}"]
    mask = "" if slip == "unmasked" else f"i < {stop}"
    read += [f"{name} = {load(f'{given} + {base}i', mask)}" for name, given in zip("vw", op.inputs, strict=False)]
    item = f"({item}){cast}" if cast else item
    read += values
    head = {
        "block": "",
        "strided": "for start in range(tl.program_id(0) * B, STOP, tl.num_programs(0) * STEP):",
        "runs": "for start in range(first, STOP, STEP):",
        "rows": "for start in range(0, STOP, STEP):",
    }[walk]
    head = head.replace("STOP", f"{stop} // B * B" if slip == "tail" else stop).replace("STEP", step)
    main: list[str] = []
    if walk == "block":
        main = [f"start = tl.program_id(0) * {step}", *read, f"total = tl.sum({item}, 0)"]
    elif knobs["carry"] == "scalar":
        main = ["total = 0.0", nested(head, [*read, f"total += tl.sum({item}, 0)"])]
    else:
        if walk == "runs":
            main = ["each = tl.cdiv(n, tl.num_programs(0))", "first = tl.program_id(0) * each"]
            main.append("last = tl.minimum(first + each, n)")
        main += [f"total = tl.full((B,), 0.0, {dtype})", nested(head, [*read, f"total += {item}"])]
        main.append("total = tl.sum(total, 0)")
    if cast:
        main.append("total = total.to(tl.float32)")
    parts = knobs["join"] == "parts"
    scaled = f"total{op.scale}"
    main.append("tl.store(part + tl.program_id(0), total)" if parts else f"tl.atomic_add(out, {scaled})")
    names = ", ".join([*op.inputs, "part" if parts else "out"])
    text = f"@triton.jit\ndef body({names}, n, n_cols, B: tl.constexpr):\n{block(main)}\n\n\n"
    first = op.inputs[0]
    count = "rows" if walk == "rows" else f"triton.cdiv(n, {width})"
    if walk in ("strided", "runs"):
        count = f"min({MULTIPROCESSORS * knobs['programs']}, {count})"
    zeros = "empty" if parts or slip == "unfilled" else "zeros"
    launch = [
        f"rows, cols = {first}.shape",
        "n = rows * cols",
        f"out = torch.{zeros}((), dtype=torch.float32, device={first}.device)",
        f"count = {count}",
    ]
    if parts:
        launch.append(f"part = torch.empty(count, dtype=torch.float32, device={first}.device)")
        stop = "tl.minimum(count, B)" if slip == "first" else "count"
        text += f"""@triton.jit
def gather(part, out, n, count, B: tl.constexpr):
    total = tl.zeros((B,), tl.float32)
    for start in range(0, {stop}, B):
        i = start + tl.arange(0, B)
        total += tl.load(part + i, mask=i < count, other=0.0)
    total = tl.sum(total, 0)
    tl.store(out, {scaled})


"""
    launch.append(f"body[(count,)]({names}, n, cols, B={width}, num_warps={knobs['warps']})")
    if parts:
        launch.append("gather[(1,)](part, out, n, count, B=1024, num_warps=8)")
    return source(f"{text}def kernel({', '.join(op.inputs)}):\n{block([*launch, 'return out'])}\n", slip)


_SUM = Total(("x",), "v", "")
_SMOOTH = Total(
    inputs=("a", "b"),
    item="tl.where(m < 0.5, d * d, m - 0.25)",
    scale=" / n",
    values=("d = v - w", "m = tl.abs(d)"),
    forms={"clamped": (("m = tl.abs(v - w)", "s = tl.minimum(m, 0.5)"), "s * (2.0 * m - s)")},
)


def _template(task: str, op: Total) -> Template:
    knobs = {**_KNOBS, "form": ("plain", "double", *op.forms)}
    return Template(task, "triton", knobs, lambda chosen: _render(op, chosen), _valid)


TEMPLATES = (_template("total_sum", _SUM), _template("smooth_l1_mean", _SMOOTH))
