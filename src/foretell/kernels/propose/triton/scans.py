"""Triton templates of scans along rows other than the plain sum: whole rows, a carry, nested, split; ways; slips."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import MULTIPROCESSORS, block, nested, source


@dataclass(frozen=True)
class ScanOp:
    """One scan: how two neighbours `a` and `b` merge, Triton's own scan and fold of it, and the ways to write it.

    `undo` takes the last item from a prefix again (for the nested shape); `pair` says that the items carry a mark.
    """

    task: str
    merge: str
    neutral: str
    own: str
    fold: str
    forms: tuple[str, ...]
    undo: str = ""
    pair: bool = False


_OPS = (
    ScanOp("exclusive_cumsum", "a + b", "0.0", "cumsum", "tl.sum", ("minus", "shift"), "-"),
    ScanOp("reverse_cumsum", "a + b", "0.0", "cumsum", "tl.sum", ("mirror", "reverse", "rest"), "-"),
    ScanOp("row_cumprod", "a * b", "1.0", "cumprod", "product", ("plain", "logs"), "/"),
    ScanOp("row_cummax", "tl.maximum(a, b).to(a.dtype)", '-float("inf")', "", "tl.max", ("wide", "same")),
    ScanOp("segmented_cumsum", "", "0.0", "", "", ("pair", "product", "places"), pair=True),
)
_KNOBS: dict[str, tuple[Any, ...]] = {
    "shape": ("row", "persistent", "loop", "nested", "split"),
    "rows": (1, 2, 4, 8, 16, 32),
    "block": (1024, 32, 64, 256, 512, 2048),
    "lane": (32, 8, 128),
    "warps": (4, 1, 2, 8, 16),
    "programs": (4, 1, 8),
    "scan": ("own", "merge"),
    "slip": ("none", "undefined", "restart", "axis", "narrow", "same"),
}


def _valid(op: ScanOp, knobs: Knobs) -> bool:
    shape, rows, width, warps, form, slip = (knobs[k] for k in ("shape", "rows", "block", "warps", "form", "slip"))
    looped = shape in ("loop", "split")
    if not looped and width != 1024:
        return False
    if (shape != "nested" and knobs["lane"] != 32) or (shape != "persistent" and knobs["programs"] != 4):
        return False
    if rows > (32 if shape == "loop" else 8) or (rows > 2 * warps and shape != "loop"):
        return False
    if shape == "persistent" and (rows > 2 or warps not in (4, 8)):
        return False
    if shape == "nested" and (not op.undo or rows > 2 or warps not in (4, 8)):
        return False
    if shape == "loop" and (warps == 16 or rows * width not in (256, 1024, 2048) or (width < 256) != (rows > 8)):
        return False
    if shape == "split" and (rows > 2 or width < 256 or warps not in (2, 4, 8)):
        return False
    if knobs["scan"] == "own" and not op.own:
        return False
    if knobs["scan"] == "merge" and op.own and (shape not in ("row", "loop") or warps not in (4, 8)):
        return False
    whole = shape in ("row", "persistent")
    if form in ("rest", "places") and (not whole or (form == "rest" and knobs["scan"] == "merge")):
        return False
    if form in ("reverse", "logs") and shape == "nested":
        return False
    if form in ("shift", "mirror", "logs", "same") and shape == "split" and rows > 1:
        return False
    return slip == "none" or _slips(op, knobs)


def _slips(op: ScanOp, knobs: Knobs) -> bool:
    shape, rows, warps, slip = knobs["shape"], knobs["rows"], knobs["warps"], knobs["slip"]
    scan = knobs["scan"] == ("own" if op.own else "merge")
    if knobs["form"] != op.forms[0] or not scan or warps not in (4, 8) or knobs["programs"] != 4:
        return False
    if slip == "restart":
        return bool(shape in ("loop", "split") and rows == 1 and knobs["block"] == 256)
    if slip == "axis":
        return bool(shape == "row" and rows in (2, 8))
    if slip in ("narrow", "same") and op.pair and (warps != 4 or rows > 1):
        return False
    if slip == "narrow":
        return bool(
            op.task != "row_cummax"
            and warps == 4
            and shape in ("row", "loop")
            and rows * knobs["block"] in (1024, 2048)
        )
    if slip == "same":
        return bool(shape in ("row", "persistent") and rows < 4)
    return bool(rows == 1 and shape in ("row", "loop", "persistent") and knobs["block"] == 1024)


def _scan(op: ScanOp, knobs: Knobs, value: str, axis: int) -> str:
    axis = 1 - axis if knobs["slip"] == "axis" else axis
    back = ", reverse=True" if knobs["form"] == "reverse" else ""
    if knobs["form"] == "logs":
        return f"tl.cumsum({value}, {axis})" if knobs["scan"] == "own" else f"tl.associative_scan({value}, {axis}, add)"
    if knobs["scan"] == "own":
        return f"tl.{op.own}({value}, {axis}{back})"
    return f"tl.associative_scan({value}, {axis}, merge{back})"


def _fold(op: ScanOp, knobs: Knobs, value: str, axis: int = 1) -> str:
    if op.fold == "product":
        return f"tl.sum({value}, {axis})" if knobs["form"] == "logs" else f"tl.reduce({value}, {axis}, merge)"
    return f"{op.fold}({value}, {axis})"


def _joined(op: ScanOp, knobs: Knobs, carry: str, value: str) -> str:
    if knobs["form"] == "logs":
        return f"{carry} + {value}"
    return {"*": f"{carry} * {value}", "m": f"tl.maximum({carry}, {value})"}.get(
        {"row_cumprod": "*", "row_cummax": "m"}.get(op.task, "+"), f"{carry} + {value}"
    )


def _neutral(op: ScanOp, knobs: Knobs) -> str:
    return "0.0" if knobs["form"] == "logs" else op.neutral


def _read(op: ScanOp, knobs: Knobs) -> list[str]:
    """`v` (and `f`) of the items `c` of the rows `r`, and the place `at` of the results."""
    form = knobs["form"]
    at = "r * n_cols + n_cols - 1 - c" if form == "mirror" and knobs["slip"] != "same" else "r * n_cols + c"
    found = [f"at = {at}", "inside = (r < n_rows) & (c < n_cols)"]
    if form == "shift":
        return [*found, "v = tl.load(x + at - 1, mask=inside & (c > 0), other=0.0)"]
    cast = ".to(tl.float32)" if form == "wide" else ""
    found.append(f"v = tl.load(x + at, mask=inside, other={op.neutral}){cast}")
    if form == "logs":
        found.append("v = tl.log(v)")
    if knobs["slip"] == "narrow":
        found.append("v = v.to(tl.float16)")
    if op.pair:
        found.append("f = (tl.load(marks + at, mask=inside, other=1) == 0).to(tl.int32)")
    return found


def _result(op: ScanOp, knobs: Knobs, value: str) -> str:
    form, same = knobs["form"], knobs["slip"] == "same"
    if form == "minus" and not same:
        return f"{value} - v"
    if op.task in ("row_cumprod", "row_cummax") and same:
        return {"row_cumprod": f"{value} - v", "row_cummax": f"tl.minimum({value}, v)"}[op.task]
    return f"tl.exp({value})" if form == "logs" else value


def _work(op: ScanOp, knobs: Knobs, carried: bool) -> list[str]:
    """Scan what was read, join the carry, store, and update the carry."""
    form, slip = knobs["form"], knobs["slip"]
    put = "tl.store(out + at, {}, mask=inside)".format
    joins = carried and slip != "restart"
    if op.pair:
        value = "s" if slip != "same" else "s - v"
        if form == "places":
            return [
                "start = tl.associative_scan(tl.where(f > 0, c, 0), 1, latest)",
                "s = tl.cumsum(v, 1)",
                "s = s - tl.gather(s - v, start, 1)",
                put("s"),
            ]
        axis = 0 if slip == "axis" else 1
        found = [f"g, s = tl.associative_scan((f, v), {axis}, merge)"]
        if joins:
            found.append("s = s + tl.where(g > 0, 0.0, carry)")
        found.append(put(value))
        keep = "carry = tl.sum(tl.where(tl.arange(0, B)[None, :] == B - 1, s, 0.0), 1)[:, None]"
        return [*found, keep] if carried else found
    if form == "rest":
        minus = "" if slip == "same" else " + v"
        return ["s = tl.sum(v, 1)[:, None] - " + _scan(op, knobs, "v", 1) + minus, put("s")]
    if knobs["shape"] == "nested":
        found = [
            "t = tl.reshape(v, (R, B // L, L))",
            f"inner = tl.{op.own}(t, 2)",
            f"ends = {_fold(op, knobs, 't', 2)}",
            f"outer = tl.{op.own}(ends, 1) {op.undo} ends",
            f"s = tl.reshape({_joined(op, knobs, 'inner', 'outer[:, :, None]')}, (R, B))",
        ]
        return [*found, put(_result(op, knobs, "s"))]
    found = [f"s = {_scan(op, knobs, 'v', 1)}"]
    if joins:
        found.append(f"s = {_joined(op, knobs, 'carry', 's')}")
    found.append(put(_result(op, knobs, "s")))
    if carried:
        found.append(f"carry = {_joined(op, knobs, 'carry', _fold(op, knobs, 'v') + '[:, None]')}")
    return found


def _split(op: ScanOp, knobs: Knobs, names: str) -> tuple[str, list[str]]:
    """Totals of the blocks by one kernel, their carries and the results by a second."""
    width, rows, warps = knobs["block"], knobs["rows"], knobs["warps"]
    place = [
        "r = tl.program_id(0) * R + tl.arange(0, R)[:, None]",
        "b = tl.program_id(1)",
        "c = b * B + tl.arange(0, B)[None, :]",
    ]
    earlier = "k > b" if knobs["form"] == "reverse" else "k < b"
    spot, mask = "r * T + {}", "mask=r < n_rows"
    row = "tl.program_id(0) * R + tl.arange(0, R)"
    end = "tl.sum(tl.where(tl.arange(0, B)[None, :] == B - 1, {}, {}), 1)".format
    if op.pair:
        ended = [
            "g, s = tl.associative_scan((f, v), 1, merge)",
            f"tl.store(part + ({row}) * T + b, {end('s', '0.0')}, mask={row} < n_rows)",
            f"tl.store(seen + ({row}) * T + b, {end('g', '0')}, mask={row} < n_rows)",
        ]
        carry = [
            "k = tl.arange(0, T)[None, :]",
            f"u = tl.load(part + r * T + k, mask=(r < n_rows) & ({earlier}), other=0.0)",
            f"w = tl.load(seen + r * T + k, mask=(r < n_rows) & ({earlier}), other=0)",
            "w, u = tl.associative_scan((w, u), 1, merge)",
            "carry = tl.sum(tl.where(k == T - 1, u, 0.0), 1)[:, None]",
        ]
    else:
        ended = [f"tl.store(part + {spot.format('b')}, {_fold(op, knobs, 'v')}[:, None], {mask})"]
        read = f"tl.load(part + r * T + k, mask=(r < n_rows) & ({earlier}), other={_neutral(op, knobs)})"
        carry = ["k = tl.arange(0, T)[None, :]", f"carry = {_fold(op, knobs, read)}[:, None]"]
    parts = "part, seen" if op.pair else "part"
    sizes = "n_rows, n_cols, T: tl.constexpr, R: tl.constexpr, B: tl.constexpr"
    work = [line for line in _work(op, knobs, carried=True) if not line.startswith("carry =")]
    text = f"""@triton.jit
