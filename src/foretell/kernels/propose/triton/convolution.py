"""Triton templates of the convolutions over all channels: tap by tap, implicit and explicit columns, packed; slips."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import MULTIPROCESSORS, block, nested, source

_TILES = (
    (64, 64, 32),
    (16, 64, 16),
    (32, 64, 32),
    (32, 128, 64),
    (64, 64, 64),
    (64, 128, 32),
    (64, 128, 64),
    (64, 256, 32),
    (64, 256, 64),
    (128, 64, 32),
    (128, 128, 32),
    (128, 128, 64),
    (128, 256, 64),
)
_KNOBS = {
    "form": ("taps", "joined", "columns", "packed", "unfolded", "direct"),
    "tile": _TILES,
    "warps": (4, 2, 8),
    "stages": (3, 1, 2, 4),
    "order": ("channels", "pixels", "persistent"),
    "finish": ("together", "apart"),
    "phase": ("all", "each"),
    "slip": ("none", "undefined", "narrow", "unmasked", "crossed", "mirrored", "padding"),
}


@dataclass(frozen=True)
class _Conv:
    """One convolution: its taps, where the first lies, a bias and ReLU after it; `turned` for a transposed one.

    A transposed one has four taps, stride 2 and one place cut from either side.
    """

    task: str
    taps: tuple[int, int]
    stride: int = 1
    pad: int = 0
    relu: bool = False
    turned: bool = False

    @property
    def flat(self) -> bool:
        return self.taps[0] == 1 and self.taps[1] > 1

    @property
    def count(self) -> int:
        return self.taps[0] * self.taps[1]


def _valid(knobs: Knobs) -> bool:
    form, (m, n, k), warps, stages, slip = (knobs[key] for key in ("form", "tile", "warps", "stages", "slip"))
    order, plain = knobs["order"], knobs["finish"] == "together" and knobs["phase"] == "all"
    fits = {2: m * n <= 64 * 64, 4: m * n <= 128 * 128, 8: m * n >= 128 * 64}
    if not fits[warps] or (knobs["phase"] == "each" and (form not in ("taps", "joined", "packed") or stages == 1)):
        return False
    if form == "direct":
        small = m * n <= 64 * 128 and k <= 32 and warps == 4 and stages == 3 and order != "persistent"
        return bool(plain and small and slip in ("none", "padding"))
    if stages == 1 and (warps != 4 or order != "channels" or not plain):
        return False
    if warps == 2 and (stages != 3 or order != "channels"):
        return False
    if order == "persistent" and (stages < 3 or m * n < 64 * 128 or form not in ("joined", "packed", "taps")):
        return False
    if order == "persistent" and form == "taps" and k != 32:
        return False
    if form in ("columns", "unfolded") and (stages == 4 or order == "pixels" or m < 32 or k == 16):
        return False
    if order == "pixels" and stages != 3:
        return False
    if knobs["finish"] == "apart" and not (stages == 3 and order == "channels" and m * n >= 64 * 128):
        return False
    if slip == "none":
        return True
    usual = (
        stages == 3
        and order == "channels"
        and (m, n, k) in ((64, 64, 32), (64, 128, 64), (128, 128, 64))
        and warps == 4
    )
    return bool(usual and plain and form in ("joined", "packed", "taps", "image"))


def _single_valid(knobs: Knobs) -> bool:
    """With one tap there are no columns to build, and an image's places may be taken in a row."""
    if knobs["form"] == "image" and knobs["order"] == "persistent":
        return False
    return knobs["form"] in ("taps", "packed", "direct", "image") and _valid(knobs)


def _several_valid(knobs: Knobs) -> bool:
    """With several taps there are more forms, and fewer stages and orders of each."""
    (m, n, k), stages, order = knobs["tile"], knobs["stages"], knobs["order"]
    if (stages == 4 and m * n < 128 * 64) or (stages == 2 and k != 32) or (order == "pixels" and k != 64):
        return False
    if knobs["phase"] == "each" and (order == "pixels" or stages == 2 or m < 64):
        return False
    return not (order == "persistent" and stages == 4 and k != 64) and _valid(knobs)


def _weight(conv: _Conv, knobs: Knobs, tap: str, c: str) -> str:
    """Place of the weight of output channel `rm` and input channel `c`."""
    if knobs["slip"] == "mirrored":
        tap = f"({conv.count - 1} - {tap})"
    swapped = conv.turned != (knobs["slip"] == "crossed")
    place = f"({c} * M + rm[:, None])" if swapped else f"(rm[:, None] * C + {c})"
    return f"weights + {place}" if conv.count == 1 else f"weights + {place} * {conv.count} + {tap}"


