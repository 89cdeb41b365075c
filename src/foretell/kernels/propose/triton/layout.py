"""Triton templates of the layout family but the transpose: by places of the output or of the input, in parts; slips."""

from __future__ import annotations

from dataclasses import replace

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import MULTIPROCESSORS, block, nested, source
from foretell.kernels.propose.triton.maps import Load, MapOp
from foretell.kernels.propose.triton.pointwise import point_template

_LIKE_X = "torch.empty_like(x)"


def _made(shape: str, like: str = "x", how: str = "empty") -> str:
    return f"torch.{how}(({shape}), dtype={like}.dtype, device={like}.device)"


def _copy(
    rows: str,
    cols: str,
    place: str,
    to: str,
    out: str = "",
    scalars: tuple[tuple[str, str], ...] = (),
    tensor: str = "x",
) -> MapOp:
    """A map that moves each item from one place to another."""
    return MapOp(
        inputs=(tensor,) if tensor != "kept" else (),
        outputs=(("out", out),) if out else (),
        rows=rows,
        cols=cols,
        lines=(),
        stores=((f"out + {to}", "v"),),
        loads=(Load("v", f"{tensor} + {place}"),),
        scalars=scalars,
    )


def _permute_0213(knobs: Knobs) -> tuple[MapOp, ...]:
    form, slip = knobs["form"], knobs["slip"]
    batch, seq, heads, dim = (f"x.shape[{axis}]" for axis in range(4))
    out = _made(f"{batch}, {heads}, {seq}, {dim}")
    scalars = (("seq", seq), ("heads", heads), ("dim", dim))
    rows = f"{batch} * {seq} * {heads}"
    if form == "scatter":
        to = "((r // (seq * heads) * heads + r % heads) * seq + r // heads % seq) * n_cols + c"
        return (_copy(rows, dim, "i", to, out, scalars),)
    if form == "tokens":
        to = "((r // seq * heads + c // dim) * seq + r % seq) * dim + c % dim"
        return (_copy(f"{batch} * {seq}", f"{heads} * {dim}", "i", to, out, scalars),)
    if form == "heads":
        place = "((r // heads * seq + c // dim) * heads + r % heads) * dim + c % dim"
        return (_copy(f"{batch} * {heads}", f"{seq} * {dim}", place, "i", out, scalars),)
    place = "((r // (heads * seq) * seq + r % seq) * heads + r // seq % heads) * n_cols + c"
    if slip == "mixed":
        place = "((r // (heads * seq) * seq + r % heads) * heads + r // heads % seq) * n_cols + c"
    return (_copy(rows, dim, "i" if slip == "copied" else place, "i", out, scalars),)


def _concat_columns(knobs: Knobs) -> tuple[MapOp, ...]:
    form, slip = knobs["form"], knobs["slip"]
    left, right = "a.shape[1]", "b.shape[1]"
    out = _made(f"a.shape[0], {left} + {right}", "a")
    scalars = (("left", left), ("wide", f"{left} + {right}"))
    if form == "parts":
        first = _copy("a.shape[0]", left, "i", "r * wide + c", out, scalars, "a")
        return first, _copy("b.shape[0]", right, "i", "r * wide + left + c", "", scalars, "b")
    stride = "left" if slip == "stride" else "(n_cols - left)"
    loads = [
        Load("u", "a + r * left + c", where="(c < left)"),
        Load("w", f"b + r * {stride} + c - left", where="(c >= left)"),
    ]
    value = {"sum": "u + w"}.get(form, "tl.where(c < left, u, w)")
    if slip == "swapped":
        value = "tl.where(c < left, w, u)"
    if form == "clamped":
        loads = [
            Load("u", "a + r * left + tl.minimum(c, left - 1)"),
            Load("w", "b + r * (n_cols - left) + tl.maximum(c - left, 0)"),
        ]
    op = MapOp(("a", "b"), (("out", out),), "a.shape[0]", f"{left} + {right}", (), (("out + i", value),), tuple(loads))
    return (replace(op, scalars=scalars),)


def _joined(knobs: Knobs) -> str:
    """The mask of interleaved items."""
    by, count = ("c", "n_cols") if knobs["shape"] == "row" else ("i", "n")
    return f"inside = tl.interleave({by}, {by}) < {count}"


