"""Triton template of global_avg_pool, channels last: one program a block of channels, split by pixels; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import block, nested, source

_KNOBS = {
    "shape": ("whole", "atomic", "stages"),
    "block": (64, 16, 32, 128, 256, 512),
    "height": (1, 8, 16, 32, 64, 128),
    "warps": (4, 1, 2, 8),
    "splits": (1, 4, 16),
    "carry": ("lanes", "scalar"),
    "slip": ("none", "undefined", "unmasked", "narrow", "empty", "count"),
}


def _valid(knobs: Knobs) -> bool:
    shape, width, height, warps = knobs["shape"], knobs["block"], knobs["height"], knobs["warps"]
    carry, slip, tile = knobs["carry"], knobs["slip"], width * height
    if (shape == "whole") != (knobs["splits"] == 1):
        return False
    if height == 1:
        fits = carry == "lanes" and width >= 64 and warps * 32 <= width
    else:
        fits = 64 * warps <= tile <= 2048 * warps
    if not fits or (carry == "scalar" and (warps != 4 or tile > 4096)):
        return False
    if shape != "whole" and (width not in (64, 128, 256) or height < 8 or warps not in (4, 8) or carry == "scalar"):
        return False
    if slip == "none":
        return True
    if (slip == "empty" and shape != "atomic") or (slip in ("narrow", "count") and shape != "whole"):
        return False
    usual = warps == 4 and carry == "lanes" and knobs["splits"] < 16
    return bool(usual and (width, height) in ((64, 16), (128, 16), (64, 32), (128, 32)))


def _sum(knobs: Knobs) -> list[str]:
    """Statements that leave the sums over the program's pixels of its channels in `total`."""
    wide, slip = knobs["height"] > 1, knobs["slip"]
    dtype = "tl.bfloat16" if slip == "narrow" else "tl.float32"
    start = "tl.program_id(2) * P" if knobs["splits"] > 1 else "0"
    stop = "area"
    step = "P * tl.num_programs(2)" if knobs["splits"] > 1 else "P"
    if not wide:
        cast = ".to(tl.float32)"
        load = f"total += tl.load(x + (b * area + p) * channels + c, mask=c < channels, other=0.0){cast}"
        if slip == "narrow":
            load = load.replace(cast, "")
        return [f"total = tl.zeros((B,), {dtype})", nested(f"for p in range({start}, {stop}, {step}):", [load])]
    mask = "(c < channels)[None, :]" + ("" if slip == "unmasked" else " & (p < area)[:, None]")
    body = [
        "p = start + tl.arange(0, P)",
        f"v = tl.load(x + (b * area + p[:, None]) * channels + c[None, :], mask={mask}, other=0.0)",
    ]
    value = "v" if slip == "narrow" else "v.to(tl.float32)"
    head = f"for start in range({start}, {stop}, {step}):"
    if knobs["carry"] == "scalar":
        return [f"total = tl.zeros((B,), {dtype})", nested(head, [*body, f"total += tl.sum({value}, 0)"])]
    made = f"part = tl.zeros((P, B), {dtype})"
    return [made, nested(head, [*body, f"part += {value}"]), "total = tl.sum(part.to(tl.float32), 0)"]


def _render(knobs: Knobs) -> str:
    shape, width, splits = knobs["shape"], knobs["block"], knobs["splits"]
    count = "tl.cdiv(area, P) * P" if knobs["slip"] == "count" else "area"
    place = {
        "whole": [f"tl.store(out + b * channels + c, total / ({count}), mask=c < channels)"],
        "atomic": ["tl.atomic_add(out + b * channels + c, total, mask=c < channels)"],
        "stages": [
            "spot = (tl.program_id(2) * tl.num_programs(1) + b) * channels + c",
            "tl.store(out + spot, total, mask=c < channels)",
        ],
    }
    body = ["c = tl.program_id(0) * B + tl.arange(0, B)", "b = tl.program_id(1)", *_sum(knobs), *place[shape]]
    close = ""
    launch = [
        "batch, high, wide, channels = x.shape",
        "out = torch.empty((batch, channels), dtype=x.dtype, device=x.device)",
    ]
    target = "out"
    if shape != "whole":
        made = "zeros" if shape == "atomic" and knobs["slip"] != "empty" else "empty"
        sums = f"({splits}, batch, channels)" if shape == "stages" else "(batch, channels)"
        launch.append(f"sums = torch.{made}({sums}, dtype=torch.float32, device=x.device)")
        target = "sums"
        add = ["total = tl.load(sums + i, mask=i < n, other=0.0)"]
        if shape == "stages":
            step = ["total += tl.load(sums + k * n + i, mask=i < n, other=0.0)"]
            add = ["total = tl.zeros((B,), tl.float32)", nested(f"for k in range({splits}):", step)]
        finish = [
            "i = tl.program_id(0) * B + tl.arange(0, B)",
            *add,
            f"tl.store(out + i, total / ({count}), mask=i < n)",
        ]
        close = f"""@triton.jit
def close(sums, out, n, area, P: tl.constexpr, B: tl.constexpr):
{block(finish)}


"""
    grid = f"(triton.cdiv(channels, {width}), batch{f', {splits}' if splits > 1 else ''})"
    launch += [
        f"body[{grid}](",
        f"    x, {target}, high * wide, channels, P={knobs['height']}, B={width}, num_warps={knobs['warps']}",
        ")",
    ]
    if close:
        launch.append(
            f"close[(triton.cdiv(out.numel(), 256),)](sums, out, out.numel(), high * wide, P={knobs['height']}, B=256)"
        )
    text = f"""@triton.jit
def body(x, out, area, channels, P: tl.constexpr, B: tl.constexpr):
{block(body)}


{close}def kernel(x):
{block([*launch, "return out"])}
"""
    return source(text, knobs["slip"])


TEMPLATES = (Template("global_avg_pool", "triton", _KNOBS, _render, _valid),)
