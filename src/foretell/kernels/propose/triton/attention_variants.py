"""Triton templates of attention with shared keys, a window, capped or biased scores, or a single query; slips."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import block, nested, source

_KNOBS: dict[str, tuple[Any, ...]] = {
    "shape": ("online", "passes", "stored"),
    "queries": (64, 16, 32, 128),
    "keys": (64, 16, 32, 128),
    "warps": (4, 8),
    "stages": (2, 1, 3, 4),
    "power": ("exp", "exp2"),
    "grid": ("tiles", "heads"),
}
_LOG2E = "1.4426950408889634"


@dataclass(frozen=True)
class Variant:
    """What differs: masks on the keys `n` of the queries `m`, a change of the scores `s`, the range of the keys.

    `wrong` maps the slips of its own to what they replace and by what, in the rendered statements.
    """

    task: str
    masks: tuple[str, ...]
    change: tuple[str, ...]
    needed: tuple[str, str]
    wrong: dict[str, tuple[str, str]]
    group: int = 1
    stored: bool = True


_VARIANTS = (
    Variant(
        "attention_gqa",
        (),
        (),
        ("0", "N"),
        {"group": ("h // 4", "h % (tl.num_programs(1) // 4)")},
        group=4,
    ),
    Variant(
        "attention_window",
        ("(n[None, :] <= m[:, None])", "(m[:, None] - n[None, :] < 256)"),
        (),
        ("tl.maximum(tl.program_id(0) * BM - 255, 0) // BN * BN", "tl.minimum(tl.program_id(0) * BM + BM, N)"),
        {"edge": ("< 256", "<= 256"), "ahead": ("(n[None, :] <= m[:, None]) & ", "")},
    ),
    Variant(
        "attention_softcap",
        (),
        ("s = 4.0 - 8.0 / (tl.exp(s * 0.5) + 1.0)",),
        ("0", "N"),
        {"cap": ("s * 0.5", "s * 0.25")},
    ),
    Variant(
        "attention_alibi",
        ("(n[None, :] <= m[:, None])",),
        ("s = s - slope * (m[:, None] - n[None, :])",),
        ("0", "tl.minimum(tl.program_id(0) * BM + BM, N)"),
        {"slope": ("(h + 1)", "h"), "sign": ("s - slope", "s + slope")},
        stored=False,
    ),
)


def _valid(variant: Variant, knobs: Knobs) -> bool:
    shape, queries, keys, warps = knobs["shape"], knobs["queries"], knobs["keys"], knobs["warps"]
    sizes, stages, slip = (queries, keys), knobs["stages"], knobs["slip"]
    if (warps == 8 and (queries < 64 or keys < 32)) or sizes == (16, 128):
        return False
    if (16 in sizes and stages != 2) or (shape == "stored" and not variant.stored):
        return False
    if shape != "online" and (16 in sizes or queries != keys or knobs["power"] == "exp2"):
        return False
    if shape == "stored" and (stages in (1, 4) or queries == 32):
        return False
    if knobs["power"] == "exp2" and (stages == 4 or min(sizes) < 32):
        return False
    if knobs["reach"] == "all" and variant.masks and (stages != 2 or knobs["power"] == "exp2" or slip != "none"):
        return False
    if knobs["pack"] > 1 and (shape == "stored" or (slip != "none" and slip != "undefined")):
        return False
    if knobs["grid"] == "heads" and (shape != "online" or stages not in (2, 3) or slip != "none" or 16 in sizes):
        return False
    if slip == "none":
        return True
    usual = shape != "stored" and keys == 64 and stages in (2, 3) and knobs["power"] == "exp"
    return bool(usual and queries == 16 * warps and (shape == "online" or slip not in ("stale", "undefined")))


def _scores(variant: Variant, knobs: Knobs) -> list[str]:
    slip = knobs["slip"]
    known = [*variant.masks, *(["(n[None, :] < N)"] if slip != "padded" else [])]
    found = [
        "n = start + tl.arange(0, BN)",
        "kt = tl.load(k + keys + n[None, :] * D + d[:, None], mask=n[None, :] < N, other=0.0)",
        "s = tl.dot(qt, kt)" if slip == "unscaled" else "s = tl.dot(qt, kt) * scale",
        *variant.change,
    ]
    if knobs["power"] == "exp2" and variant.change:
        found.append(f"s = s * {_LOG2E}")
    return [*found, f"s = tl.where({' & '.join(known)}, s, -1.0e30)"] if known else found


def _body(variant: Variant, knobs: Knobs) -> tuple[list[str], list[str]]:
    """Statements of the main kernel, and of the kernel before it that stores scores, if there is one."""
    shape, slip, power = knobs["shape"], knobs["slip"], f"tl.{knobs['power']}"
    if knobs["pack"] > 1:
        place = [
            "h = tl.program_id(1) * 4 + tl.arange(0, BM) % 4",
            "m = tl.program_id(0) * (BM // 4) + tl.arange(0, BM) // 4",
            "keys = tl.program_id(1) * N * D",
            "rows = (h * N + m)[:, None] * D",
        ]
    else:
        shared = f"h // {variant.group}" if variant.group > 1 else "h"
        place = [
            "h = tl.program_id(1)",
            "m = tl.program_id(0) * BM + tl.arange(0, BM)",
            f"keys = {shared} * N * D" if variant.group == 1 else f"keys = ({shared}) * N * D",
            "rows = h * N * D + m[:, None] * D",
        ]
    place.append("d = tl.arange(0, D)")
    if "slope" in "".join(variant.change):
        place.append("slope = tl.exp2(-8.0 * (h + 1) / tl.num_programs(1))")
    first, last = variant.needed if knobs["reach"] == "needed" else ("0", "N")
    head = f"for start in range({first}, {last}, BN):"
    query = "qt = tl.load(q + rows + d[None, :], mask=m[:, None] < N, other=0.0)"
    kind = "tl.float16" if slip == "narrow" else "tl.float32"
    made = ["peak = tl.full((BM,), -1.0e30, tl.float32)", "total = tl.zeros((BM,), tl.float32)"]
    empty = f"acc = tl.zeros((BM, D), {kind})"
    values = ["vt = tl.load(v + keys + n[:, None] * D + d[None, :], mask=n[:, None] < N, other=0.0)"]
    if slip == "narrow":
        values.append("acc += tl.dot(p.to(tl.float16), vt, out_dtype=tl.float16)")
    else:
        values.append("acc = tl.dot(p.to(tl.float16), vt, acc)")
    step = [
        "best = tl.maximum(peak, tl.max(s, 1))",
        f"p = {power}(s - best[:, None])",
        f"fix = {power}(peak - best)",
        "total = total * fix + tl.sum(p, 1)",
        "peak = best",
    ]
    scores = _scores(variant, knobs)
    before: list[str] = []
    if shape == "online":
        fixed = "acc = (acc * fix[:, None]).to(tl.float16)" if slip == "narrow" else "acc = acc * fix[:, None]"
        loop = nested(head, [*scores, *step, "" if slip == "stale" else fixed, *values])
        found, value = [query, *made, empty, loop], "(acc / total[:, None])"
    else:
        if shape == "stored":
            spot = "kept + h * N * N + m[:, None] * N + n[None, :]"
            both = "(m[:, None] < N) & (n[None, :] < N)"
            before = [*place, query, nested(head, [*scores, f"tl.store({spot}, s, mask={both})"])]
            read = f's = tl.load({spot}, mask={both}, other=-float("inf")).to(tl.float32)'
            scores = ["n = start + tl.arange(0, BN)", read]
            made[0] = "peak = tl.full((BM,), -60000.0, tl.float32)"
        share = "p = tl.exp(s - peak[:, None]) / total[:, None]"
        found = [*made, nested(head, [*scores, *step]), empty, nested(head, [*scores, share, *values])]
        found, value = [query, *found] if shape == "passes" else found, "acc"
    store = f"tl.store(out + rows + d[None, :], {value}.to(out.dtype.element_ty), mask=m[:, None] < N)"
    return [*place, *found, store], before


def _render(variant: Variant, knobs: Knobs) -> str:
    main, before = _body(variant, knobs)
    pack, queries = knobs["pack"], knobs["queries"]
    constants = "D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr"
    scale = f" * {_LOG2E}" if knobs["power"] == "exp2" and not variant.change else ""
    sizes = f"D=D, BM={queries}, BN={knobs['keys']}, num_warps={knobs['warps']}, num_stages={knobs['stages']}"
    heads = f"H // {pack}" if pack > 1 else "H"
    launch = ["H, N, D = q.shape", "out = torch.empty_like(q)", f"grid = (triton.cdiv(N, {queries // pack}), {heads})"]
    text = ""
    if before:
        text = f"@triton.jit\ndef scores(q, k, kept, N, scale, {constants}):\n{block(before)}\n\n\n"
        launch.append("kept = torch.empty((H, N, N), dtype=q.dtype, device=q.device)")
        launch.append(f"scores[grid](q, k, kept, N, D**-0.5, {sizes})")
        launch.append(f"body[grid](kept, v, out, N, {sizes})")
        parameters = f"kept, v, out, N, {constants}"
    else:
        launch.append(f"body[grid](q, k, v, out, N, D**-0.5{scale}, {sizes})")
        parameters = f"q, k, v, out, N, scale, {constants}"
    text += f"@triton.jit\ndef body({parameters}):\n{block(main)}\n\n\n"
    text = source(text + f"def kernel(q, k, v):\n{block([*launch, 'return out'])}\n", knobs["slip"])
    if knobs["grid"] == "heads":
        text = text.replace("program_id(0)", "program_id(2)").replace("program_id(1)", "program_id(0)")
        text = text.replace("program_id(2)", "program_id(1)").replace("num_programs(1)", "num_programs(0)")
        text = text.replace("body[grid]", "body[grid[::-1]]")
    return text.replace(*variant.wrong[knobs["slip"]]) if knobs["slip"] in variant.wrong else text


def _template(variant: Variant) -> Template:
    common = ("none", "undefined", "unscaled", "stale", "narrow") + (() if variant.masks else ("padded",))
    knobs = {
        **_KNOBS,
        "reach": ("all", "needed") if variant.masks else ("all",),
        "pack": (1, 4) if variant.group > 1 else (1,),
        "slip": (*common, *variant.wrong),
    }
    return Template(variant.task, "triton", knobs, partial(_render, variant), partial(_valid, variant))


_DECODE: dict[str, tuple[Any, ...]] = {
    "shape": ("one", "split", "passes", "stored"),
    "way": ("sum", "dot"),
    "keys": (64, 16, 32, 128, 256),
    "parts": (8, 2, 4, 16, 32),
    "warps": (4, 1, 2, 8),
    "stages": (2, 1, 3),
    "slip": ("none", "undefined", "padded", "unscaled", "stale", "unjoined", "tail"),
}


def _decode_valid(knobs: Knobs) -> bool:
    shape, keys, warps, stages = knobs["shape"], knobs["keys"], knobs["warps"], knobs["stages"]
    if shape != "split" and knobs["parts"] != 8:
        return False
    if knobs["way"] == "dot" and (warps == 8 or shape in ("passes", "stored") or stages == 1):
        return False
    if (keys == 16 and (warps > 2 or stages != 2)) or (keys == 256 and warps < 4) or (keys == 32 and warps == 8):
        return False
    if shape == "split" and (stages == 1 or (knobs["parts"] in (2, 4, 32) and (stages == 3 or keys in (16, 256)))):
        return False
    if shape == "split" and knobs["way"] == "dot" and warps != 4:
        return False
    slip = knobs["slip"]
    if slip == "none":
        return True
    if slip == "unjoined" and shape != "split":
        return False
    if slip == "stale" and shape not in ("one", "split"):
        return False
    return bool(knobs["way"] == "sum" and keys in (64, 128) and warps == 4 and stages == 2 and knobs["parts"] == 8)


def _decode(knobs: Knobs) -> str:
    shape, way, slip = knobs["shape"], knobs["way"], knobs["slip"]
    dot = way == "dot"
    place = ["h = tl.program_id(0)", "d = tl.arange(0, D)", "keys = h * N * D"]
    query = "qt = tl.load(q + h * D + d).to(tl.float32)"
    if dot:
        query = "qt = tl.load(q + h * D + d[None, :] + tl.zeros((16, 1), tl.int32))"
    scale = "" if slip == "unscaled" else " * scale"
    spread = "[None, :]" if dot else ""
    known = "n < N" if shape != "split" else "n < last"
    score = [
        "n = start + tl.arange(0, BN)",
        f"kt = tl.load(k + keys + n[:, None] * D + d[None, :], mask=({known})[:, None], other=0.0)",
        f"s = tl.dot(qt, tl.trans(kt)){scale}" if dot else f"s = tl.sum(kt.to(tl.float32) * qt[None, :], 1){scale}",
        "" if slip == "padded" else f"s = tl.where(({known}){spread}, s, -1.0e30)",
    ]
    axis, keep = (1, "[:, None]") if dot else (0, "")
    fill = "tl.full((16,), {}, tl.float32)".format if dot else "{}".format
    made = [f"peak = {fill('-1.0e30')}", f"total = {fill('0.0')}"]
    empty = "acc = tl.zeros((16, D), tl.float32)" if dot else "acc = tl.zeros((D,), tl.float32)"
    step = [
        f"best = tl.maximum(peak, tl.max(s, {axis}))",
        f"p = tl.exp(s - best{keep})",
        "fix = tl.exp(peak - best)",
        f"total = total * fix + tl.sum(p, {axis})",
        "peak = best",
    ]
    fixed = "" if slip == "stale" else f"acc = acc * fix{keep}"
    value = [f"vt = tl.load(v + keys + n[:, None] * D + d[None, :], mask=({known})[:, None], other=0.0)"]
    value.append("acc += tl.dot(p.to(tl.float16), vt)" if dot else "acc += tl.sum(vt.to(tl.float32) * p[:, None], 0)")
    end = "N // BN * BN" if slip == "tail" else "N"
    head = f"for start in range(0, {end}, BN):"
    one = "tl.sum(tl.where(tl.arange(0, 16) == 0, {}, 0.0), 0)".format if dot else "{}".format
    row = "tl.sum(tl.where(tl.arange(0, 16)[:, None] == 0, acc, 0.0), 0)" if dot else "acc"
    sizes = f"D=D, BN={knobs['keys']}, num_warps={knobs['warps']}, num_stages={knobs['stages']}"
    launch = ["H, N, D = k.shape", "out = torch.empty_like(q)"]
    text, parameters, given = "", "q, k, v, out, N, scale", "q, k, v, out, N, D**-0.5"
    grid = "(H,)"
    extra = ""
    if shape == "one":
        loop = nested(head, [*score, *step, fixed, *value])
        main = [
            *place,
            query,
            *made,
            empty,
            loop,
            f"tl.store(out + h * D + d, ({row} / {one('total')}).to(tl.float16))",
        ]
    elif shape == "split":
        parts = knobs["parts"]
        size = "size = N // P" if slip == "tail" else "size = tl.cdiv(N, P)"
        mine = ["part = tl.program_id(1)", size, "last = tl.minimum(part * size + size, N)"]
        loop = nested("for start in range(part * size, last, BN):", [*score, *step, fixed, *value])
        spot = "(h * P + part)"
        main = [*place, *mine, query, *made, empty, loop]
        main += [f"tl.store(held + {spot} * D + d, {row})", f"tl.store(tops + {spot}, {one('peak')})"]
        main.append(f"tl.store(sums + {spot}, {one('total')})")
        weight = "w = tl.exp(t - tl.max(t, 0))" if slip != "unjoined" else "w = tl.full((P,), 1.0, tl.float32)"
        join = [
            *place[:2],
            "part = tl.arange(0, P)",
            "t = tl.load(tops + h * P + part)",
            weight,
            "total = tl.sum(w * tl.load(sums + h * P + part), 0)",
            "acc = tl.load(held + (h * P + part[:, None]) * D + d[None, :])",
            "tl.store(out + h * D + d, (tl.sum(acc * w[:, None], 0) / total).to(tl.float16))",
        ]
        text = f"@triton.jit\ndef join(held, tops, sums, out, D: tl.constexpr, P: tl.constexpr):\n{block(join)}\n\n\n"
        new = "torch.empty({}, dtype=torch.float32, device=q.device)".format
        launch += [
            f"held = {new(f'(H, {parts}, D)')}",
            f"tops = {new(f'(H, {parts})')}",
            f"sums = {new(f'(H, {parts})')}",
        ]
        parameters, given = "q, k, v, held, tops, sums, N, scale", "q, k, v, held, tops, sums, N, D**-0.5"
        grid, extra, sizes = f"(H, {parts})", "P: tl.constexpr, ", f"P={parts}, {sizes}"
    else:
        share = "p = tl.exp(s - peak) / total"
        found = [*place, query, *made, nested(head, [*score, *step]), empty]
        if shape == "passes":
            found.append(nested(head, [*score, share, *value]))
        else:
            keepers = [*score, "tl.store(kept + h * N + n, s, mask=n < N)", *step]
            found[-2] = nested(head, keepers)
            read = ["n = start + tl.arange(0, BN)", "s = tl.load(kept + h * N + n, mask=n < N, other=-1.0e30)"]
            found.append("tl.debug_barrier()")
            found.append(nested(head, [*read, share, *value]))
            launch.append("kept = torch.empty((H, N), dtype=torch.float32, device=q.device)")
            parameters, given = "q, k, v, kept, out, N, scale", "q, k, v, kept, out, N, D**-0.5"
        main = [*found, "tl.store(out + h * D + d, acc.to(tl.float16))"]
    text += f"@triton.jit\ndef body({parameters}, {extra}D: tl.constexpr, BN: tl.constexpr):\n{block(main)}\n\n\n"
    launch.append(f"body[{grid}]({given}, {sizes})")
    if shape == "split":
        launch.append(f"join[(H,)](held, tops, sums, out, D=D, P={knobs['parts']}, num_warps=4)")
    return source(f"{text}def kernel(q, k, v):\n{block([*launch, 'return out'])}\n", slip)


TEMPLATES = (
    *(_template(variant) for variant in _VARIANTS),
    Template("attention_decode", "triton", _DECODE, _decode, _decode_valid),
)
