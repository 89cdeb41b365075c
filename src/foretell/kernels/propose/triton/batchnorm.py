"""Triton template of batch normalisation in training: a channel a program, slices joined, or atomic sums; slips."""

from __future__ import annotations

from typing import Any

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import block, load, nested, source

# `channel` and `folded` have one program a channel; the others share a channel out: `slices` through a buffer of
# parts, `atomic` through sums in memory; `images` is the latter with one image a program.
_KNOBS: dict[str, tuple[Any, ...]] = {
    "shape": ("channel", "folded", "slices", "atomic", "images"),
    "block": (1024, 256, 512, 2048, 4096),
    "height": (1, 4, 16),
    "parts": (8, 32),
    "warps": (4, 2, 8, 16),
    "form": ("plain", "centred", "stages", "last"),
    "slip": ("none", "undefined", "tail", "images", "sample", "narrow", "unrooted"),
}
_PARAMETERS = "n_images, n_channels, width"
_SIZES = "images, channels, width"
_VALUES = (("total", "v"), ("square", "v * v"))
_SPREAD = (("spread", "tl.where(inside, (v - mean) * (v - mean), 0.0)"),)
_BUFFER = "torch.{0}({1}, dtype=torch.float32, device=x.device)"


def _valid(knobs: Knobs) -> bool:
    shape, width, height, warps, form = (knobs[name] for name in ("shape", "block", "height", "warps", "form"))
    if not 2 <= height * width / (32 * warps) <= 128:
        return False
    if (shape == "folded" and height > 1) or (shape == "images" and height > 1):
        return False
    if shape in ("slices", "atomic"):
        if (width > 1024 and height > 1) or warps == 16:
            return False
    elif knobs["parts"] != 8:
        return False
    if form == "centred" and shape not in ("channel", "folded"):
        return False
    if form == "stages" and shape == "images":
        return False
    usual = warps in (4, 8) and width in (256, 1024, 2048) and knobs["parts"] == 8
    if form != "plain" and not usual:
        return False
    if knobs["slip"] == "none":
        return True
    if not usual or form != "plain" or height > 1 or knobs["parts"] != 8 or width == 256:
        return False
    if knobs["slip"] in ("tail", "narrow"):
        return shape in ("channel", "slices") and height == 1
    if knobs["slip"] == "images":
        return shape in ("slices", "channel")
    return bool(warps * 256 == width)


def _spot(knobs: Knobs, start: str, first: str) -> list[str]:
    """Where a block lies: a tile of images and positions, or consecutive elements of the folded channel."""
    if knobs["shape"] == "folded":
        place = [f"k = {start} + tl.arange(0, B)", "inside = k < n_images * width", "n = k // width", "i = k % width"]
    elif knobs["height"] == 1:
        place = [f"n = {first}", f"i = {start} + tl.arange(0, B)", "inside = i < width"]
    else:
        place = [f"n = {first} + tl.arange(0, H)[:, None]", f"i = {start} + tl.arange(0, B)[None, :]"]
        place.append("inside = (n < n_images) & (i < width)")
    return [*place, "at = (n * n_channels + c) * width + i", f"v = {load('x + at', 'inside')}"]


def _over(knobs: Knobs, low: str, high: str, work: list[str]) -> str:
    """The work on every block of the images from `low` to `high`."""
    span = "n_images * width" if knobs["shape"] == "folded" else "width"
    stop = f"{span} // B * B" if knobs["slip"] == "tail" else span
    staged = knobs["form"] == "stages"
    inner = f"tl.range(0, {stop}, B, num_stages=3)" if staged else f"range(0, {stop}, B)"
    loop = nested(f"for start in {inner}:", [*_spot(knobs, "start", "first"), *work])
    if knobs["shape"] == "folded":
        return loop
    step = f", {knobs['height']}" if knobs["height"] > 1 else ""
    return nested(f"for first in range({low}, {high}{step}):", [loop])


def _shaped(knobs: Knobs) -> str:
    return "(H, B)" if knobs["height"] > 1 else "(B,)"


def _sums(knobs: Knobs, low: str, high: str, values: tuple[tuple[str, str], ...] = _VALUES) -> list[str]:
    """Sums over the channel `c` of some images: (name, value) each."""
    narrow = knobs["slip"] == "narrow"
    cast, back = (".to(tl.float16)", ".to(tl.float32)") if narrow else ("", "")
    made = [f"{name} = tl.zeros({_shaped(knobs)}, {'tl.float16' if narrow else 'tl.float32'})" for name, _ in values]
    work = [f"{name} += {f'({value}){cast}' if cast else value}" for name, value in values]
    sums = [f"{name} = tl.sum(tl.ravel({name}), 0){back}" for name, _ in values]
    return [*made, _over(knobs, low, high, work), *sums]


def _moments(knobs: Knobs) -> list[str]:
    count = "(n_images * width - 1)" if knobs["slip"] == "sample" else "(n_images * width)"
    scale = "scale = 1.0 / (variance + 1e-5)" if knobs["slip"] == "unrooted" else "scale = tl.rsqrt(variance + 1e-5)"
    mean = "mean = total / n_images" if knobs["slip"] == "images" else f"mean = total / {count}"
    return [mean, f"variance = square / {count} - mean * mean", scale]


_KEEP = ["tl.store(mean_of + c, mean)", "tl.store(scale_of + c, scale)"]
_AFFINE = ["g = tl.load(gamma + c)", "b = tl.load(beta + c)"]
_WRITE = ["tl.store(out + at, (v - mean) * scale * g + b, mask=inside)"]