def _interleave(knobs: Knobs) -> tuple[MapOp, ...]:
    form, slip = knobs["form"], knobs["slip"]
    out = (("out", _made("a.shape[0], 2 * a.shape[1]", "a")),)
    if form in ("scatter", "join"):
        loads = (Load("u", "a + i"), Load("w", "b + i"))
        lines: tuple[str, ...] = ()
        stores: tuple[tuple[str, str], ...] = (("out + 2 * i", "u"), ("out + 2 * i + 1", "w"))
        if form == "join":
            lines = (_joined(knobs), "j = tl.interleave(2 * i, 2 * i + 1)")
            stores = (("out + j", "tl.interleave(u, w)"),)
        return (MapOp(("a", "b"), out, "a.shape[0]", "a.shape[1]", lines, stores, loads),)
    even, place = "(c % 2 == 0)", "i // 2"
    if slip == "beside":
        even, place = "(c < n_cols // 2)", "r * (n_cols // 2) + c % (n_cols // 2)"
    loads = (Load("u", f"a + {place}", where=even), Load("w", f"b + {place}", where=f"({even} == 0)"))
    if form == "whole":
        loads = (Load("u", f"a + {place}"), Load("w", f"b + {place}"))
    value = "u + w" if form == "sum" else f"tl.where({even[1:-1]}, u, w)"
    if slip == "swapped":
        value = "tl.where(c % 2 == 0, w, u)"
    return (MapOp(("a", "b"), out, "a.shape[0]", "2 * a.shape[1]", (), (("out + i", value),), loads),)


def _flip_columns(knobs: Knobs) -> tuple[MapOp, ...]:
    form, slip = knobs["form"], knobs["slip"]
    rows, cols = "x.shape[0]", "x.shape[1]"
    place = "r * n_cols + n_cols - 1 - c"
    if slip == "offset":
        place = "r * n_cols + (n_cols - c) % n_cols"
    elif slip == "rows":
        place = "(n_rows - 1 - r) * n_cols + c"
    if form == "scatter":
        return (_copy(rows, cols, "i", place, _LIKE_X),)
    if form == "staged":
        kept = replace(_copy(rows, cols, "i", "i"), outputs=(("kept", _LIKE_X),), stores=(("kept + i", "v"),))
        return kept, _copy(rows, cols, place, "i", _LIKE_X, tensor="kept")
    if form == "pairs":
        near, far = "r * full + c", "r * full + full - 1 - c"
        op = _copy(rows, f"({cols} + 1) // 2", near, far, _LIKE_X, (("full", cols),))
        loads = (*op.loads, Load("w", f"x + {far}"))
        return (replace(op, loads=loads, stores=(*op.stores, (f"out + {near}", "w"))),)
    return (_copy(rows, cols, place, "i", _LIKE_X),)


def _pad_2d(knobs: Knobs) -> tuple[MapOp, ...]:
    form, slip = knobs["form"], knobs["slip"]
    images, height, width = (f"x.shape[{axis}]" for axis in range(3))
    shape = f"{images}, {height} + 8, {width} + 8"
    high, wide = f"{images} * ({height} + 8)", f"{width} + 8"
    scalars = (("height", height),)
    inner = "(r // height * (height + 8) + r % height + 4) * (n_cols + 8) + c + 4"
    if form == "scatter":
        return (_copy(f"{images} * {height}", width, "i", inner, _made(shape, how="zeros"), scalars),)
    if form == "filled":
        fill = MapOp((), (("out", _made(shape)),), high, wide, (), (("out + i", "0.0"),))
        return fill, _copy(f"{images} * {height}", width, "i", inner, "", scalars)
    where = "(y >= 0) & (y < height) & (z >= 0) & (z < n_cols - 8)"
    before = ["y = r % (height + 8) - 4", f"z = c - {3 if slip == 'offset' else 4}"]
    value = "v"
    if form == "clamped" or slip == "edge":
        before += [f"near = {where}"] if slip != "edge" else []
        before += ["y = tl.minimum(tl.maximum(y, 0), height - 1)", "z = tl.minimum(tl.maximum(z, 0), n_cols - 9)"]
        where, value = "", "v" if slip == "edge" else "tl.where(near, v, 0.0)"
    place = "(r // (height + 8) * height + y) * (n_cols - 8) + z"
    op = _copy(high, wide, place, "i", _made(shape), scalars)
    load = replace(op.loads[0], where=where)
    return (replace(op, loads=(load,), before=tuple(before), stores=(("out + i", value),)),)


def _roll_rows(knobs: Knobs) -> tuple[MapOp, ...]:
    form, slip = knobs["form"], knobs["slip"]
    rows, cols = "x.shape[0]", "x.shape[1]"
    full = (("full", cols),)
    if form == "scatter":
        return (_copy(rows, cols, "i", "r * n_cols + (c + 5) % n_cols", _LIKE_X),)
    if form == "parts":
        first = _copy(rows, f"{cols} - 5", "r * full + c", "r * full + c + 5", _LIKE_X, full)
        return first, _copy(rows, "5", "r * full + full - 5 + c", "r * full + c", "", full)
    place = "r * n_cols + (c + n_cols - 5) % n_cols"
    if form == "where":
        place = "i + tl.where(c < 5, n_cols - 5, -5)"
    elif slip == "left":
        place = "r * n_cols + (c + 5) % n_cols"
    elif slip == "flat":
        place = "(i + n - 5) % n"
    return (_copy(rows, cols, place, "i", _LIKE_X),)


