"""Triton templates of the matrix products: tiles, order of tiles, persistent programs, split sums, stages; slips."""

from __future__ import annotations

from dataclasses import dataclass

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import MULTIPROCESSORS, block, nested, source

_KNOBS = {
    "shape": ("tile", "grouped", "persistent", "split"),
    "tile": (
        (64, 64, 32),
        (16, 64, 64),
        (32, 32, 32),
        (64, 64, 64),
        (128, 64, 32),
        (64, 128, 64),
        (128, 128, 32),
        (128, 128, 64),
        (128, 256, 64),
        (256, 128, 64),
        (256, 128, 128),
    ),
    "warps": (4, 2, 8),
    "stages": (3, 1, 2, 4, 5),
    "group": (8, 4, 16),
    "splits": (1, 2, 4, 8),
    "walk": ("index", "advance"),
    "slip": ("none", "undefined", "unmasked", "narrow", "empty", "crossed", "halved"),
}


@dataclass(frozen=True)
class _Product:
    """Which product: the second factor transposed, a batch axis, a bias with GELU after it."""

    transposed: bool = False
    batched: bool = False
    gelu: bool = False


def _valid(knobs: Knobs) -> bool:
    shape, (m, n, k), warps, stages = knobs["shape"], knobs["tile"], knobs["warps"], knobs["stages"]
    if (shape == "split") != (knobs["splits"] > 1):
        return False
    if shape != "grouped" and knobs["group"] != 8:
        return False
    fits = {2: m * n <= 64 * 64, 4: m * n <= 128 * 128, 8: m * n >= 128 * 64}
    if not fits[warps]:
        return False
    if shape == "tile" and (knobs["walk"] != "index" or stages == 5 or (stages == 1 and warps != 4)):
        return False
    if shape in ("grouped", "persistent") and (m < 64 or warps == 2 or stages < 3 or m * n < 64 * 128):
        return False
    if shape == "grouped" and stages == 5 and knobs["walk"] == "index":
        return False
    if knobs["group"] != 8 and not (m * n >= 128 * 128 and stages == 3 and k == 64):
        return False
    if shape == "persistent" and (knobs["walk"] != "advance" or (stages == 5 and k != 64)):
        return False
    if shape == "split" and (k == 128 or stages != 3 or warps == 2 or m != n or m < 64 or knobs["walk"] != "index"):
        return False
    slip = knobs["slip"]
    if slip == "none":
        return True
    if (slip == "empty") != (shape == "split") or (slip in ("crossed", "halved") and shape != "tile"):
        return False
    usual = warps == 4 and stages == 3 and knobs["group"] == 8 and (m, n, k) in ((64, 64, 64), (128, 128, 64))
    return bool(usual and (shape in ("tile", "split") or (shape == "grouped" and knobs["walk"] == "advance")))


def _sum(product: _Product, knobs: Knobs) -> list[str]:
    """Statements that leave the tile's `acc` for rows `rm` and columns `rn`."""
    slip = knobs["slip"]
    lead = "batch * M * K + " if product.batched else ""
    second = "batch * K * N + " if product.batched else ""
    rows, cols = "rm[:, None]", "rn[None, :]"
    wrap = knobs["walk"] == "advance"
    if wrap:
        rows, cols = "(rm % M)[:, None]", "(rn % N)[None, :]"
    depth = "rk" if wrap else "(k + rk)"
    left = f"a + {lead}{rows} * K + {depth}[None, :]"
    strided = f"{cols} * K + {depth}[:, None]" if product.transposed else f"{depth}[:, None] * N + {cols}"
    if slip == "crossed":
        strided = f"{depth}[:, None] * N + {cols}" if product.transposed else f"{cols} % K * N + {depth}[:, None] % N"
    right = f"b + {second}{strided}"
    masks: list[list[str]] = [[], []]
    if slip != "unmasked":
        masks = [["(rk < K - k)[None, :]"], ["(rk < K - k)[:, None]"]]
    if not wrap:
        masks = [["(rm[:, None] < M)", *masks[0]], ["(rn[None, :] < N)", *masks[1]]]
    loads = []
    for name, pointer, parts in (("x", "pa" if wrap else left, masks[0]), ("y", "pb" if wrap else right, masks[1])):
        mask = f", mask={' & '.join(parts)}, other=0.0" if parts else ""
        loads.append(f"{name} = tl.load({pointer}{mask})")
    dtype = "tl.float16" if slip == "narrow" else "tl.float32"
    dot = "acc += tl.dot(x, y, out_dtype=tl.float16)" if slip == "narrow" else "acc = tl.dot(x, y, acc)"
    start, step = "0", "BK"
    if knobs["splits"] > 1:
        start, step = "tl.program_id(1) * BK", "tl.num_programs(1) * BK"
    moves: list[str] = []
    if wrap:
        moves = ["pa += BK", "pb += BK" if product.transposed else "pb += BK * N"]
    found = [f"pa = {left}", f"pb = {right}"] if wrap else []
    found.append(f"acc = tl.zeros((BM, BN), {dtype})")
    return [*found, nested(f"for k in range({start}, K, {step}):", [*loads, dot, *moves])]


