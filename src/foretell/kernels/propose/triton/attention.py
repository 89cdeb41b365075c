"""Triton templates of attention: blocks of queries and keys, online, in two passes or with stored scores; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import block, nested, source

_KNOBS = {
    "shape": ("online", "passes", "stored"),
    "queries": (64, 16, 32, 128),
    "keys": (64, 16, 32, 128),
    "warps": (4, 8),
    "stages": (2, 1, 3, 4),
    "power": ("exp", "exp2"),
    "slip": ("none", "undefined", "padded", "unscaled", "stale", "narrow"),
}
_CAUSAL = {
    **_KNOBS,
    "reach": ("all", "needed"),
    "order": ("forward", "backward"),
    "slip": ("none", "undefined", "unscaled", "stale", "narrow", "strict"),
}


def _valid(knobs: Knobs) -> bool:
    shape, queries, keys, warps = knobs["shape"], knobs["queries"], knobs["keys"], knobs["warps"]
    sizes, stages, slip = (queries, keys), knobs["stages"], knobs["slip"]
    if (warps == 8 and (queries < 64 or keys < 32)) or sizes == (16, 128):
        return False
    if 16 in sizes and stages != 2:
        return False
    if shape != "online" and (16 in sizes or queries != keys or knobs["power"] == "exp2"):
        return False
    if shape == "stored" and (stages in (1, 4) or queries == 32):
        return False
    if knobs["power"] == "exp2" and (stages in (1, 4) or min(sizes) < 64):
        return False
    if slip == "none":
        return True
    usual = shape != "stored" and keys == 64 and stages == 2 and knobs["power"] == "exp"
    return bool(usual and queries == 16 * warps and (shape == "online" or slip in ("padded", "unscaled", "narrow")))


def _causal_valid(knobs: Knobs) -> bool:
    whole = knobs["reach"] == "all"
    if whole and (knobs["stages"] != 2 or knobs["power"] == "exp2" or knobs["slip"] != "none"):
        return False
    if knobs["order"] == "backward" and (whole or knobs["power"] == "exp" or knobs["slip"] != "none"):
        return False
    return _valid(knobs)


def _scores(knobs: Knobs, causal: bool) -> list[str]:
    slip = knobs["slip"]
    known = ["(n[None, :] < N)"] if slip != "padded" else []
    if causal:
        known.append(f"(n[None, :] {'<' if slip == 'strict' else '<='} m[:, None])")
    found = [
        "n = start + tl.arange(0, BN)",
        "kt = tl.load(k + base + n[None, :] * D + d[:, None], mask=n[None, :] < N, other=0.0)",
        "s = tl.dot(qt, kt)" if slip == "unscaled" else "s = tl.dot(qt, kt) * scale",
    ]
    return found + ([f's = tl.where({" & ".join(known)}, s, -float("inf"))'] if known else [])


def _values(knobs: Knobs) -> list[str]:
    vt = "vt = tl.load(v + base + n[:, None] * D + d[None, :], mask=n[:, None] < N, other=0.0)"
    if knobs["slip"] == "narrow":
        return [vt, "acc += tl.dot(p.to(tl.float16), vt, out_dtype=tl.float16)"]
    return [vt, "acc = tl.dot(p.to(tl.float16), vt, acc)"]


def _softmax_step(knobs: Knobs) -> list[str]:
    power = f"tl.{knobs['power']}"
    found = ["best = tl.maximum(peak, tl.max(s, 1))", f"p = {power}(s - best[:, None])", f"fix = {power}(peak - best)"]
    return [*found, "total = total * fix + tl.sum(p, 1)", "peak = best"]


def _body(knobs: Knobs, causal: bool) -> tuple[list[str], list[str]]:
    """Statements of the main kernel, and of the kernel before it that stores scores, if there is one."""
    shape, slip = knobs["shape"], knobs["slip"]
    row = "tl.program_id(0)"
    if causal and knobs["order"] == "backward":
        row = "(tl.num_programs(0) - 1 - tl.program_id(0))"
    place = ["base = tl.program_id(1) * N * D", f"m = {row} * BM + tl.arange(0, BM)", "d = tl.arange(0, D)"]
    query = "qt = tl.load(q + base + m[:, None] * D + d[None, :], mask=m[:, None] < N, other=0.0)"
    dtype = "tl.float16" if slip == "narrow" else "tl.float32"
    made = ['peak = tl.full((BM,), -float("inf"), tl.float32)', "total = tl.zeros((BM,), tl.float32)"]
    empty = f"acc = tl.zeros((BM, D), {dtype})"
    last = "N"
    if causal and knobs["reach"] == "needed":
        place.append(f"last = tl.minimum({row} * BM + BM, N)")
        last = "last"
    head = f"for start in range(0, {last}, BN):"
    out = "out + base + m[:, None] * D + d[None, :]"
    scores, step = _scores(knobs, causal), _softmax_step(knobs)
    before: list[str] = []
    if shape == "online":
        rescaled = ["acc = (acc * fix[:, None]).to(tl.float16)" if slip == "narrow" else "acc = acc * fix[:, None]"]
        if slip == "stale":
            rescaled = []
        loop = nested(head, [*scores, *step, *rescaled, *_values(knobs)])
        found = [query, *made, empty, loop]
        value = "(acc / total[:, None])"
    else:
        if shape == "stored":
            spot = "kept + tl.program_id(1) * N * N + m[:, None] * N + n[None, :]"
            both = "(m[:, None] < N) & (n[None, :] < N)"
            before = [*place, query, nested(head, [*scores, f"tl.store({spot}, s, mask={both})"])]
            read = f's = tl.load({spot}, mask={both}, other=-float("inf")).to(tl.float32)'
            scores = ["n = start + tl.arange(0, BN)", read]
            made[0] = "peak = tl.full((BM,), -60000.0, tl.float32)"
        share = "p = tl.exp(s - peak[:, None]) / total[:, None]"
        found = [*made, nested(head, [*scores, *step]), empty, nested(head, [*scores, share, *_values(knobs)])]
        if shape == "passes":
            found = [query, *found]
        value = "acc"
    return [*place, *found, f"tl.store({out}, {value}.to(out.dtype.element_ty), mask=m[:, None] < N)"], before


def _render(knobs: Knobs, causal: bool) -> str:
    main, before = _body(knobs, causal)
    constants = "D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr"
    scale = " * 1.4426950408889634" if knobs["power"] == "exp2" else ""
    options = f"num_warps={knobs['warps']}, num_stages={knobs['stages']}"
    sizes = f"D=D, BM={knobs['queries']}, BN={knobs['keys']}, {options}"
    launch = ["H, N, D = q.shape", "out = torch.empty_like(q)", f"grid = (triton.cdiv(N, {knobs['queries']}), H)"]
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
    return source(text + f"def kernel(q, k, v):\n{block([*launch, 'return out'])}\n", knobs["slip"])


TEMPLATES = (
    Template("attention", "triton", _KNOBS, lambda knobs: _render(knobs, causal=False), _valid),
    Template("attention_causal", "triton", _CAUSAL, lambda knobs: _render(knobs, causal=True), _causal_valid),
)