def _upsample(knobs: Knobs) -> tuple[MapOp, ...]:
    form, slip = knobs["form"], knobs["slip"]
    images, height, width = (f"x.shape[{axis}]" for axis in range(3))
    out = _made(f"{images}, 2 * {height}, 2 * {width}")
    rows = f"{images} * {height}"
    if form in ("scatter", "join"):
        op = _copy(rows, width, "i", "j", out)
        corner = "j = 4 * r * n_cols + 2 * c"
        if form == "join":
            lines = (_joined(knobs), corner, "j = tl.interleave(j, j + 1)", "v = tl.interleave(v, v)")
            return (replace(op, lines=lines, stores=(("out + j", "v"), ("out + j + 2 * n_cols", "v"))),)
        places = ("j", "j + 1", "j + 2 * n_cols", "j + 2 * n_cols + 1")
        return (replace(op, lines=(corner,), stores=tuple((f"out + {place}", "v") for place in places)),)
    if form == "lines":
        op = _copy(rows, f"2 * {width}", "r * (n_cols // 2) + c // 2", "2 * r * n_cols + c", out)
        return (replace(op, stores=(*op.stores, ("out + 2 * r * n_cols + n_cols + c", "v"))),)
    row = "r % (n_rows // 2)" if slip == "rows" else "r // 2"
    col = "c % (n_cols // 2)" if slip == "tiled" else "c // 2"
    return (_copy(f"{rows} * 2", f"2 * {width}", f"{row} * (n_cols // 2) + {col}", "i", out),)


_TRANSPOSED = {
    "shape": ("tile", "pointers", "persistent", "strip", "reading", "writing"),
    "height": (32, 8, 16, 64, 128, 256),
    "width": (32, 8, 16, 64, 128, 256),
    "warps": (4, 2, 8),
    "order": ("rows", "cols", "folded"),
    "programs": (8, 2),
    "slip": ("none", "undefined", "copied", "floor", "swapped", "batch"),
}


def _transposed_valid(knobs: Knobs) -> bool:
    shape, height, width, warps = knobs["shape"], knobs["height"], knobs["width"], knobs["warps"]
    order, area = knobs["order"], height * width
    if shape != "persistent" and knobs["programs"] != 8:
        return False
    if shape in ("reading", "writing"):
        if height != 32 or width == 256 or order != "rows":
            return False
    elif 256 in (height, width):
        if height != width or warps == 2 or shape not in ("tile", "pointers") or order != "rows":
            return False
    elif not 512 <= area <= 8192 or (area > 4096 and warps != 8):
        return False
    if shape in ("pointers", "persistent", "strip") and (warps == 2 or 8 in (height, width)):
        return False
    if order != "rows" and (warps != 4 or shape not in ("tile", "pointers")):
        return False
    if shape in ("persistent", "strip") and (warps != 4 or 16 in (height, width)):
        return False
    if knobs["slip"] == "none":
        return True
    usual = warps == 4 and height == 32 and width in (32, 64) and order == "rows" and knobs["programs"] == 8
    places = {"tile": _TRANSPOSED["slip"], "pointers": ("undefined", "floor", "batch"), "strip": ("undefined", "batch")}
    return bool(usual and knobs["slip"] in places.get(shape, ("undefined",)))


def _transposed_items(knobs: Knobs) -> str:
    slip, width = knobs["slip"], 32 * knobs["width"]
    there = "b * n_rows * n_cols + c * n_rows + r"
    if knobs["shape"] == "writing":
        place, taken, given = (
            ("r = i % n_rows", "c = i // n_rows % n_cols"),
            "b * n_rows * n_cols + r * n_cols + c",
            "i",
        )
    else:
        place, taken, given = ("r = i // n_cols % n_rows", "c = i % n_cols"), "i", there
    main = [
        "i = tl.program_id(0) * B + tl.arange(0, B)",
        "b = i // (n_rows * n_cols)",
        *place,
        f"v = tl.load(x + {taken}, mask=i < n)",
        f"tl.store(out + {given}, v, mask=i < n)",
    ]
    body = f"""@triton.jit
def body(x, out, n, n_rows, n_cols, B: tl.constexpr):
{block(main)}


def kernel(x):
    batch, rows, cols = x.shape
    out = torch.empty((batch, cols, rows), dtype=x.dtype, device=x.device)
    n = batch * rows * cols
    body[(triton.cdiv(n, {width}),)](x, out, n, rows, cols, B={width}, num_warps={knobs["warps"]})
    return out
"""
    return source(body, slip)


