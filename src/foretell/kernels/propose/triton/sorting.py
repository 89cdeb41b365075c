"""Triton templates of order in rows: networks, rounds of maxima, ranks, bisection of keys, counts; slips."""

from __future__ import annotations

from typing import Any

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import MULTIPROCESSORS, block, nested, source

_LOWEST = '-float("inf")'
_ROWS = "r = tile * R + tl.arange(0, R)[:, None]"


def _module(
    knobs: Knobs,
    work: list[str],
    made: str,
    width: str,
    rows: int,
    helper: str = "",
    extra: dict[str, Any] | None = None,
) -> str:
    """The kernel over tiles of rows (`tile`, `n_rows`, `n_cols`, B columns), one program a tile or some in turn."""
    tiles = f"triton.cdiv(rows, {rows})" if rows > 1 else "rows"
    limit = "tl.cdiv(n_rows, R)" if rows > 1 else "n_rows"
    if knobs["programs"]:
        main = [nested(f"for tile in range(tl.program_id(0), {limit}, tl.num_programs(0)):", work)]
        tiles = f"min({MULTIPROCESSORS * knobs['programs']}, {tiles})"
    else:
        main = ["tile = tl.program_id(0)", *work]
    given = {**({"R": rows} if rows > 1 else {}), **(extra or {}), "B": width}
    text = f"""{helper}@triton.jit
def body(x, out, n_rows, n_cols, {", ".join(f"{name}: tl.constexpr" for name in given)}):
{block(main)}


"""
    options = ", ".join(f"{name}={value}" for name, value in given.items())
    launch = [
        "rows, cols = x.shape",
        f"out = {made}",
        f"body[({tiles},)](x, out, rows, cols, {options}, num_warps={knobs['warps']})",
        "return out",
    ]
    return source(f"{text}def kernel(x):\n{block(launch)}\n", knobs["slip"])


def _tile(rows: int, start: str = "", other: str = _LOWEST, slip: str = "none") -> list[str]:
    if rows == 1:
        place = ["r = tile", f"c = {start}tl.arange(0, B)", "inside = c < n_cols"]
    else:
        place = [_ROWS, f"c = {start}tl.arange(0, B)[None, :]", "inside = (r < n_rows) & (c < n_cols)"]
    mask = "r < n_rows" if slip == "unmasked" else "inside"
    return [*place, f"v = tl.load(x + r * n_cols + c, mask={mask}, other={other})"]


_TOP: dict[str, tuple[Any, ...]] = {
    "shape": ("rounds", "network", "loop", "split"),
    "way": ("rounds", "network"),
    "rows": (1, 2, 4, 8, 16),
    "block": (512, 64, 128, 256, 1024),
    "warps": (4, 1, 2, 8),
    "programs": (0, 4, 8, 2, 16),
    "form": ("plain", "unrolled"),
    "slip": ("none", "undefined", "unmasked", "ascending", "short"),
}
_MERGED = "tl.topk(tl.reshape(tl.join(best, some), (R, 16)), 8)"


def _top_valid(knobs: Knobs) -> bool:
    shape, rows, width, warps, slip = (knobs[k] for k in ("shape", "rows", "block", "warps", "slip"))
    whole = shape in ("rounds", "network")
    if whole and (width != 512 or knobs["way"] != "rounds" or rows == 1 or rows > 2 * warps):
        return False
    if whole and rows > 8:
        return False
    if not whole and (knobs["programs"] or rows == 1 or rows * width not in (1024, 2048, 4096) or warps == 8):
        return False
    if shape == "split" and (width < 256 or (knobs["way"] == "network" and width > 512)):
        return False
    if knobs["programs"] and (not whole or warps not in (4, 8) or rows > 4):
        return False
    if knobs["form"] != "plain" and (shape == "network" or knobs["way"] == "network" or slip != "none"):
        return False
    if knobs["form"] != "plain" and (knobs["programs"] or warps == 1):
        return False
    if slip == "none":
        return True
    if (slip == "ascending" and shape != "network") or (slip == "short" and shape != "rounds"):
        return False
    usual = rows == 4 and not knobs["programs"] and width in (512, 256) and warps in (2, 4)
    return bool(usual and knobs["way"] == "rounds" and shape != "split")


