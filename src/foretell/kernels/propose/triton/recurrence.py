"""Triton templates of recurrences: a state step by step, tiles scanned, chunks joined by a second kernel; slips."""

from __future__ import annotations

from typing import Any

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import MULTIPROCESSORS, block, nested, source

_PAIR = """@triton.jit
def merge(fa, va, fb, vb):
    return fa * fb, vb + fb * va


"""

_LINEAR: dict[str, tuple[Any, ...]] = {
    "shape": ("serial", "scan", "whole", "split"),
    "channels": (64, 8, 16, 32, 128, 256),
    "steps": (16, 8, 32, 64, 128),
    "unroll": (1, 2, 4, 8),
    "warps": (4, 1, 2, 8),
    "slip": ("none", "undefined", "restart", "early", "narrow", "floor"),
}


def _linear_valid(knobs: Knobs) -> bool:
    shape, channels, steps, unroll, warps = (knobs[k] for k in ("shape", "channels", "steps", "unroll", "warps"))
    if shape in ("serial", "whole") and steps != 16:
        return False
    if shape in ("scan", "whole") and unroll != 1:
        return False
    if shape == "serial" and (channels == 8 or warps * 32 > channels or (unroll > 1 and channels == 256)):
        return False
    if shape == "whole" and (channels > 32 or warps == 1):
        return False
    if shape == "scan" and not (steps * channels in (1024, 2048, 4096) and warps > 1 and channels < 256):
        return False
    if shape == "split" and (channels < 32 or steps == 8 or warps * 32 > channels or (unroll > 1 and steps == 128)):
        return False
    slip = knobs["slip"]
    if slip == "none":
        return True
    if slip == "floor":
        return bool(shape in ("scan", "split") and channels == 64 and steps in (32, 64) and unroll == 1 and warps == 2)
    if slip == "restart" and shape not in ("scan", "split"):
        return False
    usual = channels == (16 if shape == "whole" else 64) and unroll in (1, 4) and steps in (16, 32)
    return bool(usual and warps == {"serial": 2, "split": 2}.get(shape, 4))


def _step(knobs: Knobs, at: str, known: str) -> list[str]:
    """One step in time at the place `at`."""
    gain = "h = g * (h + u)" if knobs["slip"] == "early" else "h = g * h + u"
    if knobs["slip"] == "narrow":
        gain = "h = (g * h + u).to(tl.float16).to(tl.float32)"
    return [
        f"g = tl.load(a + {at}, mask={known}, other=1.0)",
        f"u = tl.load(x + {at}, mask={known}, other=0.0)",
        gain,
    ]


def _walk(knobs: Knobs, first: str, last: str, store: bool, decay: bool) -> str:
    """The loop over time from `first` to `last`, some steps at a time."""
    steps = _step(knobs, "at", "inside")
    steps += ["tl.store(out + at, h, mask=inside)"] if store else []
    steps += ["f = f * g"] if decay else []
    if knobs["unroll"] == 1:
        place = ["at = (b * n_time + t) * n_channels + c", "inside = c < n_channels"]
        return nested(f"for t in range({first}, {last}):", [*place, *steps])
    within = f"inside = c < tl.where(t + k < {last}, n_channels, 0)"
    place = ["at = (b * n_time + t + k) * n_channels + c", within]
    inner = nested(f"for k in tl.static_range({knobs['unroll']}):", [*place, *steps])
    return nested(f"for t in range({first}, {last}, {knobs['unroll']}):", [inner])


def _tile(knobs: Knobs, carried: bool) -> list[str]:
    narrow = ".to(tl.float16)" if knobs["slip"] == "narrow" else ""
    found = [
        "at = (b * n_time + t) * n_channels + c",
        "inside = (t < n_time) & (c < n_channels)",
        "g = tl.load(a + at, mask=inside, other=1.0)",
        f"u = tl.load(x + at, mask=inside, other=0.0){narrow}",
        "u = u * g" if knobs["slip"] == "early" else "",
        f"f, h = tl.associative_scan((g{narrow}, u), 0, merge)",
        "h = h + f * carry[None, :]" if carried and knobs["slip"] != "restart" else "",
        "tl.store(out + at, h, mask=inside)",
    ]
    if carried:
        found.append("carry = tl.sum(tl.where(tl.arange(0, BT)[:, None] == BT - 1, h, 0.0), 0)")
    return found