def _pixels(conv: _Conv) -> list[str]:
    """Image `b`, row `oy` and column `ox` of each output place."""
    if conv.flat:
        return ["b = rn // across", "ox = rn % across"]
    return ["b = rn // (tall * across)", "oy = rn // across % tall", "ox = rn % across"]


def _input(conv: _Conv, knobs: Knobs, tap: str) -> tuple[list[str], str]:
    """Statements that make row `iy` and column `ix` of the input under a tap, and the condition that it is there."""
    pad = conv.pad - 1 if knobs["slip"] == "padding" else conv.pad
    if conv.turned:
        if knobs["phase"] == "each":
            return [f"ix = ox + phase - {tap}"], "(ix >= 0) & (ix < wide)"
        lines = [f"u = ox + {1 + (knobs['slip'] == 'padding')} - {tap}", "ix = u // 2"]
        return lines, "(u >= 0) & (u % 2 == 0) & (ix < wide)"
    by = f" * {conv.stride}" if conv.stride > 1 else ""
    if conv.count == 1:
        return [f"iy = oy{by}", f"ix = ox{by}"], ""
    if conv.flat:
        return [f"ix = ox{by} + {tap} - {pad}"], "(ix >= 0) & (ix < wide)"
    lines = [f"iy = oy{by} + {tap} // {conv.taps[1]} - {pad}", f"ix = ox{by} + {tap} % {conv.taps[1]} - {pad}"]
    return lines, "(iy >= 0) & (iy < high) & (ix >= 0) & (ix < wide)"


def _place(conv: _Conv, c: str) -> str:
    """Place of the input of channel `c` at row `iy` and column `ix` of image `b`."""
    return f"x + (b * C + {c}) * wide + ix" if conv.flat else f"x + ((b * C + {c}) * high + iy) * wide + ix"


def _packed_place(conv: _Conv, knobs: Knobs, tap: str) -> str:
    """Place of the padded input, channels last."""
    pad = int(knobs["slip"] == "padding")
    if conv.turned:
        spot = f"ox + phase - {tap} + 1" if knobs["phase"] == "each" else "(u + 2) // 2"
        return f"(b * wide + {spot})"
    by = f" * {conv.stride}" if conv.stride > 1 else ""
    if conv.count == 1:
        return f"((b * high + oy{by}) * wide + ox{by})"
    if conv.flat:
        return f"(b * wide + ox{by} + {tap}{' + 1' * pad})"
    wide = conv.taps[1]
    return f"((b * high + oy{by} + {tap} // {wide}) * wide + ox{by} + {tap} % {wide}{' + 1' * pad})"


def _step(conv: _Conv, knobs: Knobs, tap: str, position: list[str]) -> list[str]:
    """Load both tiles for channels `c` and multiply them."""
    form, slip = knobs["form"], knobs["slip"]
    weight_tap = "(1 - phase + 2 * t)" if knobs["phase"] == "each" else tap
    place, mask = _place(conv, "c[:, None]").replace("b *", "b[None, :] *"), "ok[None, :]"
    place = place.replace("iy)", "iy[None, :])").replace("+ ix", "+ ix[None, :]")
    left = _weight(conv, knobs, weight_tap, "c[None, :]")
    if form == "packed":
        tap_base = f"{weight_tap} * M + " if conv.count > 1 else ""
        if slip == "mirrored":
            tap_base = f"({conv.count - 1} - {weight_tap}) * M + "
        left = f"weights + ({tap_base}rm[:, None]) * C + c[None, :]"
        if slip == "crossed":
            left = f"weights + ({tap_base}c[None, :] % M) * C + rm[:, None] % C"
        place = "x + spot[None, :] * C + c[:, None]"
    if form == "image":
        place = "x + (b * C + c[:, None]) * N + rn[None, :]"
    inner = "" if slip == "unmasked" else " & (c < C)[None, :]"
    lower = "" if slip == "unmasked" else " & (c < C)[:, None]"
    return [
        *position,
        f"a = tl.load({left}, mask=(rm < M)[:, None]{inner}, other=0.0)",
        f"y = tl.load({place}, mask={mask}{lower}, other=0.0)",
        *_product(knobs),
    ]


