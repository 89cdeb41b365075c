"""Triton templates of the triangle updates: outer products, one channel's product, batched products, turned copies."""

from __future__ import annotations

from functools import partial
from typing import Any

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import block, nested, source

_KNOBS: dict[str, tuple[Any, ...]] = {
    "shape": ("outer", "channel", "batched", "turned"),
    "side": (32, 8, 16, 64, 128),
    "across": (32, 8, 16, 64, 128),
    "channels": (16, 1, 4, 8, 32),
    "depth": (32, 1, 16, 64),
    "warps": (4, 2, 8),
    "stages": (2, 1, 3, 4),
    "slip": ("none", "undefined", "narrow", "tail", "edge", "swapped"),
}


def _valid(knobs: Knobs) -> bool:
    shape, side, across, channels, depth = (knobs[k] for k in ("shape", "side", "across", "channels", "depth"))
    warps, stages, slip = knobs["warps"], knobs["stages"], knobs["slip"]
    if shape == "outer":
        size = side * across * channels
        if depth != 1 or channels < 8 or stages == 4 or side > 32 or across > 32:
            return False
        if not 1024 * warps <= size <= 2048 * warps:
            return False
    elif shape == "batched":
        if channels not in (4, 8) or max(side, across) > 32 or min(side, across) < 16 or depth not in (16, 32):
            return False
        if stages > 2 or warps == 2:
            return False
    else:
        if channels != 1 or min(side, across) < 32 or depth < 16 or (warps == 8 and side * across < 4096):
            return False
        if shape == "channel" and (stages in (1, 4) or side != across):
            return False
        if shape == "turned" and (max(side, across) == 128 and warps == 2):
            return False
        if shape == "turned" and depth == 16 and stages > 2:
            return False
    if slip == "none":
        return True
    if slip == "narrow" and shape == "batched":
        return False
    if slip == "tail" and shape == "outer":
        return False
    usual = warps == 4 and stages in (2, 3) and side == across and (depth == 32 or shape == "outer")
    return bool(usual and (side == 32 if shape in ("channel", "turned") else side == 16))


def _place(name: str, row: str, inner: str, incoming: bool) -> str:
    """The pointer to item (row, inner) of an operand, channel `c`."""
    first, second = (inner, row) if incoming else (row, inner)
    return f"{name} + ({first} * n + {second}) * n_c + c"


def _outer(knobs: Knobs, incoming: bool) -> list[str]:
    slip = knobs["slip"]
    kind = "KIND" if slip == "narrow" else "tl.float32"
    cast = "" if slip == "narrow" else ".to(tl.float32)"
    known = "(c < n_c)" if slip == "edge" else "({0} < n) & (c < n_c)"
    load = "tl.load({}, mask={}, other=0.0)".format
    step = [
        "u = " + load(_place("a", "i", "k", incoming), known.format("i")) + cast,
        "w = " + load(_place("b", "j", "k", incoming), known.format("j")) + cast,
        "acc += u[:, None, :] * w[None, :, :]",
    ]
    return [
        "i = tl.program_id(0) * BI + tl.arange(0, BI)[:, None]",
        "j = tl.program_id(1) * BJ + tl.arange(0, BJ)[:, None]",
        "c = tl.program_id(2) * BC + tl.arange(0, BC)[None, :]",
        f"acc = tl.zeros((BI, BJ, BC), {kind})",
        nested("for k in range(0, n):", step),
        "i = tl.program_id(0) * BI + tl.arange(0, BI)[:, None, None]",
        "j = tl.program_id(1) * BJ + tl.arange(0, BJ)[None, :, None]",
        "c = tl.program_id(2) * BC + tl.arange(0, BC)[None, None, :]",
        "known = (i < n) & (c < n_c)" if slip == "edge" else "known = (i < n) & (j < n) & (c < n_c)",
        f"tl.store(out + ({'j * n + i' if slip == 'swapped' else 'i * n + j'}) * n_c + c, acc.to(KIND), mask=known)",
    ]