def _linear(knobs: Knobs) -> str:
    shape, channels, steps, slip = knobs["shape"], knobs["channels"], knobs["steps"], knobs["slip"]
    lane = "c = tl.program_id(0) * BC + tl.arange(0, BC)"
    start = ["b = tl.program_id(1)", lane]
    end = "n_time // BT * BT" if slip == "floor" else "n_time"
    options = f"BC={channels}, num_warps={knobs['warps']}"
    grid = f"(triton.cdiv(channels, {channels}), batch)"
    launch = ["batch, time, channels = x.shape", "out = torch.empty_like(x)"]
    if shape == "split":
        chunks = f"time // {steps}" if slip == "floor" else f"triton.cdiv(time, {steps})"
        place = [
            *start,
            "p = tl.program_id(2)",
            "last = tl.minimum(p * BT + BT, n_time)",
            "h = tl.zeros((BC,), tl.float32)",
        ]
        spot = "(b * n_parts + {}) * n_channels + c".format
        ends = [
            *place,
            "f = tl.full((BC,), 1.0, tl.float32)",
            _walk(knobs, "p * BT", "last", store=False, decay=True),
            f"tl.store(part + {spot('p')}, h, mask=c < n_channels)",
            f"tl.store(kept + {spot('p')}, f, mask=c < n_channels)",
        ]
        join = [
            f"h = h * tl.load(kept + {spot('e')}, mask=c < n_channels, other=0.0)",
            f"h += tl.load(part + {spot('e')}, mask=c < n_channels, other=0.0)",
        ]
        carry = [] if slip == "restart" else [nested("for e in range(p):", join)]
        body = [*place, *carry, _walk(knobs, "p * BT", "last", store=True, decay=False)]
        sizes = "n_time, n_channels, n_parts, BT: tl.constexpr, BC: tl.constexpr"
        text = f"@triton.jit\ndef ends(a, x, part, kept, {sizes}):\n{block(ends)}\n\n\n"
        text += f"@triton.jit\ndef body(a, x, part, kept, out, {sizes}):\n{block(body)}\n\n\n"
        given = f"time, channels, parts, BT={steps}, {options}"
        launch += [
            f"parts = {chunks}",
            "part = torch.empty((batch, parts, channels), dtype=x.dtype, device=x.device)",
            "kept = torch.empty_like(part)",
            f"grid = (triton.cdiv(channels, {channels}), batch, parts)",
            f"ends[grid](a, x, part, kept, {given})",
            f"body[grid](a, x, part, kept, out, {given})",
        ]
    else:
        tiled = ", BT: tl.constexpr" if shape != "serial" else ""
        size = {"scan": f"BT={steps}, ", "whole": "BT=triton.next_power_of_2(time), "}.get(shape, "")
        if shape == "serial":
            main = [*start, "h = tl.zeros((BC,), tl.float32)", _walk(knobs, "0", "n_time", store=True, decay=False)]
        elif shape == "whole":
            main = [*start, "c = c[None, :]", "t = tl.arange(0, BT)[:, None]", *_tile(knobs, carried=False)]
        else:
            loop = ["t = first + tl.arange(0, BT)[:, None]", *_tile(knobs, carried=True)]
            main = [*start, "c = c[None, :]", "carry = tl.zeros((BC,), tl.float32)"]
            main.append(nested(f"for first in range(0, {end}, BT):", loop))
        text = "" if shape == "serial" else _PAIR
        text += f"@triton.jit\ndef body(a, x, out, n_time, n_channels{tiled}, BC: tl.constexpr):\n{block(main)}\n\n\n"
        launch.append(f"body[{grid}](a, x, out, time, channels, {size}{options})")
    return source(f"{text}def kernel(a, x):\n{block([*launch, 'return out'])}\n", slip)


_EMA: dict[str, tuple[Any, ...]] = {
    "shape": ("loop", "whole", "persistent", "serial"),
    "form": ("pair", "scaled", "dot"),
    "rows": (1, 2, 4, 8, 16, 32, 64),
    "block": (256, 16, 32, 64, 128, 512, 1024),
    "warps": (4, 1, 2, 8),
    "stages": (3, 1),
    "slip": ("none", "undefined", "restart", "gain", "narrow", "off"),
}


