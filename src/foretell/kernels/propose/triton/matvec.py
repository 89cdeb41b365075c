"""Triton templates of the products of a matrix and a vector: tiles of outputs and depth, split sums, dots; slips.

An output is a sum over the depth, which is K long; `turned` says that the outputs of one depth lie side by side.
"""

from __future__ import annotations

from dataclasses import dataclass

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import MULTIPROCESSORS, block, nested, source

# Outputs and depth of a tile, the plainest first.
_ALONG = (
    (1, 1024), (1, 256), (1, 512), (1, 2048), (1, 4096), (2, 512), (4, 256), (4, 512), (4, 1024),
    (8, 128), (8, 256), (8, 512), (16, 64), (16, 128), (16, 256), (32, 64), (32, 128), (64, 32), (128, 16),
)  # fmt: skip
_SHORT = (
    (1, 1024), (1, 128), (1, 256), (1, 512), (2, 256), (2, 512), (4, 128), (4, 256), (4, 512),
    (8, 128), (8, 256), (16, 64), (16, 128), (16, 256), (32, 32), (32, 64), (32, 128), (64, 64), (64, 16),
)  # fmt: skip
_ACROSS = (
    (64, 16), (16, 64), (32, 32), (32, 128), (64, 64), (128, 4), (128, 8), (128, 16), (128, 32), (128, 64),
    (256, 4), (256, 8), (256, 16), (256, 32), (512, 4), (512, 8), (512, 16), (1024, 4), (1024, 8),
)  # fmt: skip


@dataclass(frozen=True)
class _Vector:
    """Which product: the order of its inputs, the tiles, the numbers of parts of a split sum, the type to slip to."""

    tiles: tuple[tuple[int, int], ...]
    splits: tuple[int, ...]
    inputs: str = "a, x"
    turned: bool = False
    batched: bool = False
    narrow: str = "a.dtype.element_ty"


def _knobs(vector: _Vector) -> dict[str, tuple[object, ...]]:
    return {
        "shape": ("tile", "persistent", "atomic", "parts", "dot", *(() if vector.turned else ("single",))),
        "tile": vector.tiles,
        "warps": (4, 1, 2, 8, 16),
        "splits": (1, *vector.splits),
        "carry": ("lanes", "scalar"),
        "stages": (1, 3),
        "hint": ("", "evict_first"),
        "programs": (4, 1, 8),
        "slip": ("none", "undefined", "unmasked", "narrow", "tail", "empty"),
    }


def _valid(vector: _Vector, knobs: Knobs) -> bool:
    shape, (outs, depth), warps, splits = knobs["shape"], knobs["tile"], knobs["warps"], knobs["splits"]
    middle = vector.splits[1]
    share = outs * depth // (32 * warps)
    away = (knobs["carry"] != "lanes") + (knobs["stages"] != 1) + (knobs["hint"] != "")
    if (splits > 1) != (shape in ("atomic", "parts")) or not 4 <= share <= 64:
        return False
    if shape != "persistent" and knobs["programs"] != 4:
        return False
    if vector.turned and splits == 1 and depth < 16:
        # One program would take too many steps.
        return False
    usual = warps == 4 or (warps == 8 and share >= 32) or (warps == 2 and share <= 8)
    if shape == "tile":
        sound = away == 0 or (away == 1 and warps == 4 and (knobs["carry"] == "lanes" or outs > 1))
    elif shape == "persistent":
        sound = usual and away == 0 and (knobs["programs"] == 4 or warps == 4) and (outs <= 16 or vector.turned)
    elif shape == "dot":
        sound = usual and outs >= 16 and depth >= 16 and knobs["carry"] == "lanes" and knobs["hint"] == ""
    elif shape == "single":
        # A step of the depth at a time: the tile's depth plays no part.
        sound = away == 0 and outs >= 32 and depth == max(d for o, d in vector.tiles if o == outs) and warps <= 4
    else:
        sound = warps == 4 and (away == 0 or (knobs["stages"] == 3 and away == 1 and splits == middle))
        sound = sound and (outs > 1 or shape == "parts")
    if knobs["slip"] == "none" or not sound:
        return bool(sound)
    if (knobs["slip"] == "empty") != (shape == "atomic") or away or warps != 4:
        return False
    if shape == "atomic":
        return bool(splits == middle and share == 16)
    return bool(
        shape == "tile"
        and share in ((8, 16, 32) if vector.turned else (8, 16))
        and (outs > 2 or depth == 1024)
        and depth not in (4, 8)
    )