def _rounds(target: str, form: str, slip: str = "none") -> list[str]:
    """Eight times the largest item left, put into lane k of `target` (R, 8)."""
    step = [
        "top, at = tl.max(v, 1, return_indices=True)",
        f"{target} = tl.where(k8 == k, top[:, None], {target})",
        f"v = tl.where(lane == at[:, None], {_LOWEST}, v)",
    ]
    over = "range" if form == "plain" else "tl.static_range"
    head = f"for k in {over}({7 if slip == 'short' else 8}):"
    return ["lane = tl.arange(0, B)[None, :]", f"{target} = tl.full((R, 8), {_LOWEST}, tl.float32)", nested(head, step)]


def _topk(knobs: Knobs) -> str:
    shape, rows, width, slip = knobs["shape"], knobs["rows"], knobs["block"], knobs["slip"]
    eight = "k8 = tl.arange(0, 8)[None, :]"
    put = "tl.store(out + r * 8 + k8, best, mask=r < n_rows)"
    made = "torch.empty((rows, 8), dtype=x.dtype, device=x.device)"
    whole = "triton.next_power_of_2(cols)"
    if shape == "rounds":
        work = [*_tile(rows, slip=slip), eight, *_rounds("best", knobs["form"], slip), put]
    elif shape == "network":
        sign = "-tl.topk(-v, 8)" if slip == "ascending" else "tl.topk(v, 8)"
        work = [*_tile(rows, slip=slip), eight, f"best = {sign}", put]
    else:
        some = _rounds("some", knobs["form"]) if knobs["way"] == "rounds" else ["some = tl.topk(v, 8)"]
        if shape == "loop":
            step = [*_tile(rows, "start + ", slip=slip), *some, f"best = {_MERGED}"]
            work = [_ROWS, eight, f"best = tl.full((R, 8), {_LOWEST}, tl.float32)"]
            work += [nested("for start in range(0, n_cols, B):", step), put]
        else:
            return _topk_split(knobs, some)
    return _module(knobs, work, made, whole if shape != "loop" else str(width), rows)


def _topk_split(knobs: Knobs, some: list[str]) -> str:
    rows, width = knobs["rows"], knobs["block"]
    first = [
        "tile = tl.program_id(0)",
        "b = tl.program_id(1)",
        "k8 = tl.arange(0, 8)[None, :]",
        *_tile(rows, "b * B + "),
        *some,
        "tl.store(part + r * n_parts * 8 + b * 8 + k8, some, mask=r < n_rows)",
    ]
    second = [
        "tile = tl.program_id(0)",
        "k8 = tl.arange(0, 8)[None, :]",
        _ROWS,
        "c = tl.arange(0, P)[None, :]",
        f"v = tl.load(part + r * n_parts * 8 + c, mask=(r < n_rows) & (c < n_parts * 8), other={_LOWEST})",
        "best = tl.topk(v, 8)",
        "tl.store(out + r * 8 + k8, best, mask=r < n_rows)",
    ]
    text = f"""@triton.jit
def body(x, part, n_rows, n_cols, n_parts, R: tl.constexpr, B: tl.constexpr):
{block(first)}


@triton.jit
def join(part, out, n_rows, n_parts, R: tl.constexpr, P: tl.constexpr):
{block(second)}


def kernel(x):
    rows, cols = x.shape
    parts = triton.cdiv(cols, {width})
    part = torch.empty((rows, parts, 8), dtype=x.dtype, device=x.device)
    out = torch.empty((rows, 8), dtype=x.dtype, device=x.device)
    tiles = triton.cdiv(rows, {rows})
    body[(tiles, parts)](x, part, rows, cols, parts, R={rows}, B={width}, num_warps={knobs["warps"]})
    many = max(16, triton.next_power_of_2(parts * 8))
    join[(tiles,)](part, out, rows, parts, R={rows}, P=many, num_warps={knobs["warps"]})
    return out
"""
    return source(text, knobs["slip"])


_SORT: dict[str, tuple[Any, ...]] = {
    "shape": ("network", "rank"),
    "form": ("plain", "keys", "mirror"),
    "rows": (1, 2, 4, 8, 16, 32),
    "block": (128, 32, 64, 256, 512),
    "chunk": (32, 8, 16, 64, 128),
    "warps": (4, 1, 2, 8, 16),
    "programs": (0, 4, 8),
    "slip": ("none", "undefined", "zero", "ties", "descending", "narrow"),
}
_ORDER = """@triton.jit
def order(b):
    return b ^ ((b >> 31) & 0x7FFFFFFF)


"""