def _dots(knobs: Knobs, incoming: bool) -> list[str]:
    """Products of tiles: of one channel (strided), of some channels at once, or from copies with the channel first."""
    shape, slip = knobs["shape"], knobs["slip"]
    batched, turned = shape == "batched", shape == "turned"
    lead = "[None, :, None]" if batched else "[:, None]"
    last = "[None, None, :]" if batched else "[None, :]"
    channel = "c = tl.program_id(2)"
    if batched:
        channel = "c = tl.program_id(2) * BC + tl.arange(0, BC)[:, None, None]"
    within = " & (c < n_c)" if batched else ""
    edge = "" if slip == "edge" else " & ({} < n)"
    left, right = f"i{lead}", f"j{last}"
    ka, kb = f"(start + k{last})", f"(start + k{lead})"
    if turned:
        pa = f"a + c * n * n + {left} * n + {ka}"
        pb = f"b + c * n * n + {right} * n + {kb}"
    else:
        pa, pb = _place("a", left, ka, incoming), _place("b", right, kb, incoming)
    deep = "" if slip == "tail" else "({} < n)"
    known_a = (deep.format(ka) + edge.format(left) + within).removeprefix(" & ")
    known_b = (deep.format(kb) + edge.format(right) + within).removeprefix(" & ")
    known_a, known_b = known_a or f"{ka} < n", known_b or f"{kb} < n"
    shape_acc = "(BC, BI, BJ)" if batched else "(BI, BJ)"
    kind = "KIND" if slip == "narrow" else "tl.float32"
    add = "acc += tl.dot(u, w).to(KIND)" if slip == "narrow" else "acc = tl.dot(u, w, acc)"
    loop = [
        f"u = tl.load({pa}, mask={known_a}, other=0.0)",
        f"w = tl.load({pb}, mask={known_b}, other=0.0)",
        add,
    ]
    end = "n // BK * BK" if slip == "tail" else "n"
    spot = f"({right} * n + {left})" if slip == "swapped" else f"({left} * n + {right})"
    store = f"({left} < n) & ({right} < n){within}"
    if slip == "edge":
        store = f"({left} < n){within}"
    return [
        channel,
        "i = tl.program_id(0) * BI + tl.arange(0, BI)",
        "j = tl.program_id(1) * BJ + tl.arange(0, BJ)",
        "k = tl.arange(0, BK)",
        f"acc = tl.zeros({shape_acc}, {kind})",
        nested(f"for start in range(0, {end}, BK):", loop),
        f"tl.store(out + {spot} * n_c + c, acc.to(KIND), mask={store})",
    ]


_TURN = """@triton.jit
def turn(x, out, n, n_c, T: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0)
    s = tl.program_id(1) * T + tl.arange(0, T)
    c = tl.program_id(2) * C + tl.arange(0, C)
    v = tl.load(x + PLACE * n_c + c[None, :], mask=(s < n)[:, None] & (c < n_c)[None, :], other=0.0)
    spot = out + c[:, None] * n * n + r * n + s[None, :]
    tl.store(spot, tl.trans(v), mask=(c < n_c)[:, None] & (s < n)[None, :])


"""


def _render(kind: str, incoming: bool, knobs: Knobs) -> str:
    shape, side, across, channels = knobs["shape"], knobs["side"], knobs["across"], knobs["channels"]
    main = _outer(knobs, incoming) if shape == "outer" else _dots(knobs, incoming)
    sizes = {"BI": side, "BJ": across}
    sizes |= {"BC": channels} if shape in ("outer", "batched") else {}
    sizes |= {"BK": knobs["depth"]} if shape != "outer" else {}
    declared = ", ".join(f"{name}: tl.constexpr" for name in sizes)
    given = ", ".join(f"{name}={value}" for name, value in sizes.items())
    launch = ["n, _, n_c = a.shape", "out = torch.empty_like(a)"]
    text, names = "", "a, b, out"
    if shape == "turned":
        text = _TURN.replace("PLACE", "(s[:, None] * n + r)" if incoming else "(r * n + s[:, None])")
        launch += ["sides = (n, triton.cdiv(n, 64), triton.cdiv(n_c, 16))"]
        for name in ("a", "b"):
            launch.append(f"{name}t = torch.empty((n_c, n, n), dtype=a.dtype, device=a.device)")
            launch.append(f"turn[sides]({name}, {name}t, n, n_c, T=64, C=16)")
        names = "at, bt, out"
    layers = f"triton.cdiv(n_c, {channels})" if channels > 1 else "n_c"
    launch += [
        f"grid = (triton.cdiv(n, {side}), triton.cdiv(n, {across}), {layers})",
        f"body[grid]({names}, n, n_c, {given}, num_warps={knobs['warps']}, num_stages={knobs['stages']})",
        "return out",
    ]
    text += f"@triton.jit\ndef body(a, b, out, n, n_c, {declared}):\n{block(main)}\n\n\n"
    text = text.replace("KIND", kind)
    return source(f"{text}def kernel(a, b):\n{block(launch)}\n", knobs["slip"])


TEMPLATES = (
    Template("triangle_update", "triton", _KNOBS, partial(_render, "tl.float16", False), _valid),
    Template("triangle_incoming", "triton", _KNOBS, partial(_render, "tl.bfloat16", True), _valid),
)