def _loads(vector: _Vector, knobs: Knobs) -> tuple[str, str]:
    """Statements that read a piece of the vector and a tile of the matrix."""
    single = knobs["shape"] == "single"
    widen = "" if knobs["shape"] == "dot" else ".to(tl.float32)"
    hint = f', eviction_policy="{knobs["hint"]}"' if knobs["hint"] else ""
    lead = ("batch * K + ", "batch * O * K + ") if vector.batched else ("", "")
    if single:
        return (
            f"v = tl.load(x + {lead[0]}i){widen}",
            f"w = tl.load(a + {lead[1]}ro * K + i, mask=ro < O, other=0.0{hint}){widen}",
        )
    out, deep = ("[None, :]", "[:, None]") if vector.turned else ("[:, None]", "[None, :]")
    spot = f"ri{deep} * O + ro{out}" if vector.turned else f"ro{out} * K + ri{deep}"
    masks = [f"(ro{out} < O)"]
    given = ""
    if knobs["slip"] != "unmasked":
        masks.append(f"(ri{deep} < K)")
        given = ", mask=ri < K, other=0.0"
    return (
        f"v = tl.load(x + {lead[0]}ri{given}){widen}",
        f"w = tl.load(a + {lead[1]}{spot}, mask={' & '.join(masks)}, other=0.0{hint}){widen}",
    )


def _summed(vector: _Vector, knobs: Knobs) -> tuple[str, list[str], str]:
    """How the sum starts, what a step adds, and how `y` comes out of it."""
    axis, deep = (0, "[:, None]") if vector.turned else (1, "[None, :]")
    if knobs["shape"] == "single":
        return "acc = tl.zeros((BO,), tl.float32)", ["acc += w * v"], "y = acc"
    if knobs["shape"] == "dot":
        dims, spread, pair = "(BO, 16)", "v[:, None], (BI, 16)", "w, u"
        if vector.turned:
            dims, spread, pair = "(16, BO)", "v[None, :], (16, BI)", "u, w"
        steps = [f"u = tl.broadcast_to({spread})", f'acc = tl.dot({pair}, acc, input_precision="ieee")']
        return f"acc = tl.zeros({dims}, tl.float32)", steps, f"y = tl.max(acc, {axis})"
    dtype = vector.narrow if knobs["slip"] == "narrow" else "tl.float32"
    product = f"w * v{deep}"
    if knobs["carry"] == "scalar":
        return "acc = tl.zeros((BO,), tl.float32)", [f"acc += tl.sum({product}, {axis})"], "y = acc"
    dims = "(BI, BO)" if vector.turned else "(BO, BI)"
    add = f"acc += ({product}).to({dtype})" if knobs["slip"] == "narrow" else f"acc += {product}"
    return f"acc = tl.zeros({dims}, {dtype})", [add], f"y = tl.sum(acc, {axis})"