def _sort_valid(knobs: Knobs) -> bool:
    shape, rows, warps, slip = knobs["shape"], knobs["rows"], knobs["warps"], knobs["slip"]
    if shape == "network":
        if knobs["block"] != 128 or knobs["chunk"] != 32 or slip == "ties" or rows > 2 * warps or warps > 2 * rows + 6:
            return False
        if knobs["programs"] and (warps not in (4, 8) or rows > 8):
            return False
        if slip == "none":
            return True
        return bool(knobs["form"] == "plain" and rows in (1, 4) and warps in (4, 8) and not knobs["programs"])
    if (
        rows > 1
        or knobs["programs"]
        or knobs["form"] == "mirror"
        or warps > 8
        or slip in ("descending", "narrow", "zero")
    ):
        return False
    if knobs["block"] * knobs["chunk"] > 16384 or knobs["block"] * knobs["chunk"] < 32 * warps * 8:
        return False
    if knobs["form"] == "keys" and (warps != 4 or knobs["block"] == 64):
        return False
    return slip == "none" or bool(knobs["form"] == "plain" and warps == 4 and knobs["block"] == 128)


def _sort(knobs: Knobs) -> str:
    form, rows, slip = knobs["form"], knobs["rows"], knobs["slip"]
    helper = _ORDER if form == "keys" else ""
    made = "torch.empty_like(x)"
    if knobs["shape"] == "rank":
        return _rank(knobs, helper)
    high = 'float("inf")'
    other = "0.0" if slip == "zero" else (_LOWEST if form == "mirror" else high)
    value = "v"
    if form == "keys":
        value = "order(v.to(tl.int32, bitcast=True))"
    if slip == "narrow":
        value = "v.to(tl.float16)"
    down = ", descending=True" if (form == "mirror") != (slip == "descending") else ""
    found = f"s = tl.sort({value}{down})"
    if rows == 1:
        found = f"s = tl.sort({value}, 0{down})"
    done = "order(s).to(tl.float32, bitcast=True)" if form == "keys" else "s"
    at = "r * n_cols + n_cols - 1 - c" if form == "mirror" else "r * n_cols + c"
    work = [*_tile(rows, other=other), found, f"tl.store(out + {at}, {done}, mask=inside)"]
    return _module(knobs, work, made, "triton.next_power_of_2(cols)", rows, helper)


def _rank(knobs: Knobs, helper: str) -> str:
    keyed = knobs["form"] == "keys"
    key = "order({}.to(tl.int32, bitcast=True))".format if keyed else "{}".format
    earlier = "" if knobs["slip"] == "ties" else " | ((w[None, :] == u[:, None]) & (d[None, :] < c[:, None]))"
    step = [
        "d = start + tl.arange(0, C)",
        "w = " + key('tl.load(x + r * n_cols + d, mask=d < n_cols, other=float("inf"))'),
        f"less = (w[None, :] < u[:, None]){earlier}",
        "rank += tl.sum((less & (d < n_cols)[None, :]).to(tl.int32), 1)",
    ]
    main = [
        "r = tl.program_id(0)",
        "c = tl.program_id(1) * B + tl.arange(0, B)",
        "v = tl.load(x + r * n_cols + c, mask=c < n_cols, other=0.0)",
        f"u = {key('v')}",
        "rank = tl.zeros((B,), tl.int32)",
        nested("for start in range(0, n_cols, C):", step),
        "tl.store(out + r * n_cols + rank, v, mask=c < n_cols)",
    ]
    text = f"""{helper}@triton.jit
def body(x, out, n_cols, B: tl.constexpr, C: tl.constexpr):
{block(main)}


def kernel(x):
    rows, cols = x.shape
    out = torch.zeros_like(x)
    grid = (rows, triton.cdiv(cols, {knobs["block"]}))
    body[grid](x, out, cols, B={knobs["block"]}, C={knobs["chunk"]}, num_warps={knobs["warps"]})
    return out
"""
    return source(text, knobs["slip"])


_MEDIAN: dict[str, tuple[Any, ...]] = {
    "shape": ("bisect", "network", "counts", "reread"),
    "form": ("plain", "unrolled"),
    "rows": (1, 2, 4, 8, 16),
    "block": (1024, 128, 256, 512, 2048),
    "warps": (4, 1, 2, 8, 16),
    "programs": (0, 4, 8, 16),
    "slip": ("none", "undefined", "place", "signs", "unmasked", "bits"),
}