def _function(name: str, pointers: str, constants: str, statements: list[str]) -> str:
    return f"@triton.jit\ndef {name}({pointers}, {_PARAMETERS}, {constants}):\n{block(statements)}\n"


def _render(knobs: Knobs) -> str:
    shape, height, warps = knobs["shape"], knobs["height"], knobs["warps"]
    tall = height > 1
    sizes = "H: tl.constexpr, B: tl.constexpr" if tall else "B: tl.constexpr"
    given = f"{f'H={height}, ' if tall else ''}B={knobs['block']}, num_warps={warps}"
    every = "x, gamma, beta, out, mean_of, scale_of"
    lines = [f"{_SIZES} = x.shape", "out = torch.empty_like(x)"]
    lines += [f"{name} = {_BUFFER.format('empty', 'channels')}" for name in ("mean_of", "scale_of")]
    back = "return out, mean_of, scale_of"
    if shape in ("channel", "folded"):
        statements = ["c = tl.program_id(0)", *_sums(knobs, "0", "n_images"), *_moments(knobs)]
        if knobs["form"] == "centred":
            mean, _, scale = _moments(knobs)
            statements = ["c = tl.program_id(0)", *_sums(knobs, "0", "n_images", _VALUES[:1]), mean]
            statements += [*_sums(knobs, "0", "n_images", _SPREAD), "variance = spread / (n_images * width)", scale]
        statements += [*_KEEP, *_AFFINE, _over(knobs, "0", "n_images", _WRITE)]
        lines += [f"body[(channels,)]({every}, {_SIZES}, {given})", back]
        text = _function("body", every, sizes, statements)
        return _whole(knobs, (text,), lines)
    apply = [
        "c = tl.program_id(0)",
        "first = tl.program_id(1)" + (" * H" if tall else ""),
        "mean = tl.load(mean_of + c)",
    ]
    apply += ["scale = tl.load(scale_of + c)", *_AFFINE, *_spot(knobs, "tl.program_id(2) * B", "first"), *_WRITE]
    over = f"triton.cdiv(images, {height})" if tall else "images"
    grid = f"(channels, {over}, triton.cdiv(width, {knobs['block']}))"
    end = [f"write[{grid}]({every}, {_SIZES}, {given})", back]
    texts = [_function("write", every, sizes, apply)]
    if shape == "images":
        slice_lines = ["c = tl.program_id(0)", *_spot(knobs, "tl.program_id(2) * B", "tl.program_id(1)")]
        slice_lines += ["tl.atomic_add(total_of + c, tl.sum(v, 0))", "tl.atomic_add(square_of + c, tl.sum(v * v, 0))"]
        first, constants, parts = f"gather[{grid}]", sizes, given
    else:
        low = "low = tl.program_id(1) * tl.cdiv(n_images, P)"
        high = "high = tl.minimum(low + tl.cdiv(n_images, P), n_images)"
        slice_lines = ["c = tl.program_id(0)", low, high, *_sums(knobs, "low", "high")]
        if tall:
            slice_lines = [line.replace("(n < n_images)", "(n < high)") for line in slice_lines]
        if shape == "slices":
            slice_lines += [f"tl.store({name}_of + c * P + tl.program_id(1), {name})" for name in ("total", "square")]
        else:
            slice_lines += [f"tl.atomic_add({name}_of + c, {name})" for name in ("total", "square")]
        first, constants = f"gather[(channels, {knobs['parts']})]", f"P: tl.constexpr, {sizes}"
        parts = f"P={knobs['parts']}, {given}"
    shaped = f"(channels, {knobs['parts']})" if shape == "slices" else "channels"
    kind = "empty" if shape == "slices" else "zeros"
    lines += [f"{name} = {_BUFFER.format(kind, shaped)}" for name in ("total_of", "square_of")]
    lines.append(f"{first}(x, total_of, square_of, {_SIZES}, {parts})")
    close = ["c = tl.program_id(0)"]
    if shape == "slices":
        close += [f"{name} = tl.sum(tl.load({name}_of + c * P + tl.arange(0, P)), 0)" for name in ("total", "square")]
        last = f"P={knobs['parts']}"
    else:
        close += [f"{name} = tl.load({name}_of + c)" for name in ("total", "square")]
        last = "num_warps=1"
    pointers = "total_of, square_of, mean_of, scale_of"
    texts.insert(0, _function("gather", "x, total_of, square_of", constants, slice_lines))
    texts.insert(1, _function("close", pointers, "P: tl.constexpr", [*close, *_moments(knobs), *_KEEP]))
    if shape != "slices":
        texts[1] = texts[1].replace(", P: tl.constexpr", "")
    lines.append(f"close[(channels,)]({pointers}, {_SIZES}, {last})")
    return _whole(knobs, tuple(texts), [*lines, *end])


def _whole(knobs: Knobs, functions: tuple[str, ...], lines: list[str]) -> str:
    text = "\n\n".join((*functions, f"def kernel(x, gamma, beta):\n{block(lines)}\n"))
    if knobs["form"] == "last":
        text = text.replace("other=0.0)", 'other=0.0, eviction_policy="evict_last")')
    return source(text, knobs["slip"])


TEMPLATES = (Template("batchnorm_training", "triton", _KNOBS, _render, _valid),)
