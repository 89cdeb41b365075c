"""Triton template of the transpose: tiles loaded along rows or along columns, element by element, strides; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import MULTIPROCESSORS, block, nested, source

_KNOBS = {
    "shape": ("tile", "pointers", "persistent", "reading", "writing"),
    "height": (32, 8, 16, 64, 128, 256),
    "width": (32, 8, 16, 64, 128, 256),
    "warps": (4, 2, 8),
    "order": ("rows", "cols"),
    "programs": (8, 2),
    "slip": ("none", "undefined", "copied", "floor", "swapped"),
}


def _valid(knobs: Knobs) -> bool:
    shape, height, width, warps = knobs["shape"], knobs["height"], knobs["width"], knobs["warps"]
    if shape != "persistent" and knobs["programs"] != 8:
        return False
    if shape in ("reading", "writing"):
        if height != 32 or width not in (16, 32, 64, 128) or knobs["order"] != "rows":
            return False
    elif 256 in (height, width):
        if height != width or warps == 2 or shape == "persistent" or knobs["order"] != "rows":
            return False
    elif not 512 <= height * width <= 8192 or (height * width > 4096 and warps != 8):
        return False
    if shape in ("pointers", "persistent") and (warps == 2 or 8 in (height, width)):
        return False
    if knobs["order"] == "cols" and (warps != 4 or shape == "persistent"):
        return False
    if shape == "persistent" and (warps != 4 or 16 in (height, width)):
        return False
    if knobs["slip"] == "none":
        return True
    usual = warps == 4 and height == 32 and width in (32, 64) and knobs["order"] == "rows" and knobs["programs"] == 8
    places = {"tile": ("undefined", "copied", "floor", "swapped"), "pointers": ("undefined", "floor")}
    return bool(usual and knobs["slip"] in places.get(shape, ("undefined",)))


def _elements(knobs: Knobs) -> str:
    width = 32 * knobs["width"]
    if knobs["shape"] == "writing":
        place, source_at, target_at = "r, c = i % n_rows, i // n_rows", "r * n_cols + c", "i"
    else:
        place, source_at, target_at = "r, c = i // n_cols, i % n_cols", "i", "c * n_rows + r"
    if knobs["slip"] == "copied":
        source_at, target_at = "i", "i"
    first, second = place.split(" = ")[1].split(", ")
    main = [
        "i = tl.program_id(0) * B + tl.arange(0, B)",
        *(() if knobs["slip"] == "copied" else (f"r = {first}", f"c = {second}")),
        f"v = tl.load(x + {source_at}, mask=i < n_rows * n_cols)",
        f"tl.store(out + {target_at}, v, mask=i < n_rows * n_cols)",
    ]
    return f"""@triton.jit
def body(x, out, n_rows, n_cols, B: tl.constexpr):
{block(main)}


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((cols, rows), dtype=x.dtype, device=x.device)
    body[(triton.cdiv(rows * cols, {width}),)](x, out, rows, cols, B={width}, num_warps={knobs["warps"]})
    return out
"""


def _tiles(knobs: Knobs) -> str:
    shape, slip, height, width = knobs["shape"], knobs["slip"], knobs["height"], knobs["width"]
    rows, cols = "tl.program_id(0)", "tl.program_id(1)"
    high, wide = f"triton.cdiv(rows, {height})", f"triton.cdiv(cols, {width})"
    if slip == "floor":
        high = f"rows // {height}"
    grid = f"({high}, {wide})"
    if knobs["order"] == "cols":
        rows, cols, grid = cols, rows, f"({wide}, {high})"
    if shape == "persistent":
        rows, cols = "k // tl.cdiv(n_cols, W)", "k % tl.cdiv(n_cols, W)"
        grid = f"({MULTIPROCESSORS * knobs['programs']},)"
    place = [f"r = {rows} * H + tl.arange(0, H)", f"c = {cols} * W + tl.arange(0, W)"]
    loaded = "x + r[:, None] * n_cols + c[None, :], mask=(r[:, None] < n_rows) & (c[None, :] < n_cols)"
    stored = "out + c[:, None] * n_rows + r[None, :], {}, mask=(r[None, :] < n_rows) & (c[:, None] < n_cols)"
    value = "tl.trans(v)"
    if slip == "copied":
        stored, value = (
            "out + r[:, None] * n_cols + c[None, :], {}, mask=(r[:, None] < n_rows) & (c[None, :] < n_cols)",
            "v",
        )
    elif slip == "swapped":
        value = "tl.reshape(v, (W, H))"
    elif shape == "pointers":
        loaded, value = "x + r[None, :] * n_cols + c[:, None], mask=(r[None, :] < n_rows) & (c[:, None] < n_cols)", "v"
    work = [*place, f"v = tl.load({loaded})", f"tl.store({stored.format(value)})"]
    if shape == "persistent":
        tiles = "tl.cdiv(n_rows, H) * tl.cdiv(n_cols, W)"
        work = [nested(f"for k in range(tl.program_id(0), {tiles}, tl.num_programs(0)):", work)]
    return f"""@triton.jit
def body(x, out, n_rows, n_cols, H: tl.constexpr, W: tl.constexpr):
{block(work)}


def kernel(x):
    rows, cols = x.shape
    out = torch.empty((cols, rows), dtype=x.dtype, device=x.device)
    body[{grid}](x, out, rows, cols, H={height}, W={width}, num_warps={knobs["warps"]})
    return out
"""


def _render(knobs: Knobs) -> str:
    body = _elements(knobs) if knobs["shape"] in ("reading", "writing") else _tiles(knobs)
    return source(body, knobs["slip"])


TEMPLATES = (Template("transpose", "triton", _KNOBS, _render, _valid),)