def _ema_valid(knobs: Knobs) -> bool:
    shape, form, rows, width, warps = (knobs[k] for k in ("shape", "form", "rows", "block", "warps"))
    looped = shape in ("loop", "persistent")
    if knobs["stages"] == 1 and not (looped and rows * width == 1024):
        return False
    if not looped and (width != 256 or form != "pair"):
        return False
    if shape == "whole" and rows > min(8, 2 * warps):
        return False
    if shape == "serial" and (rows < 32 or warps > 2 or rows < 32 * warps):
        return False
    if looped and (rows * width not in (512, 1024, 2048) or (rows >= 16) != (width <= 128)):
        return False
    if shape == "persistent" and (warps not in (4, 8) or rows * width != 1024):
        return False
    if form == "scaled" and width > 512:
        return False
    if form == "dot" and (rows < 16 or width > 64):
        return False
    slip = knobs["slip"]
    if slip == "none":
        return True
    if slip == "restart" and shape == "serial":
        return False
    if shape in ("whole", "serial"):
        return bool(slip != "restart" and rows == (4 if shape == "whole" else 32) and warps < 4)
    return bool(shape == "loop" and rows * width == 1024 and warps == 4 and knobs["stages"] == 3 and rows in (4, 16))


def _ema_step(knobs: Knobs, carried: bool) -> list[str]:
    form, slip = knobs["form"], knobs["slip"]
    gain = "1.0" if slip == "gain" else "0.1"
    narrow = ".to(tl.float16)" if slip == "narrow" else ""
    power = "t" if slip == "off" else "(t + 1)"
    found = [
        "inside = (r < n_rows) & (c < n_cols)",
        f"v = (tl.load(x + r * n_cols + c, mask=inside, other=0.0) * {gain}){narrow}",
    ]
    if form == "pair":
        keep = "tl.full((R, B), 0.81, tl.float32)" if slip == "off" else "tl.full((R, B), 0.9, tl.float32)"
        found.append(f"f, s = tl.associative_scan(({keep}{narrow}, v), 1, merge)")
        join = "s = s + f * carry[:, None]"
    elif form == "scaled":
        found += ["w = tl.exp2(t * -0.15200309344504997)", "s = tl.cumsum(v / w, 1) * w"]
        join = f"s = s + tl.exp2({power} * -0.15200309344504997) * carry[:, None]"
    else:
        found.append('s = tl.dot(v, m, input_precision="ieee")' if not narrow else "s = tl.dot(v, m.to(tl.float16))")
        join = f"s = s + tl.exp2({power} * -0.15200309344504997) * carry[:, None]"
    if carried and slip != "restart":
        found.append(join)
    found.append("tl.store(out + r * n_cols + c, s, mask=inside)")
    if carried:
        found.append("carry = tl.sum(tl.where(t == B - 1, s, 0.0), 1)")
    return found


