"""Triton template of running totals along rows: whole rows, a carry from block to block, nested, split; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import MULTIPROCESSORS, block, lanes, load, nested, source

_KNOBS = {
    "shape": ("row", "rows", "persistent", "loop", "nested", "split"),
    "rows": (1, 2, 4, 8),
    "block": (1024, 256, 512, 2048),
    "lane": (32, 8, 16, 64, 128),
    "warps": (4, 1, 2, 8, 16),
    "programs": (4, 1, 8, 16),
    "scan": ("cumsum", "combine"),
    "lanes": ("near",),
    "slip": ("none", "undefined", "unmasked", "restart", "exclusive", "narrow", "axis"),
}


def _valid(knobs: Knobs) -> bool:
    shape, warps, slip = knobs["shape"], knobs["warps"], knobs["slip"]
    if shape not in ("loop", "split") and knobs["block"] != 1024:
        return False
    if (shape != "nested" and knobs["lane"] != 32) or (shape != "persistent" and knobs["programs"] != 4):
        return False
    if (shape == "rows") != (knobs["rows"] > 1) or knobs["rows"] > 2 * warps:
        return False
    if shape in ("persistent", "nested") and warps not in (4, 8, 16):
        return False
    if shape in ("loop", "split") and warps not in (2, 4, 8):
        return False
    if knobs["scan"] == "combine" and (shape in ("nested", "split") or warps not in (4, 8) or knobs["block"] == 256):
        return False
    if slip == "none":
        return True
    if slip == "restart" and shape not in ("loop", "nested"):
        return False
    if slip == "axis" and shape != "rows":
        return False
    if slip == "unmasked" and shape != "split":
        return False
    usual = knobs["rows"] in (1, 4) and knobs["block"] == 1024 and knobs["lane"] in (16, 32)
    common = shape in ("row", "loop") or slip in ("restart", "axis", "unmasked")
    return bool(usual and common and warps == 4 and knobs["scan"] == "cumsum")


def _scan(knobs: Knobs, value: str, axis: int = 0) -> str:
    if knobs["slip"] == "axis":
        axis = 1 - axis
    if knobs["scan"] == "combine":
        return f"tl.associative_scan({value}, {axis}, add)"
    return f"tl.cumsum({value}, {axis})"


def _whole(knobs: Knobs) -> list[str]:
    slip = knobs["slip"]
    value = "v.to(tl.float16)" if slip == "narrow" else "v"
    result = f"{_scan(knobs, value)}{' - v' if slip == 'exclusive' else ''}"
    if knobs["rows"] > 1:
        result = f"{_scan(knobs, value, 1)}{' - v' if slip == 'exclusive' else ''}"
        return [
            "r = tl.program_id(0) * R + tl.arange(0, R)[:, None]",
            "c = tl.arange(0, B)[None, :]",
            "inside = (r < n_rows) & (c < n_cols)",
            f"v = {load('x + r * n_cols + c', 'inside')}",
            f"tl.store(out + r * n_cols + c, {result}, mask=inside)",
        ]
    head = ["c = tl.arange(0, B)"]
    if knobs["shape"] == "nested":
        tail = [
            "t = tl.reshape(v, (B // L, L))",
            "inner = tl.cumsum(t, 1)",
            "sums = tl.sum(t, 1)",
            "outer = tl.cumsum(sums, 0) - sums",
            f"total = tl.reshape(inner{'' if slip == 'restart' else ' + outer[:, None]'}, (B,))",
        ]
    else:
        tail = [f"total = {result}"]
    work = [
        f"v = {load('x + r * n_cols + c', 'c < n_cols')}",
        *tail,
        "tl.store(out + r * n_cols + c, total, mask=c < n_cols)",
    ]
    if knobs["shape"] == "persistent":
        return [*head, nested("for r in range(tl.program_id(0), n_rows, tl.num_programs(0)):", work)]
    return ["r = tl.program_id(0)", *head, *work]


def _loop(knobs: Knobs) -> list[str]:
    slip = knobs["slip"]
    value = "v.to(tl.float16)" if slip == "narrow" else "v"
    carried = "" if slip == "restart" else "carry + "
    step = [
        f"c = start + {lanes(knobs)}",
        f"v = {load('x + r * n_cols + c', 'c < n_cols')}",
        f"total = {carried}{_scan(knobs, value)}{' - v' if slip == 'exclusive' else ''}",
        "tl.store(out + r * n_cols + c, total, mask=c < n_cols)",
        "carry += tl.sum(v, 0)",
    ]
    return ["r = tl.program_id(0)", "carry = 0.0", nested("for start in range(0, n_cols, B):", step)]


def _split(knobs: Knobs) -> str:
    slip = knobs["slip"]
    value = "v.to(tl.float16)" if slip == "narrow" else "v"
    own = " - v" if slip == "exclusive" else ""
    earlier = "k < T" if slip == "unmasked" else "k < b"
    return f"""@triton.jit
def sums(x, part, n_cols, T: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0)
    b = tl.program_id(1)
    c = b * B + tl.arange(0, B)
    v = tl.load(x + r * n_cols + c, mask=c < n_cols, other=0.0)
    tl.store(part + r * T + b, tl.sum(v, 0))


@triton.jit
def body(x, part, out, n_cols, T: tl.constexpr, B: tl.constexpr):
    r = tl.program_id(0)
    b = tl.program_id(1)
    k = tl.arange(0, T)
    carry = tl.sum(tl.load(part + r * T + k, mask={earlier}, other=0.0), 0)
    c = b * B + tl.arange(0, B)
    v = tl.load(x + r * n_cols + c, mask=c < n_cols, other=0.0)
    tl.store(out + r * n_cols + c, carry + tl.cumsum({value}, 0){own}, mask=c < n_cols)


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    blocks = triton.cdiv(cols, {knobs["block"]})
    T = triton.next_power_of_2(blocks)
    part = torch.empty((rows, T), dtype=x.dtype, device=x.device)
    sums[(rows, blocks)](x, part, cols, T=T, B={knobs["block"]}, num_warps={knobs["warps"]})
    body[(rows, blocks)](x, part, out, cols, T=T, B={knobs["block"]}, num_warps={knobs["warps"]})
    return out
"""


def _render(knobs: Knobs) -> str:
    shape = knobs["shape"]
    if shape == "split":
        return source(_split(knobs), knobs["slip"])
    main = _loop(knobs) if shape == "loop" else _whole(knobs)
    constants = {"R": knobs["rows"]} if shape == "rows" else {"L": knobs["lane"]} if shape == "nested" else {}
    grid = {"rows": f"triton.cdiv(rows, {knobs['rows']})", "persistent": f"{MULTIPROCESSORS * knobs['programs']}"}
    width = knobs["block"] if shape == "loop" else "triton.next_power_of_2(cols)"
    declared = "".join(f", {name}: tl.constexpr" for name in constants)
    given = "".join(f", {name}={value}" for name, value in constants.items())
    add = "@triton.jit\ndef add(a, b):\n    return a + b\n\n\n" if knobs["scan"] == "combine" else ""
    text = f"""{add}@triton.jit
def body(x, out, n_rows, n_cols{declared}, B: tl.constexpr):
{block(main)}


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    body[({grid.get(shape, "rows")},)](x, out, rows, cols{given}, B={width}, num_warps={knobs["warps"]})
    return out
"""
    return source(text, knobs["slip"])


TEMPLATES = (Template("prefix_sum", "triton", _KNOBS, _render, _valid),)