def _product(knobs: Knobs) -> list[str]:
    if knobs["slip"] == "narrow":
        return ["acc = (acc + tl.dot(a, y)).to(x.dtype.element_ty)"]
    return ["acc = tl.dot(a, y, acc)"]


def _position(conv: _Conv, knobs: Knobs, tap: str) -> list[str]:
    lines, there = _input(conv, knobs, tap)
    if knobs["form"] == "image":
        lines = []
    if knobs["form"] == "packed":
        even = conv.turned and knobs["phase"] == "all"
        first = [lines[0]] if even else []
        there = "(u % 2 == 0)" if even else ""
        lines = [*first, f"spot = {_packed_place(conv, knobs, tap)}"]
    return [*lines, f"ok = (rn < N){f' & {there}' if there else ''}"]


def _sum(conv: _Conv, knobs: Knobs) -> list[str]:
    """Statements that leave the tile's `acc`."""
    form = knobs["form"]
    count = 2 if knobs["phase"] == "each" else conv.count
    dtype = "x.dtype.element_ty" if knobs["slip"] == "narrow" else "tl.float32"
    found = [f"acc = tl.zeros((BM, BN), {dtype})", *([] if form == "image" else _pixels(conv))]
    if form == "direct":
        lines, there = _input(conv, knobs, "t")
        body = [
            *lines,
            f"y = tl.load({_place(conv, 'c')}, mask=(rn < N){f' & {there}' if there else ''}, other=0.0)",
            f"a = tl.load({_weight(conv, knobs, 't', 'c').replace('[:, None]', '')}, mask=rm < M, other=0.0)",
            "acc += a.to(tl.float32)[:, None] * y.to(tl.float32)[None, :]",
        ]
        return [*found, nested("for c in range(C):", [nested(f"for t in range({count}):", body)])]
    if form in ("columns", "unfolded"):
        swapped = f"weights + ((k // {count})[None, :] * M + rm[:, None]) * {count} + (k % {count})[None, :]"
        left = swapped if conv.turned else "weights + rm[:, None] * K + k[None, :]"
        if form == "unfolded":
            place, mask, lines = "x + k[:, None] * N + rn[None, :]", "(rn < N)[None, :]", []
            found = found[:1]
        else:
            lines, there = _input(conv, knobs, f"(k % {count})[:, None]")
            place, mask = _place(conv, f"(k // {count})[:, None]"), f"(rn < N) & {there}"
            lines = [line.replace("ox", "ox[None, :]").replace("oy", "oy[None, :]") for line in lines]
        body = [
            "k = start + tl.arange(0, BK)",
            *lines,
            f"a = tl.load({left}, mask=(rm < M)[:, None] & (k < K)[None, :], other=0.0)",
            f"y = tl.load({place}, mask={mask} & (k < K)[:, None], other=0.0)",
            *_product(knobs),
        ]
        return [*found, f"K = C * {count}", nested("for start in range(0, K, BK):", body)]
    if count == 1:
        body = ["c = start + tl.arange(0, BK)", *_step(conv, knobs, "0", [])]
        return [*found, *_position(conv, knobs, "0"), nested("for start in range(0, C, BK):", body)]
    if form == "taps":
        inner = nested("for start in range(0, C, BK):", ["c = start + tl.arange(0, BK)", *_step(conv, knobs, "t", [])])
        return [*found, nested(f"for t in range({count}):", [*_position(conv, knobs, "t"), inner])]
    begin = [f"t = s % {count}", f"c = s // {count} * BK + tl.arange(0, BK)"]
    head = f"for s in range(0, tl.cdiv(C, BK) * {count}):"
    return [*found, nested(head, [*begin, *_step(conv, knobs, "t", _position(conv, knobs, "t"))])]


def _finish(conv: _Conv, knobs: Knobs) -> list[str]:
    found: list[str] = []
    apart = knobs["finish"] == "apart"
    if conv.relu and not apart:
        found = [
            "acc += tl.load(bias + rm, mask=rm < M, other=0.0).to(tl.float32)[:, None]",
            "acc = tl.maximum(acc, 0.0)",
        ]
    area = "across" if conv.flat else "tall * across"
    place, width = f"(rn % ({area}))", f"({area})"
    if knobs["phase"] == "each":
        place, width = "(2 * ox + phase)", "(2 * across)"
    if knobs["form"] == "image":
        return [
            *found,
            "tl.store(out + (b * M + rm[:, None]) * N + rn[None, :], acc, mask=(rm < M)[:, None] & ok[None, :])",
        ]
    spot = f"out + ((rn // ({area}))[None, :] * M + rm[:, None]) * {width} + {place}[None, :]"
    return [*found, f"tl.store({spot}, acc, mask=(rm < M)[:, None] & (rn < N)[None, :])"]