def _ema(knobs: Knobs) -> str:
    shape, rows, slip = knobs["shape"], knobs["rows"], knobs["slip"]
    work = ["r = tile * R + tl.arange(0, R)[:, None]", "t = tl.arange(0, B)[None, :]"]
    if shape == "serial":
        gain = "1.0" if slip == "gain" else "0.1"
        keep = "0.81" if slip == "off" else "0.9"
        step = f"s = {keep} * s + {gain} * tl.load(x + r * n_cols + c, mask=r < n_rows, other=0.0)"
        if slip == "narrow":
            step = f"s = ({step.removeprefix('s = ')}).to(tl.float16).to(tl.float32)"
        loop = nested("for c in range(n_cols):", [step, "tl.store(out + r * n_cols + c, s, mask=r < n_rows)"])
        work = ["r = tile * R + tl.arange(0, R)", "s = tl.zeros((R,), tl.float32)", loop]
    elif shape == "whole":
        work += ["c = t", *_ema_step(knobs, carried=False)]
    else:
        if knobs["form"] == "dot":
            work.append("k = tl.arange(0, B)[:, None]")
            work.append("m = tl.where(k <= t, tl.exp2((t - k) * -0.15200309344504997), 0.0)")
        work.append("carry = tl.zeros((R,), tl.float32)")
        loop = nested("for first in range(0, n_cols, B):", ["c = first + t", *_ema_step(knobs, carried=True)])
        work.append(loop)
    tiles = f"triton.cdiv(rows, {rows})"
    if shape == "persistent":
        head = "for tile in range(tl.program_id(0), tl.cdiv(n_rows, R), tl.num_programs(0)):"
        main, tiles = [nested(head, work)], f"min({MULTIPROCESSORS * 8}, {tiles})"
    else:
        main = ["tile = tl.program_id(0)", *work]
    sized = "" if shape == "serial" else ", B: tl.constexpr"
    width = {"serial": "", "whole": "B=triton.next_power_of_2(cols), "}.get(shape, f"B={knobs['block']}, ")
    options = f"R={rows}, {width}num_warps={knobs['warps']}, num_stages={knobs['stages']}"
    text = _PAIR if shape != "serial" and knobs["form"] == "pair" else ""
    text += f"@triton.jit\ndef body(x, out, n_rows, n_cols, R: tl.constexpr{sized}):\n{block(main)}\n\n\n"
    launch = ["rows, cols = x.shape", "out = torch.empty_like(x)"]
    launch += [f"body[({tiles},)](x, out, rows, cols, {options})", "return out"]
    return source(f"{text}def kernel(x):\n{block(launch)}\n", slip)


_CHUNK: dict[str, tuple[Any, ...]] = {
    "shape": ("tile", "parts", "stored", "spread", "persistent"),
    "queries": (64, 16, 32),
    "keys": (64, 16, 32),
    "warps": (4, 1, 2, 8),
    "stages": (2, 1, 3),
    "halves": (1, 2, 4),
    "mask": ("after", "skip"),
    "slip": ("none", "undefined", "strict", "narrow", "unscaled", "all"),
}


def _chunk_valid(knobs: Knobs) -> bool:
    shape, queries, keys, warps = (knobs[k] for k in ("shape", "queries", "keys", "warps"))
    if shape in ("tile", "persistent", "stored") and (queries, keys) != (64, 64):
        return False
    if shape == "parts" and (queries, keys) == (64, 64):
        return False
    if shape == "spread" and (queries > 32 or keys != 16 or warps < 4 or knobs["halves"] > 1):
        return False
    looped = shape in ("parts", "spread")
    if (knobs["stages"] != 2 and not (looped or shape == "persistent")) or (
        knobs["mask"] == "skip" and not (looped and queries < 64)
    ):
        return False
    if shape == "parts" and (warps == 8 or warps * 16 > max(queries, keys)):
        return False
    if shape == "stored" and warps == 1:
        return False
    if shape == "persistent" and warps in (1, 2):
        return False
    slip = knobs["slip"]
    if slip == "none":
        return True
    if slip == "undefined" and shape == "stored":
        return False
    usual = warps == (2 if shape == "parts" else 4) and knobs["halves"] == 1 and knobs["stages"] == 2
    return bool(usual and keys in (64, 32) and (shape != "parts" or queries == 32) and knobs["mask"] == "after")