def _median_valid(knobs: Knobs) -> bool:
    shape, rows, warps, slip = knobs["shape"], knobs["rows"], knobs["warps"], knobs["slip"]
    if shape == "reread":
        if knobs["programs"] or warps == 16 or rows * knobs["block"] not in (1024, 2048, 4096):
            return False
    elif knobs["block"] != 1024 or rows > 2 * warps or rows > 8:
        return False
    if shape == "counts" and (rows > 1 or knobs["form"] != "plain"):
        return False
    if shape == "network" and (knobs["form"] != "plain" or rows > 4 or warps == 1):
        return False
    if shape == "reread" and rows == 1 and knobs["block"] == 2048 and warps == 1:
        return False
    if knobs["programs"] and (rows > 2 or warps not in (4, 8) or shape == "network"):
        return False
    if slip == "none":
        return True
    if slip in ("signs", "bits") and shape == "network":
        return False
    usual = rows in (1, 4) and not knobs["programs"] and warps == 4 and knobs["form"] == "plain"
    return bool(usual and (shape != "reread" or knobs["block"] == 1024))


def _keys(slip: str) -> list[str]:
    """Sixteen bits of `v` as integers `u` in the order of the values; those outside come last."""
    turned = "b ^ 0x8000" if slip == "signs" else "tl.where(b >= 0x8000, 0xFFFF - b, b + 0x8000)"
    last = "" if slip == "unmasked" else "u = tl.where(inside, u, 0x10000)"
    return ["b = v.to(tl.int16, bitcast=True).to(tl.int32) & 0xFFFF", f"u = {turned}", last]


def _median(knobs: Knobs) -> str:
    shape, rows, slip = knobs["shape"], knobs["rows"], knobs["slip"]
    made = "torch.empty(rows, dtype=x.dtype, device=x.device)"
    middle = "n_cols // 2" if slip == "place" else "(n_cols - 1) // 2"
    wide = rows > 1
    width, axis, keep = "triton.next_power_of_2(cols)", int(wide), "[:, None]" if wide else ""
    decode = ["b = tl.where(found >= 0x8000, found - 0x8000, 0xFFFF - found)"]
    decode.append(
        "tl.store(out + r, b.to(tl.int16).to(tl.float16, bitcast=True)" + (", mask=r < n_rows)" if wide else ")")
    )
    over = "range" if knobs["form"] == "plain" else "tl.static_range"
    head = f"for bit in {over}({8 if slip == 'bits' else 16}):"
    empty = "found = tl.zeros((R, 1), tl.int32)" if wide else "found = 0"
    trial, taken = "trial = found | (0x8000 >> bit)", f"found = tl.where(below <= {middle}, trial, found)"
    if shape == "network":
        work = _tile(rows, other="0.0" if slip == "unmasked" else 'float("inf")')
        pick = f"tl.sum(tl.where(c == {middle}, s, 0.0), {axis}){keep}"
        store = "tl.store(out + r, m.to(tl.float16)" + (", mask=r < n_rows)" if wide else ")")
        work += ["s = tl.sort(v)" if wide else "s = tl.sort(v, 0)", f"m = {pick}", store]
    elif shape == "counts":
        high = "h = tl.histogram(tl.where(inside, u >> 8, 0), 256, mask=inside)"
        low = "h = tl.histogram(tl.where(inside, u & 255, 0), 256, mask=inside & ((u >> 8) == top))"
        if slip == "unmasked":
            high, low = "h = tl.histogram(u >> 8, 256)", "h = tl.histogram(u & 255, 256, mask=(u >> 8) == top)"
        work = [
            *_tile(1, other="0.0"),
            *_keys(slip),
            "k = tl.arange(0, 256)",
            high,
            "upto = tl.cumsum(h, 0)",
            f"top = tl.sum((upto <= {middle}).to(tl.int32), 0)",
            f"left = {middle} - tl.sum(tl.where(k < top, h, 0), 0)",
            low,
            "upto = tl.cumsum(h, 0)",
            "found = top * 256" if slip == "bits" else "found = top * 256 + tl.sum((upto <= left).to(tl.int32), 0)",
            *decode,
        ]
    elif shape == "bisect":
        count = f"below = tl.sum((u < trial).to(tl.int32), {axis}){keep}"
        work = [*_tile(rows, other="0.0"), *_keys(slip), empty, nested(head, [trial, count, taken]), *decode]
    else:
        width = str(knobs["block"])
        inner = [
            *_tile(rows, "start + ", "0.0"),
            *_keys(slip),
            f"below += tl.sum((u < trial).to(tl.int32), {axis}){keep}",
        ]
        zero = "below = tl.zeros((R, 1), tl.int32)" if wide else "below = 0"
        step = [trial, zero, nested("for start in range(0, n_cols, B):", inner), taken]
        work = [_ROWS if wide else "r = tile", empty, nested(head, step), *decode]
    return _module(knobs, work, made, width, rows)