def _body(conv: _Conv, knobs: Knobs) -> list[str]:
    tile = "tile" if knobs["order"] == "persistent" else "tl.program_id(0)"
    pair = [f"pm = {tile} % tl.cdiv(M, BM)", f"pn = {tile} // tl.cdiv(M, BM)"]
    if knobs["order"] == "pixels":
        pair = [f"pm = {tile} // tl.cdiv(N, BN)", f"pn = {tile} % tl.cdiv(N, BN)"]
    work = [*pair, "rm = pm * BM + tl.arange(0, BM)", "rn = pn * BN + tl.arange(0, BN)"]
    work += [*_sum(conv, knobs), *_finish(conv, knobs)]
    if knobs["phase"] == "each":
        work = ["phase = tl.program_id(1)", *work]
    if knobs["form"] == "image":
        work = ["b = tl.program_id(1)", *work]
    if knobs["order"] == "persistent":
        head = "for tile in range(tl.program_id(0), tl.cdiv(M, BM) * tl.cdiv(N, BN), tl.num_programs(0)):"
        return [nested(head, work)]
    return work


def _extra_kernels(conv: _Conv, knobs: Knobs) -> str:
    """The kernels before and after the product: packing, unfolding, bias and ReLU."""
    found = ""
    if knobs["form"] == "packed":
        row = "at = p" if conv.flat or conv.count == 1 else "at = p // wide * (wide + 2 * P) + p % wide"
        turned = "(c * M + m)" if conv.turned else "(m * C + c)"
        size = "(area + 2 * P)" if conv.flat else "(area // wide + 2 * P) * (wide + 2 * P)"
        shift = "P" if conv.flat else "P * (wide + 2 * P) + P"
        found += f"""@triton.jit
def pack(x, to, C, area, wide, P: tl.constexpr, BP: tl.constexpr, BC: tl.constexpr):
    p = tl.program_id(0) * BP + tl.arange(0, BP)
    c = tl.program_id(1) * BC + tl.arange(0, BC)
    b = tl.program_id(2)
    inside = (c < C)[:, None] & (p < area)[None, :]
    v = tl.load(x + (b * C + c[:, None]) * area + p[None, :], mask=inside, other=0.0)
    {row}
    tl.store(to + (b * {size} + {shift} + at)[None, :] * C + c[:, None], v, mask=inside)


@triton.jit
def arrange(weights, to, M, C, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    c = i % C
    m = i // C % M
    t = i // (C * M)
    v = tl.load(weights + {turned} * {conv.count} + t, mask=i < n, other=0.0)
    tl.store(to + i, v, mask=i < n)


"""
    if knobs["form"] == "unfolded":
        lines, there = _input(conv, knobs, "t")
        body = [
            "rn = tl.program_id(0) * B + tl.arange(0, B)",
            "k = tl.program_id(1)",
            f"c = k // {conv.count}",
            f"t = k % {conv.count}",
            *_pixels(conv),
            *lines,
            f"v = tl.load({_place(conv, 'c')}, mask=(rn < N) & {there}, other=0.0)",
            "tl.store(to + k * N + rn, v, mask=rn < N)",
        ]
        found += f"""@triton.jit
def unfold(x, to, N, C, high, wide, tall, across, B: tl.constexpr):
{block(body)}


"""
    if knobs["finish"] == "apart":
        found += """@triton.jit
def close(mid, bias, out, M, area, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(mid + i, mask=i < n, other=0.0)
    v += tl.load(bias + i // area % M, mask=i < n, other=0.0).to(tl.float32)
    tl.store(out + i, tl.maximum(v, 0.0), mask=i < n)


"""
    return found