def _body(vector: _Vector, knobs: Knobs) -> list[str]:
    shape = knobs["shape"]
    batch = ["batch = tl.program_id(2)"] if vector.batched else []
    start, stop, step = "0", "K // BI * BI" if knobs["slip"] == "tail" else "K", "BI"
    head: list[str] = []
    if shape == "atomic":
        start, step = "tl.program_id(1) * BI", "tl.num_programs(1) * BI"
    if shape == "parts":
        start, stop = "near", "tl.minimum(near + share, K)"
        head = ["share = tl.cdiv(tl.cdiv(K, BI), tl.num_programs(1)) * BI", "near = tl.program_id(1) * share"]
    if shape == "single":
        step = "1"
    made, adds, close = _summed(vector, knobs)
    stages = f", num_stages={knobs['stages']}" if knobs["stages"] > 1 else ""
    loop = (
        f"for i in tl.range({start}, {stop}, {step}{stages}):"
        if stages
        else f"for i in range({start}, {stop}, {step}):"
    )
    index = [] if shape == "single" else ["ri = i + tl.arange(0, BI)"]
    spot = "batch * O + ro" if vector.batched else "ro"
    if shape == "atomic":
        end = f"tl.atomic_add(out + {spot}, y, mask=ro < O)"
    elif shape == "parts":
        size = "O * tl.num_programs(2)" if vector.batched else "O"
        end = f"tl.store(out + tl.program_id(1) * {size} + {spot}, y, mask=ro < O)"
    else:
        end = f"tl.store(out + {spot}, y.to(out.dtype.element_ty), mask=ro < O)"
    tile = "t" if shape == "persistent" else "tl.program_id(0)"
    work = [f"ro = {tile} * BO + tl.arange(0, BO)", *head, made]
    work += [nested(loop, [*index, *_loads(vector, knobs), *adds]), close, end]
    if shape == "persistent":
        work = [nested("for t in range(tl.program_id(0), tl.cdiv(O, BO), tl.num_programs(0)):", work)]
    return [*batch, *work]


_CLOSE = """@triton.jit
def close(w, out, T, P, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for p in range(0, P):
        acc += tl.load(w + p * T + at, mask=at < T, other=0.0)
    tl.store(out + at, acc.to(out.dtype.element_ty), mask=at < T)


"""


def _render(vector: _Vector, knobs: Knobs) -> str:
    shape, (outs, depth), splits = knobs["shape"], knobs["tile"], knobs["splits"]
    split = splits > 1
    tiles = f"triton.cdiv(O, {outs})"
    if shape == "persistent":
        tiles = f"min({MULTIPROCESSORS * knobs['programs']}, {tiles})"
    grid = f"({tiles}, {splits}, a.shape[0])" if vector.batched else f"({tiles}, {splits})" if split else f"({tiles},)"
    dims = "(a.shape[0], O)" if vector.batched else "(O,)"
    launch = [
        "K, O = a.shape" if vector.turned else "O, K = a.shape[-2:]",
        f"out = torch.empty({dims}, dtype=a.dtype, device=a.device)",
    ]
    if split:
        made = "zeros" if shape == "atomic" and knobs["slip"] != "empty" else "empty"
        deep = splits if shape == "parts" else 1
        launch.append(f"w = torch.{made}({deep} * out.numel(), dtype=torch.float32, device=a.device)")
    depth_given = "" if shape == "single" else f" BI={depth},"
    launch += [
        f"body[{grid}](",
        f"    a, x, {'w' if split else 'out'}, O, K, BO={outs},{depth_given} num_warps={knobs['warps']},",
        ")",
    ]
    if split:
        parts = splits if shape == "parts" else 1
        launch.append(f"close[(triton.cdiv(out.numel(), 256),)](w, out, out.numel(), {parts}, B=256)")
    depth_named = "" if shape == "single" else ", BI: tl.constexpr"
    text = f"""@triton.jit
def body(a, x, out, O, K, BO: tl.constexpr{depth_named}):
{block(_body(vector, knobs))}


{_CLOSE if split else ""}def kernel({vector.inputs}):
{block([*launch, "return out"])}
"""
    return source(text, knobs["slip"])


def _template(task: str, vector: _Vector) -> Template:
    return Template(
        task, "triton", _knobs(vector), lambda knobs: _render(vector, knobs), lambda knobs: _valid(vector, knobs)
    )


TEMPLATES = (
    _template("matvec", _Vector(_ALONG, (2, 4, 8))),
    _template("vecmat", _Vector(_ACROSS, (8, 32, 128), inputs="x, a", turned=True)),
    _template("batched_matvec", _Vector(_SHORT, (2, 4), batched=True, narrow="tl.float16")),
)