def _transposed_tiles(knobs: Knobs) -> str:
    shape, slip, height, width = knobs["shape"], knobs["slip"], knobs["height"], knobs["width"]
    high, wide = f"triton.cdiv(rows, {height})", f"triton.cdiv(cols, {width})"
    if slip == "floor":
        high = f"rows // {height}"
    rows, cols, batch, grid = "tl.program_id(0)", "tl.program_id(1)", "tl.program_id(2)", f"({high}, {wide}, batch)"
    before: list[str] = []
    if knobs["order"] == "cols":
        rows, cols, grid = cols, rows, f"({wide}, {high}, batch)"
    if shape == "strip":
        batch, grid = "tl.program_id(1)", f"({high}, batch)"
    folded = shape == "persistent" or knobs["order"] == "folded"
    if folded:
        before = ["high = tl.cdiv(n_rows, H)", "wide = tl.cdiv(n_cols, W)"]
        rows, cols, batch = "k // wide % high", "k % wide", "k // (high * wide)"
        grid = f"({high} * {wide} * batch,)" if shape != "persistent" else f"({MULTIPROCESSORS * knobs['programs']},)"
    start = "start" if shape == "strip" else f"{cols} * W"
    near = [f"r = {rows} * H + tl.arange(0, H)", f"c = {start} + tl.arange(0, W)"]
    taken = "r[:, None] * n_cols + c[None, :], mask=(r[:, None] < n_rows) & (c[None, :] < n_cols)"
    given = "c[:, None] * n_rows + r[None, :], {}, mask=(r[None, :] < n_rows) & (c[:, None] < n_cols)"
    value = "tl.trans(v)"
    if slip == "copied":
        given, value = taken.replace(", mask", ", {}, mask"), "v"
    elif slip == "swapped":
        value = "tl.reshape(v, (W, H))"
    elif shape == "pointers":
        taken, value = "r[None, :] * n_cols + c[:, None], mask=(r[None, :] < n_rows) & (c[:, None] < n_cols)", "v"
    base = f"base = {batch} * n_rows * n_cols"
    to = "out" if slip == "batch" else "out + base"
    move = [f"v = tl.load(x + base + {taken})", f"tl.store({to} + {given.format(value)})"]
    if shape == "strip":
        work = [base, near[0], nested("for start in range(0, n_cols, W):", [near[1], *move])]
    elif shape == "persistent":
        tiles = "range(tl.program_id(0), high * wide * n_batch, tl.num_programs(0))"
        work = [*before, nested(f"for k in {tiles}:", [base, *near, *move])]
    else:
        work = [*before, *(["k = tl.program_id(0)"] if folded else []), base, *near, *move]
    count = ("n_batch, ", "batch, ") if shape == "persistent" else ("", "")
    body = f"""@triton.jit
def body(x, out, {count[0]}n_rows, n_cols, H: tl.constexpr, W: tl.constexpr):
{block(work)}


def kernel(x):
    batch, rows, cols = x.shape
    out = torch.empty((batch, cols, rows), dtype=x.dtype, device=x.device)
    body[{grid}](x, out, {count[1]}rows, cols, H={height}, W={width}, num_warps={knobs["warps"]})
    return out
"""
    return source(body, slip)


def _permute_021(knobs: Knobs) -> str:
    return _transposed_items(knobs) if knobs["shape"] in ("reading", "writing") else _transposed_tiles(knobs)


TEMPLATES = (
    Template("permute_021", "triton", _TRANSPOSED, _permute_021, _transposed_valid),
    point_template("permute_0213", ("x",), _permute_0213, ("scatter", "tokens", "heads"), ("copied", "mixed")),
    point_template("concat_columns", ("a", "b"), _concat_columns, ("sum", "clamped", "parts"), ("stride", "swapped")),
    point_template("interleave", ("a", "b"), _interleave, ("sum", "whole", "scatter", "join"), ("beside", "swapped")),
    point_template("flip_columns", ("x",), _flip_columns, ("scatter", "staged", "pairs"), ("offset", "rows")),
    point_template("pad_2d", ("x",), _pad_2d, ("clamped", "scatter", "filled"), ("offset", "edge")),
    point_template("roll_rows", ("x",), _roll_rows, ("where", "scatter", "parts"), ("left", "flat")),
    point_template("upsample_nearest_2d", ("x",), _upsample, ("lines", "scatter", "join"), ("rows", "tiled")),
)