def _launch(conv: _Conv, knobs: Knobs) -> list[str]:
    (m, n, k), form = knobs["tile"], knobs["form"]
    apart, each = knobs["finish"] == "apart", knobs["phase"] == "each"
    found = ["batch, C = x.shape[:2]", f"M = weights.shape[{1 if conv.turned else 0}]"]
    found += ["wide = x.shape[-1]", f"high = {'1' if conv.flat else 'x.shape[2]'}"]
    if conv.turned:
        found.append("tall, across = 1, 2 * wide")
    elif conv.stride == 1:
        found.append("tall, across = high, wide")
    else:
        found.append(f"tall, across = (high - 1) // {conv.stride} + 1, (wide - 1) // {conv.stride} + 1")
    shape = "(batch, M, across)" if conv.flat else "(batch, M, tall, across)"
    found.append(f"out = torch.empty({shape}, dtype=x.dtype, device=x.device)")
    if each:
        found.append("across = wide")
    found.append("N = tall * across" if form == "image" else "N = batch * tall * across")
    given = "x, weights"
    if form == "packed":
        pad = conv.pad
        sides = f"wide + {2 * pad}" if conv.flat else f"high + {2 * pad}, wide + {2 * pad}"
        sides = sides if pad else "high, wide"
        found += [
            f"laid = torch.{'zeros' if pad else 'empty'}((batch, {sides}, C), dtype=x.dtype, device=x.device)",
            "area = high * wide",
            "pack[(triton.cdiv(area, 64), triton.cdiv(C, 64), batch)](",
            f"    x, laid, C, area, wide, P={pad}, BP=64, BC=64, num_warps=4",
            ")",
            f"turned = torch.empty(({conv.count}, M, C), dtype=x.dtype, device=x.device)",
            "arrange[(triton.cdiv(turned.numel(), 1024),)](weights, turned, M, C, turned.numel(), B=1024)",
            *([f"high, wide = high + {2 * pad}, wide + {2 * pad}"] if pad else []),
        ]
        given = "laid, turned"
    if form == "unfolded":
        found += [
            f"rows = torch.empty((C * {conv.count}, N), dtype=x.dtype, device=x.device)",
            f"unfold[(triton.cdiv(N, 1024), C * {conv.count})](x, rows, N, C, high, wide, tall, across, B=1024)",
        ]
        given = "rows, weights"
    if apart:
        found.append("mid = torch.empty_like(out, dtype=torch.float32)")
    tiles = f"triton.cdiv(M, {m}) * triton.cdiv(N, {n})"
    if knobs["order"] == "persistent":
        tiles = f"min({MULTIPROCESSORS}, {tiles})"
    bias = ", bias" if conv.relu and not apart else ""
    found += [
        f"body[({tiles},{' 2' if each else ' batch' if form == 'image' else ''})](",
        f"    {given}{bias}, {'mid' if apart else 'out'}, N, M, C, high, wide, tall, across,",
        f"    BM={m}, BN={n},{'' if form == 'direct' else f' BK={k},'}",
        f"    num_warps={knobs['warps']}, num_stages={knobs['stages']},",
        ")",
    ]
    if apart:
        found.append("close[(triton.cdiv(out.numel(), 1024),)](mid, bias, out, M, tall * across, out.numel(), B=1024)")
    return [*found, "return out"]


def _render(conv: _Conv) -> Callable[[Knobs], str]:
    inputs = "x, weights, bias" if conv.relu else "x, weights"

    def render(knobs: Knobs) -> str:
        given = "x, weights" if knobs["finish"] == "apart" else inputs
        depth = "" if knobs["form"] == "direct" else ", BK: tl.constexpr"
        text = f"""{_extra_kernels(conv, knobs)}@triton.jit
def body(
    {given}, out, N, M, C, high, wide, tall, across, BM: tl.constexpr, BN: tl.constexpr{depth}
):
{block(_body(conv, knobs))}


def kernel({inputs}):
{block(_launch(conv, knobs))}
"""
        return source(text, knobs["slip"])

    return render


def _template(conv: _Conv) -> Template:
    slips = _KNOBS["slip"] if conv.count > 1 else tuple(s for s in _KNOBS["slip"] if s not in ("mirrored", "padding"))
    knobs = {
        **_KNOBS,
        "form": (*_KNOBS["form"], *(("image",) if conv.count == 1 else ())),
        "finish": _KNOBS["finish"] if conv.relu else ("together",),
        "phase": _KNOBS["phase"] if conv.turned else ("all",),
        "slip": slips,
    }
    return Template(conv.task, "triton", knobs, _render(conv), _single_valid if conv.count == 1 else _several_valid)


TEMPLATES = tuple(
    _template(conv)
    for conv in (
        _Conv("conv1d", (1, 5), pad=2),
        _Conv("conv2d_3x3", (3, 3), pad=1),
        _Conv("conv2d_1x1", (1, 1)),
        _Conv("conv2d_3x3_relu", (3, 3), stride=2, pad=1, relu=True),
        _Conv("conv_transpose1d", (1, 4), stride=2, pad=1, turned=True),
    )
)