def _chunk(knobs: Knobs) -> str:
    shape, slip, halves = knobs["shape"], knobs["slip"], knobs["halves"]
    kind = "tl.float16" if slip == "narrow" else "tl.float32"
    same = "n[None, :] < m[:, None]" if slip == "strict" else "n[None, :] <= m[:, None]"
    weigh = "s" if slip == "all" else f"tl.where({same}, s, 0.0)"
    scale = "" if slip == "unscaled" else " / D"
    far = "base + {}[:, None] * D + {}[None, :]".format
    score = [
        f"kt = tl.load(k + {far('n', 'd')})",
        f"s = tl.dot(qt, tl.trans(kt)){scale}",
        f"p = ({weigh}).to(tl.float16)",
    ]
    if shape == "spread":
        score[1] = f"s = tl.sum(qt[:, None, :].to(tl.float32) * kt[None, :, :], 2){scale}"
    gain = "tl.dot(p, vt, out_dtype=tl.float16)" if slip == "narrow" else "tl.dot(p, vt)"
    e = "e = tl.program_id(1) * (D // E) + tl.arange(0, D // E)" if halves > 1 else "e = tl.arange(0, D)"
    start = ["base = chunk * 64 * D", "d = tl.arange(0, D)", e]
    read_q, read_v = f"qt = tl.load(q + {far('m', 'd')})", f"vt = tl.load(v + {far('n', 'e')})"
    spot = f"out + {far('m', 'e')}"
    grid_e = f", {halves}" if halves > 1 else ""
    extra = ", E: tl.constexpr" if halves > 1 else ""
    options = f"D=D{f', E={halves}' if halves > 1 else ''}, num_warps={knobs['warps']}, num_stages={knobs['stages']}"
    launch = ["heads, length, D = q.shape", "out = torch.empty_like(q)", "chunks = heads * length // 64"]
    whole = ["m = tl.arange(0, 64)", "n = tl.arange(0, 64)"]
    text = ""
    given, grid = "q, k, v, out", f"(chunks{grid_e},)"
    if shape in ("tile", "persistent"):
        work = [*start, *whole, read_q, *score, read_v, f"tl.store({spot}, {gain}.to(tl.float16))"]
        main = ["chunk = tl.program_id(0)", *work]
        if shape == "persistent":
            head = "for chunk in range(tl.program_id(0), n_chunks, tl.num_programs(0)):"
            main = [nested(head, [*work])]
            grid = f"(min({MULTIPROCESSORS * 4}, chunks){grid_e},)"
            given += ", chunks"
    elif shape == "stored":
        keep = "kept + chunk * 4096 + m[:, None] * 64 + n[None, :]"
        before = ["chunk = tl.program_id(0)", *start[:2], *whole, read_q, *score, f"tl.store({keep}, p)"]
        text = f"@triton.jit\ndef scores(q, k, kept, D: tl.constexpr):\n{block(before)}\n\n\n"
        launch.append("kept = torch.empty((chunks, 64, 64), dtype=q.dtype, device=q.device)")
        launch.append(f"scores[(chunks,)](q, k, kept, D=D, num_warps={knobs['warps']})")
        main = ["chunk = tl.program_id(0)", start[0], e, *whole, f"p = tl.load({keep})", read_v]
        main.append(f"tl.store({spot}, {gain}.to(tl.float16))")
        given = "kept, v, out"
    else:
        per = 64 // knobs["queries"]
        mine = (
            ["part = tl.program_id(0) % P", "m = part * BM + tl.arange(0, BM)"] if per > 1 else ["m = tl.arange(0, BM)"]
        )
        stop = "part * BM + BM" if knobs["mask"] == "skip" and per > 1 else "64"
        step = ["n = first + tl.arange(0, BN)", *score, read_v]
        step.append(f"acc += {gain}")
        first = "chunk = tl.program_id(0) // P" if per > 1 else "chunk = tl.program_id(0)"
        main = [first, *start, *mine, read_q, f"acc = tl.zeros((BM, {'D // E' if halves > 1 else 'D'}), {kind})"]
        main += [nested(f"for first in range(0, {stop}, BN):", step), f"tl.store({spot}, acc.to(tl.float16))"]
        extra = (", P: tl.constexpr" if per > 1 else "") + ", BM: tl.constexpr, BN: tl.constexpr" + extra
        sizes = (f"P={per}, " if per > 1 else "") + f"BM={knobs['queries']}, BN={knobs['keys']}, "
        options = sizes + options
        grid = f"(chunks * {per}{grid_e},)" if per > 1 else f"(chunks{grid_e},)"
    names = given.replace("chunks", "n_chunks")
    text += f"@triton.jit\ndef body({names}, D: tl.constexpr{extra}):\n{block(main)}\n\n\n"
    launch += [f"body[{grid}]({given}, {options})", "return out"]
    return source(f"{text}def kernel(q, k, v):\n{block(launch)}\n", slip)


TEMPLATES = (
    Template("linear_recurrence", "triton", _LINEAR, _linear, _linear_valid),
    Template("ema_rows", "triton", _EMA, _ema, _ema_valid),
    Template("linear_attention_chunk", "triton", _CHUNK, _chunk, _chunk_valid),
)