def ends({names}, {parts}, {sizes}):
{block([*place, *_read(op, knobs), *ended])}


@triton.jit
def body({names}, {parts}, out, {sizes}):
{block([*place, *carry, *_read(op, knobs), *work])}


"""
    made = "torch.empty((rows, T), dtype=torch.{}, device=x.device)".format
    options = f"T=T, R={rows}, B={width}, num_warps={warps}"
    launch = [
        f"blocks = triton.cdiv(cols, {width})",
        "T = triton.next_power_of_2(blocks)",
        f"part = {made('float32')}",
        f"seen = {made('int32')}" if op.pair else "",
        f"grid = (triton.cdiv(rows, {rows}), blocks)",
        f"ends[grid]({names}, {parts}, rows, cols, {options})",
        f"body[grid]({names}, {parts}, out, rows, cols, {options})",
    ]
    return text, launch


def _helpers(op: ScanOp, knobs: Knobs) -> str:
    text = ""
    if op.pair and knobs["form"] != "places":
        merged = "tl.where(fb > 0, vb, va + vb)" if knobs["form"] == "pair" else "vb + va * (1 - fb)"
        text = f"def merge(fa, va, fb, vb):\n    return fa | fb, {merged}\n"
    elif op.pair:
        text = "def latest(a, b):\n    return tl.maximum(a, b)\n"
    elif knobs["form"] == "logs":
        text = "def add(a, b):\n    return a + b\n" if knobs["scan"] == "merge" else ""
    elif knobs["scan"] == "merge" or (op.fold == "product" and knobs["shape"] in ("loop", "nested", "split")):
        text = f"def merge(a, b):\n    return {op.merge}\n"
    return f"@triton.jit\n{text}\n\n" if text else ""


def _render(op: ScanOp, knobs: Knobs) -> str:
    shape, rows, warps = knobs["shape"], knobs["rows"], knobs["warps"]
    names = "x, marks" if op.pair else "x"
    launch = ["rows, cols = x.shape", "out = torch.empty_like(x)"]
    if shape == "split":
        text, more = _split(op, knobs, names)
        return source(f"{_helpers(op, knobs)}{text}{_host(names, [*launch, *more])}", knobs["slip"])
    place = "r = tile * R + tl.arange(0, R)[:, None]"
    if shape == "loop":
        first = "tl.cdiv(n_cols, B) * B - B - start" if knobs["form"] == "reverse" else "start"
        step = [f"c = {first} + tl.arange(0, B)[None, :]", *_read(op, knobs), *_work(op, knobs, carried=True)]
        made = f"carry = tl.full((R, 1), {_neutral(op, knobs)}, tl.float32)"
        work = [place, made, nested("for start in range(0, n_cols, B):", step)]
    else:
        work = [place, "c = tl.arange(0, B)[None, :]", *_read(op, knobs), *_work(op, knobs, carried=False)]
    tiles = f"triton.cdiv(rows, {rows})"
    if shape == "persistent":
        head = "for tile in range(tl.program_id(0), tl.cdiv(n_rows, R), tl.num_programs(0)):"
        main, tiles = [nested(head, work)], f"min({MULTIPROCESSORS * knobs['programs']}, {tiles})"
    else:
        main = ["tile = tl.program_id(0)", *work]
    lane = (", L: tl.constexpr", f", L={knobs['lane']}") if shape == "nested" else ("", "")
    width = knobs["block"] if shape == "loop" else "triton.next_power_of_2(cols)"
    launch.append(f"body[({tiles},)](")
    launch.append(f"    {names}, out, rows, cols, R={rows}{lane[1]}, B={width}, num_warps={warps}")
    text = f"""@triton.jit
def body({names}, out, n_rows, n_cols, R: tl.constexpr{lane[0]}, B: tl.constexpr):
{block(main)}


"""
    return source(f"{_helpers(op, knobs)}{text}{_host(names, [*launch, ')'])}", knobs["slip"])


def _host(names: str, launch: list[str]) -> str:
    return f"def kernel({names}):\n{block([*launch, 'return out'])}\n"


TEMPLATES = tuple(
    Template(op.task, "triton", {**_KNOBS, "form": op.forms}, partial(_render, op), partial(_valid, op)) for op in _OPS
)