_COUNTS: dict[str, tuple[Any, ...]] = {
    "shape": ("whole", "loop", "compare", "each", "split"),
    "block": (1024, 64, 128, 256, 512, 2048),
    "rows": (1, 2, 4, 8),
    "warps": (4, 1, 2, 8),
    "programs": (0, 2, 4, 8, 16),
    "slip": ("none", "undefined", "unmasked", "empty", "bins", "last"),
}


def _counts_valid(knobs: Knobs) -> bool:
    shape, width, warps, slip = knobs["shape"], knobs["block"], knobs["warps"], knobs["slip"]
    rows, programs = knobs["rows"], knobs["programs"]
    if shape == "whole" and width != 1024:
        return False
    if shape == "compare" and (width > 256 or (width == 256 and warps < 4) or rows > 2):
        return False
    if shape != "compare" and width < 256:
        return False
    if shape in ("each", "split") and (programs or rows > 2):
        return False
    if rows > 1 and (programs or slip != "none" or warps not in (2, 4, 8) or (shape == "split" and warps == 8)):
        return False
    if programs and (warps not in (2, 4) or (shape == "loop" and width > 1024)):
        return False
    if slip == "none":
        return True
    if slip == "empty" and shape not in ("each", "split"):
        return False
    if slip in ("last", "bins") and shape == "each":
        return False
    if slip == "last" and shape not in ("loop", "compare"):
        return False
    return bool(warps == 4 and not programs and width in (1024, 128))


def _bincount(knobs: Knobs) -> str:
    shape, width, rows, slip = knobs["shape"], knobs["block"], knobs["rows"], knobs["slip"]
    known = "" if slip == "unmasked" else ", mask=inside"
    bins = "b = tl.arange(0, 64)"
    read = ["inside = c < n_cols", "v = tl.load(x + r * n_cols + c, mask=inside, other=0)"]
    value = "v // 2" if slip == "bins" else "v"
    count = f"tl.histogram({value}, 64{known})"
    if shape == "compare":
        same = f"({value})[:, None] == b[None, :]" if slip == "bins" else "v[:, None] == b[None, :]"
        match = f"({same})" if slip == "unmasked" else f"({same}) & inside[:, None]"
        count = f"tl.sum(({match}).to(tl.int32), 0)"
    size = str(width)
    if shape == "whole":
        size = "triton.next_power_of_2(cols)"
        work = ["c = tl.arange(0, B)", *read, bins, f"tl.store(out + r * 64 + b, {count})"]
    elif shape in ("loop", "compare"):
        end = "n_cols // B * B" if slip == "last" else "n_cols"
        loop = nested(f"for start in range(0, {end}, B):", ["c = start + tl.arange(0, B)", *read, f"total += {count}"])
        work = [bins, "total = tl.zeros((64,), tl.int32)", loop, "tl.store(out + r * 64 + b, total)"]
    else:
        work = ["c = tl.program_id(1) * B + tl.arange(0, B)", *read]
        if shape == "each":
            work.append(f"tl.atomic_add(out + r * 64 + v, tl.full((B,), 1, tl.int32){known})")
        else:
            work += [bins, f"tl.atomic_add(out + r * 64 + b, {count})"]
    if rows > 1:
        guard = nested("if r < n_rows:", work)
        work = [nested(f"for part in range({rows}):", [f"r = tile * {rows} + part", guard])]
    else:
        work = ["r = tile", *work]
    tiles = f"triton.cdiv(rows, {rows})" if rows > 1 else "rows"
    if knobs["programs"]:
        main = [nested("for tile in range(tl.program_id(0), n_rows, tl.num_programs(0)):", work)]
        tiles = f"min({MULTIPROCESSORS * knobs['programs']}, {tiles})"
    else:
        main = ["tile = tl.program_id(0)", *work]
    across = f", triton.cdiv(cols, {width})" if shape in ("each", "split") else ""
    made = "zeros" if across and slip != "empty" else "empty"
    text = f"""@triton.jit
def body(x, out, n_rows, n_cols, B: tl.constexpr):
{block(main)}


def kernel(x):
    rows, cols = x.shape
    out = torch.{made}((rows, 64), dtype=torch.int32, device=x.device)
    body[({tiles}{across},)](x, out, rows, cols, B={size}, num_warps={knobs["warps"]})
    return out
"""
    return source(text, slip)


TEMPLATES = (
    Template("row_topk", "triton", _TOP, _topk, _top_valid),
    Template("row_sort", "triton", _SORT, _sort, _sort_valid),
    Template("row_median", "triton", _MEDIAN, _median, _median_valid),
    Template("bincount_rows", "triton", _COUNTS, _bincount, _counts_valid),
)
