"""Triton template of the histogram: an atomic a value, or counts of a block, of a program or in two stages; slips."""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import MULTIPROCESSORS, block, nested, source

_KNOBS = {
    "shape": ("each", "block", "program", "stages", "compare"),
    "block": (1024, 256, 512, 2048, 4096, 8192),
    "warps": (4, 1, 2, 8),
    "programs": (4, 1, 2, 8, 16),
    "slip": ("none", "undefined", "empty", "unmasked", "floor", "overwrite"),
}
_COMPARED = {256: 32, 512: 64, 1024: 128}


def _valid(knobs: Knobs) -> bool:
    shape, width, warps = knobs["shape"], knobs["block"], knobs["warps"]
    spread = shape in ("program", "stages")
    if not spread and knobs["programs"] != 4:
        return False
    if spread and (width in (256, 512) or warps not in (4, 8)):
        return False
    if shape == "compare" and (width not in _COMPARED or warps not in (4, 8)):
        return False
    slip = knobs["slip"]
    if slip == "none":
        return True
    if (slip == "floor" and shape not in ("each", "block")) or (slip == "empty" and shape == "stages"):
        return False
    if slip == "overwrite" and shape not in ("block", "program"):
        return False
    usual = warps == 4 and shape != "compare" and knobs["programs"] == 4
    return bool(usual and width == (2048 if spread else 1024))


def _counted(knobs: Knobs) -> str:
    if knobs["shape"] == "compare":
        found = "v[:, None] == b[None, :]"
        if knobs["slip"] != "unmasked":
            found = f"({found}) & (i < n)[:, None]"
        return f"tl.sum(({found}).to(tl.int32), 0)"
    return "tl.histogram(v, 256)" if knobs["slip"] == "unmasked" else "tl.histogram(v, 256, mask=i < n)"


def _render(knobs: Knobs) -> str:
    shape, slip = knobs["shape"], knobs["slip"]
    width = _COMPARED[knobs["block"]] if shape == "compare" else knobs["block"]
    value = "v = tl.load(values + i, mask=i < n, other=0)"
    added = "tl.store(counts + b, {})" if slip == "overwrite" else "tl.atomic_add(counts + b, {})"
    count = f"(n // {width},)" if slip == "floor" else f"(triton.cdiv(n, {width}),)"
    spread = MULTIPROCESSORS * knobs["programs"]
    if shape == "each":
        one = "tl.full((B,), 1, tl.int32)"
        mask = "" if slip == "unmasked" else ", mask=i < n"
        main = ["i = tl.program_id(0) * B + tl.arange(0, B)", value, f"tl.atomic_add(counts + v, {one}{mask})"]
    elif shape in ("block", "compare"):
        main = [
            "i = tl.program_id(0) * B + tl.arange(0, B)",
            "b = tl.arange(0, 256)",
            value,
            added.format(_counted(knobs)),
        ]
    else:
        count = f"({spread},)"
        head = "for start in range(tl.program_id(0) * B, n, tl.num_programs(0) * B):"
        loop = nested(head, ["i = start + tl.arange(0, B)", value, f"total += {_counted(knobs)}"])
        done = added.format("total") if shape == "program" else "tl.store(part + tl.program_id(0) * 256 + b, total)"
        main = ["b = tl.arange(0, 256)", "total = tl.zeros((256,), tl.int32)", loop, done]
    target = "part" if shape == "stages" else "counts"
    made = "empty" if slip == "empty" or shape == "stages" else "zeros"
    launch = ["n = values.numel()", f"counts = torch.{made}(256, dtype=torch.int32, device=values.device)"]
    text = f"""@triton.jit
def body(values, {target}, n, B: tl.constexpr):
{block(main)}


"""
    if shape == "stages":
        launch.append(f"part = torch.empty(({spread}, 256), dtype=torch.int32, device=values.device)")
        text += """@triton.jit
def gather(part, counts, n_parts, P: tl.constexpr):
    p = tl.arange(0, P)
    b = tl.program_id(0)
    tl.store(counts + b, tl.sum(tl.load(part + p * 256 + b, mask=p < n_parts, other=0), 0))


"""
    launch.append(f"body[{count}](values, {target}, n, B={width}, num_warps={knobs['warps']})")
    if shape == "stages":
        launch.append(f"gather[(256,)](part, counts, {spread}, P=triton.next_power_of_2({spread}), num_warps=4)")
    return source(text + f"def kernel(values):\n{block([*launch, 'return counts'])}\n", slip)


TEMPLATES = (Template("histogram", "triton", _KNOBS, _render, _valid),)