def _finish(product: _Product, knobs: Knobs) -> list[str]:
    found: list[str] = []
    if product.gelu:
        found = [
            "acc += tl.load(bias + rn, mask=rn < N, other=0.0).to(tl.float32)[None, :]",
            "u = 0.7978845608 * (acc + 0.044715 * acc * acc * acc)",
            "acc = acc * tl.sigmoid(2.0 * u)",
        ]
    lead = "batch * M * N + " if product.batched else ""
    spot = f"c + {lead}rm[:, None] * N + rn[None, :]"
    mask = "mask=(rm[:, None] < M) & (rn[None, :] < N)"
    if knobs["splits"] > 1:
        value = "acc.to(tl.float32)" if knobs["slip"] == "narrow" else "acc"
        return [*found, f"tl.atomic_add({spot}, {value}, {mask})"]
    return [*found, f"tl.store({spot}, acc.to(c.dtype.element_ty), {mask})"]


def _placed(product: _Product, knobs: Knobs) -> list[str]:
    """The whole body: which tile a program computes, and the tile."""
    shape = knobs["shape"]
    tile = "t" if shape == "persistent" else "tl.program_id(0)"
    work = ["batch = tl.program_id(2)"] if product.batched else []
    if shape in ("tile", "split"):
        work += [f"pm = {tile} // tl.cdiv(N, BN)", f"pn = {tile} % tl.cdiv(N, BN)"]
    else:
        work += [
            f"first = {tile} // (G * tl.cdiv(N, BN)) * G",
            "size = tl.minimum(tl.cdiv(M, BM) - first, G)",
            f"rest = {tile} % (G * tl.cdiv(N, BN))",
            "pm = first + rest % size",
            "pn = rest // size",
        ]
    half = "pm * BM" if knobs["slip"] != "halved" else "pm * (BM // 2)"
    work += [f"rm = {half} + tl.arange(0, BM)", "rn = pn * BN + tl.arange(0, BN)", "rk = tl.arange(0, BK)"]
    work += [*_sum(product, knobs), *_finish(product, knobs)]
    if shape == "persistent":
        tiles = "tl.cdiv(M, BM) * tl.cdiv(N, BN)"
        return [nested(f"for t in range(tl.program_id(0), {tiles}, tl.num_programs(0)):", work)]
    return work


def _render(product: _Product, knobs: Knobs) -> str:
    shape, (m, n, k), split = knobs["shape"], knobs["tile"], knobs["splits"] > 1
    inputs = "a, b, bias" if product.gelu else "a, b"
    grouped = shape in ("grouped", "persistent")
    group, given = (", G: tl.constexpr", f" G={knobs['group']},") if grouped else ("", "")
    tiles = f"triton.cdiv(M, {m}) * triton.cdiv(N, {n})"
    if shape == "persistent":
        tiles = f"min({MULTIPROCESSORS}, {tiles})"
    grid = f"({tiles}, {knobs['splits']}, a.shape[0])" if product.batched else f"({tiles}, {knobs['splits']})"
    if not product.batched and not split:
        grid = f"({tiles},)"
    made = "zeros" if split and knobs["slip"] != "empty" else "empty"
    dims = "(a.shape[0], M, N)" if product.batched else "(M, N)"
    launch = [
        "M, K = a.shape[-2:]",
        f"N = b.shape[{-2 if product.transposed else -1}]",
        f"c = torch.{made}({dims}, dtype={'torch.float32' if split else 'a.dtype'}, device=a.device)",
        f"body[{grid}](",
        f"    {inputs}, c, M, N, K, BM={m}, BN={n}, BK={k},{given}",
        f"    num_warps={knobs['warps']}, num_stages={knobs['stages']},",
        ")",
        "return c.to(a.dtype)" if split else "return c",
    ]
    text = f"""@triton.jit
def body({inputs}, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr{group}):
{block(_placed(product, knobs))}


def kernel({inputs}):
{block(launch)}
"""
    return source(text, knobs["slip"])


def _template(task: str, product: _Product) -> Template:
    shapes = tuple(shape for shape in _KNOBS["shape"] if not (product.gelu and shape == "split"))
    knobs = {**_KNOBS, "shape": shapes}
    return Template(task, "triton", knobs, lambda chosen: _render(product, chosen), _valid)


TEMPLATES = (
    _template("matmul", _Product()),
    _template("matmul_transposed", _Product(transposed=True)),
    _template("matmul_bias_gelu", _Product(gelu=True)),
    _template("batched_matmul", _Product(batched=True)),
)
