"""Triton templates of further matrix products: tiles, their order, persistent programs, split sums, triangles; slips.

A product is a table entry: how the factors lie in memory and what follows the sum. The same statements finish a tile
where it was summed and in the second kernel (`close`) that adds up the parts of split sums.
"""

from __future__ import annotations

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import MULTIPROCESSORS, block, nested, source
from foretell.kernels.propose.triton.product_space import BYTES, FLOATS, PAIRED, SKINNY, Product, knobs_of, valid


def _slices(product: Product, knobs: Knobs) -> tuple[str, str, str]:
    """Where the loop over K starts, ends and how far it steps: parts of a split sum are woven or side by side."""
    if knobs["splits"] == 1:
        return "0", "K", "BK"
    if knobs["shape"] == "atomic":
        return "tl.program_id(1) * BK", "K", "tl.num_programs(1) * BK"
    return "first_k", "tl.minimum(first_k + share, K)", "BK"


def _heads(product: Product, knobs: Knobs) -> list[str]:
    """Statements before any tile."""
    found = ["batch = tl.program_id(2)"] if product.gathered else []
    if knobs["shape"] == "parts" and knobs["splits"] > 1:
        found += ["share = tl.cdiv(tl.cdiv(K, BK), tl.num_programs(1)) * BK", "first_k = tl.program_id(1) * share"]
    if knobs["walk"] == "descriptor":
        lead = ("batch * M * K", "batch * K * N") if product.gathered else ("", "")
        shape = ("[K, M], [M, 1], [BK, BM]", "[M, K], [K, 1], [BM, BK]")[not product.turned]
        found.append(f"da = tl.make_tensor_descriptor({' + '.join(filter(None, ('a', lead[0])))}, {shape})")
        shape = ("[N, K], [K, 1], [BN, BK]", "[K, N], [N, 1], [BK, BN]")[not product.across]
        for i, name in enumerate(product.factors):
            found.append(f"db{i} = tl.make_tensor_descriptor({' + '.join(filter(None, (name, lead[1])))}, {shape})")
    return found


def _reads(product: Product, knobs: Knobs) -> tuple[list[str], list[str], list[str]]:
    """Statements before the loop over K, the loads of a step, and the moves to the next step."""
    walk, (start, _, step) = knobs["walk"], _slices(product, knobs)
    if walk == "descriptor":
        loads = ["x = da.load([k, pm * BM]).T" if product.turned else "x = da.load([pm * BM, k])"]
        for i in range(len(product.factors)):
            loads.append(f"y{i} = db{i}.load([pn * BN, k]).T" if product.across else f"y{i} = db{i}.load([k, pn * BN])")
        return [], loads, []
    wrap = walk == "advance"
    rows, cols = ("(rm % M)[:, None]", "(rn % N)[None, :]") if wrap else ("rm[:, None]", "rn[None, :]")
    depth = ("rk" if start == "0" else f"({start} + rk)") if wrap else "(k + rk)"
    left = f"{depth}[None, :] * M + {rows}" if product.turned else f"{rows} * K + {depth}[None, :]"
    right = f"{cols} * K + {depth}[:, None]" if product.across else f"{depth}[:, None] * N + {cols}"
    if product.gathered:
        left, right = f"batch * M * K + {left}", f"batch * K * N + {right}"
    within = "" if knobs["slip"] == "unmasked" else "(rk < K - k)"
    setup, loads, moves = [], [], []
    named = [("x", "pa", "a", left, "(rm[:, None] < M)", "[None, :]", product.turned, "M")]
    for i, name in enumerate(product.factors):
        named.append((f"y{i}", f"pb{i}", name, right, "(rn[None, :] < N)", "[:, None]", not product.across, "N"))
    for value, pointer, name, spot, edge, axis, strided, pitch in named:
        parts = [part for part in ("" if wrap else edge, within and within + axis) if part]
        mask = f", mask={' & '.join(parts)}, other=0" if parts else ""
        loads.append(f"{value} = tl.load({pointer if wrap else f'{name} + {spot}'}{mask})")
        if wrap:
            setup.append(f"{pointer} = {name} + {spot}")
            moves.append(f"{pointer} += {step}{f' * {pitch}' if strided else ''}")
    return setup, loads, moves


def _step(product: Product, knobs: Knobs, i: int) -> str:
    """The statement that adds a step's product to a sum."""
    acc, slip = _sums(product)[i], knobs["slip"]
    if knobs["shape"] == "lanes":
        return f"{acc} += tl.sum(x.to({product.total})[:, :, None] * y{i}.to({product.total})[None, :, :], 1)"
    if slip == "narrow":
        return f"{acc} = ({acc}.to(tl.float32) + tl.dot(x, y{i}).to(tl.float32)).to({_narrow(product)})"
    precision = "tf32" if slip == "coarse" else knobs["precision"]
    given = f', input_precision="{precision}"' if precision else ""
    given += ", out_dtype=tl.int32" if product.total == "tl.int32" else ""
    return f"{acc} = tl.dot(x, y{i}, {acc}{given})"


def _narrow(product: Product) -> str:
    return "tl.float16" if product.total == "tl.int32" else "a.dtype.element_ty"


def _sums(product: Product) -> list[str]:
    return ["acc", "acc1"][: len(product.factors)]


def _tile(product: Product, knobs: Knobs) -> list[str]:
    """Statements that sum the tile (pm, pn) and put it where it belongs."""
    start, stop, step = _slices(product, knobs)
    setup, loads, moves = _reads(product, knobs)
    dtype = _narrow(product) if knobs["slip"] == "narrow" else product.total
    adds = [_step(product, knobs, i) for i in range(len(product.factors))]
    return [
        f"rm = pm * {'(BM // 2)' if knobs['slip'] == 'halved' else 'BM'} + tl.arange(0, BM)",
        "rn = pn * BN + tl.arange(0, BN)",
        "" if knobs["walk"] == "descriptor" else "rk = tl.arange(0, BK)",
        *setup,
        *(f"{name} = tl.zeros((BM, BN), {dtype})" for name in _sums(product)),
        nested(f"for k in range({start}, {stop}, {step}):", [*loads, *adds, *moves]),
        *_ends(product, knobs),
    ]


def _ends(product: Product, knobs: Knobs) -> list[str]:
    """Statements that store a tile, add it to what other programs summed, or keep it for the second kernel."""
    shape = knobs["shape"]
    if product.fold and shape != "whole":
        # Columns past the last are the first ones again where pointers wrap around.
        wrapped = ["acc = tl.where((rn < N)[None, :], acc, 0.0)"] if knobs["walk"] == "advance" else []
        return [*wrapped, "tl.atomic_add(c + rm, tl.sum(acc.to(tl.float32), 1), mask=rm < M)"]
    lead = "batch * M * N + " if product.gathered else ""
    found = [f"at = {lead}rm[:, None] * N + rn[None, :]", "inside = (rm[:, None] < M) & (rn[None, :] < N)"]
    if not _closes(product, knobs):
        found += [*_finish(product, knobs), "tl.store(c + at, acc.to(c.dtype.element_ty), mask=inside)"]
        if shape in ("skip", "triangle"):
            back = "rn[:, None] * N + rm[None, :]"
            mask = "(rn[:, None] < N) & (rm[None, :] < M)"
            found.append(f"tl.store(c + {back}, tl.trans(acc).to(c.dtype.element_ty), mask={mask})")
        return found
    size = "M * N * tl.num_programs(2)" if product.gathered else "M * N"
    for i, acc in enumerate(_sums(product)):
        spot = "c" + (f" + {size}" if i else "")
        if shape == "atomic":
            found.append(f"tl.atomic_add({spot} + at, {acc}.to({product.total}), mask=inside)")
        else:
            part = "tl.program_id(1)" if i == 0 else "(tl.num_programs(1) + tl.program_id(1))"
            spot = f"c + {part} * {size} + " if shape == "parts" else f"{spot} + "
            found.append(f"tl.store({spot}at, {acc}.to(c.dtype.element_ty), mask=inside)")
    return found


def _finish(product: Product, knobs: Knobs) -> tuple[str, ...]:
    return product.bent if knobs["slip"] == "bent" else product.finish


def _closes(product: Product, knobs: Knobs) -> bool:
    """Is there a second kernel?"""
    return knobs["shape"] in ("parts", "side", "whole") or (knobs["shape"] == "atomic" and not product.fold)


def _body(product: Product, knobs: Knobs) -> list[str]:
    """The main kernel: which tiles a program computes, and the tiles."""
    shape, work = knobs["shape"], _tile(product, knobs)
    tile, tiles = "tl.program_id(0)", "tl.cdiv(M, BM) * tl.cdiv(N, BN)"
    ordered = [
        "first = TILE // (G * tl.cdiv(N, BN)) * G",
        "size = tl.minimum(tl.cdiv(M, BM) - first, G)",
        "rest = TILE % (G * tl.cdiv(N, BN))",
        "pm = first + rest % size",
        "pn = rest // size",
    ]
    heads = _heads(product, knobs)
    if shape == "persistent":
        inner = [line.replace("TILE", "t") for line in ordered] + work
        return [*heads, nested(f"for t in range({tile}, {tiles}, tl.num_programs(0)):", inner)]
    if shape == "grouped":
        return [*heads, *(line.replace("TILE", tile) for line in ordered), *work]
    if shape == "triangle":
        find = [
            f"t = {tile}",
            "pm = ((tl.sqrt(8.0 * t + 1.0) - 1.0) * 0.5).to(tl.int32)",
            "pm = tl.where((pm + 1) * (pm + 2) // 2 <= t, pm + 1, pm)",
            "pm = tl.where(pm * (pm + 1) // 2 > t, pm - 1, pm)",
            "pn = t - pm * (pm + 1) // 2",
        ]
        return [*heads, *find, *work]
    find = [f"pm = {tile} // tl.cdiv(N, BN)", f"pn = {tile} % tl.cdiv(N, BN)"]
    if shape == "band":
        return [*heads, f"pm = {tile}", nested("for pn in range(0, tl.cdiv(N, BN)):", work)]
    if shape == "skip":
        return [*heads, *find, nested("if pn * BN < (pm + 1) * BM:", work)]
    return [*heads, *find, *work]


def _second(product: Product, knobs: Knobs) -> str:
    """The kernel that adds up the parts and finishes."""
    if product.fold:
        lines = [
            "r = tl.program_id(0)",
            "total = tl.zeros((BC,), tl.float32)",
            nested(
                "for j in range(0, N, BC):",
                [
                    "rc = j + tl.arange(0, BC)",
                    "total += tl.load(w + r * N + rc, mask=rc < N, other=0.0).to(tl.float32)",
                ],
            ),
            "tl.store(c + r, tl.sum(total, 0))",
        ]
        return f"@triton.jit\ndef close(w, c, N, BC: tl.constexpr):\n{block(lines)}\n\n\n"
    loads = ["acc += tl.load(w + p * M * N + at, mask=inside, other=0)"]
    loads += ["acc1 += tl.load(w + (P + p) * M * N + at, mask=inside, other=0)"] if len(product.factors) > 1 else []
    lines = [
        "rm = tl.program_id(0) * BR + tl.arange(0, BR)",
        "rn = tl.program_id(1) * BC + tl.arange(0, BC)",
        "at = rm[:, None] * N + rn[None, :]",
        "inside = (rm[:, None] < M) & (rn[None, :] < N)",
        *(f"{name} = tl.zeros((BR, BC), {product.total})" for name in _sums(product)),
        nested("for p in range(0, P):", loads),
        *_finish(product, knobs),
        "tl.store(c + at, acc.to(c.dtype.element_ty), mask=inside)",
    ]
    given = "".join(f", {name}" for name in product.late)
    head = f"def close(w{given}, c, M, N, P, BR: tl.constexpr, BC: tl.constexpr):"
    return f"@triton.jit\n{head}\n{block(lines)}\n\n\n"


_TURN = """@triton.jit
def turn(a, w, M, K, B: tl.constexpr):
    rm = tl.program_id(0) * B + tl.arange(0, B)
    rk = tl.program_id(1) * B + tl.arange(0, B)
    inside = (rm[None, :] < M) & (rk[:, None] < K)
    x = tl.load(a + rk[:, None] * M + rm[None, :], mask=inside, other=0.0)
    tl.store(w + rm[None, :] * K + rk[:, None], x, mask=inside)


"""
_AHEAD = """@triton.jit
def fold(b, s, K, N, BR: tl.constexpr, BC: tl.constexpr):
    rk = tl.program_id(0) * BR + tl.arange(0, BR)
    acc = tl.zeros((BR, BC), tl.float32)
    for j in range(0, N, BC):
        rn = j + tl.arange(0, BC)
        inside = (rk[:, None] < K) & (rn[None, :] < N)
        acc += tl.load(b + rk[:, None] * N + rn[None, :], mask=inside, other=0.0).to(tl.float32)
    tl.store(s + rk, tl.sum(acc, 1), mask=rk < K)


@triton.jit
def body(a, s, c, M, K, BM: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    acc = tl.zeros((BM, BK), tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        inside = (rm[:, None] < M) & (rk[None, :] < K)
        x = tl.load(a + rm[:, None] * K + rk[None, :], mask=inside, other=0.0)
        acc += x * tl.load(s + rk, mask=rk < K, other=0.0)[None, :]
    tl.store(c + rm, tl.sum(acc, 1), mask=rm < M)


def kernel(a, b):
    M, K = a.shape
    N = b.shape[1]
    s = torch.empty((K,), dtype=torch.float32, device=a.device)
    c = torch.empty((M,), dtype=torch.float32, device=a.device)
    fold[(triton.cdiv(K, {rows}),)](b, s, K, N, BR={rows}, BC={n}, num_warps={warps})
    body[(triton.cdiv(M, {rows}),)](a, s, c, M, K, BM={rows}, BK={k}, num_warps={warps})
    return c
"""
_ALLOCATOR = """def room(size, align, stream):
    return torch.empty(size, dtype=torch.int8, device="cuda")


"""


def _launch(product: Product, knobs: Knobs) -> list[str]:
    """The host function's statements."""
    shape, (m, n, k), splits = knobs["shape"], knobs["tile"], knobs["splits"]
    first = product.factors[0]
    work = {"tl.int32": "torch.int32"}.get(product.total, "torch.float32")
    out = "torch.int32" if product.total == "tl.int32" else "torch.float32" if product.fold else "a.dtype"
    tiles = f"triton.cdiv(M, {m}) * triton.cdiv(N, {n})"
    if shape == "persistent":
        tiles = f"min({MULTIPROCESSORS}, {tiles})"
    if shape == "band":
        tiles = f"triton.cdiv(M, {m})"
    if shape == "triangle":
        tiles = f"triton.cdiv(M, {m}) * (triton.cdiv(M, {m}) + 1) // 2"
    grid = f"({tiles},)"
    if splits > 1 or product.gathered:
        grid = f"({tiles}, {splits}, groups)" if product.gathered else f"({tiles}, {splits})"
    rows = "a.shape[0]" if product.gathered else "M"
    found = ["K, M = a.shape"] if product.turned else ["M, K = a.shape"]
    if product.gathered:
        found = ["K = a.shape[1]", f"groups, N = {first}.shape[0], {first}.shape[2]", "M = a.shape[0] // groups"]
    else:
        found.append(f"N = {first}.shape[{0 if product.across else 1}]")
    found += ["triton.set_allocator(room)"] if knobs["walk"] == "descriptor" else []
    added = product.fold and shape != "whole"
    made = "zeros" if added and knobs["slip"] != "empty" else "empty"
    dims = "(M,)" if product.fold else f"({rows}, N)"
    found.append(f"c = torch.{made}({dims}, dtype={out}, device=a.device)")
    closes = _closes(product, knobs)
    if closes:
        fills = "zeros" if shape == "atomic" and knobs["slip"] != "empty" else "empty"
        deep = len(product.factors) * (splits if shape == "parts" else 1)
        stored = "a.dtype" if shape == "whole" else work
        found.append(f"w = torch.{fills}(({deep}, {rows}, N), dtype={stored}, device=a.device)")
    if shape == "copy":
        found += [
            "w = torch.empty((M, K), dtype=a.dtype, device=a.device)",
            "turn[(triton.cdiv(M, 64), triton.cdiv(K, 64))](a, w, M, K, B=64, num_warps=4)",
        ]
    group = f" G={knobs['group']}," if shape in ("grouped", "persistent") else ""
    numbers = f"BM={m}, BN={n}, BK={k},{group} num_warps={knobs['warps']}, num_stages={knobs['stages']}"
    target = "w" if closes else "c"
    left = "w" if shape == "copy" else "a"
    if shape == "side":
        found += [f"body[{grid}](a, {name}, w[{i}], M, N, K, {numbers})" for i, name in enumerate(product.factors)]
    else:
        names = ", ".join(dict.fromkeys((left, *product.factors, *(() if closes else product.late))))
        found += [f"body[{grid}](", f"    {names}, {target}, M, N, K,", f"    {numbers},", ")"]
    if closes and product.fold:
        found.append("close[(M,)](w, c, N, BC=1024, num_warps=4)")
    elif closes:
        given = "".join(f", {name}" for name in product.late)
        parts = splits if shape == "parts" else 1
        found.append(
            f"close[(triton.cdiv({rows}, 8), triton.cdiv(N, 256))](w{given}, c, {rows}, N, {parts}, BR=8, BC=256)"
        )
    return [*found, "return c"]


def _render(product: Product, knobs: Knobs) -> str:
    shape, closes = knobs["shape"], _closes(product, knobs)
    if shape == "ahead":
        m, n, k = knobs["tile"]
        return source(_AHEAD.format(rows=m // 8, n=n, k=k * 4, warps=knobs["warps"]))
    summed = product
    if shape == "copy":
        summed = Product(product.tiles, finish=product.finish)
    if shape == "side":
        summed = Product(product.tiles)
    names = ", ".join(dict.fromkeys(("a", *summed.factors, *(() if closes else product.late))))
    group = ", G: tl.constexpr" if shape in ("grouped", "persistent") else ""
    text = _ALLOCATOR if knobs["walk"] == "descriptor" else ""
    text += _TURN if shape == "copy" else ""
    text += f"""@triton.jit
def body({names}, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr{group}):
{block(_body(summed, knobs))}


{_second(product, knobs) if closes else ""}def kernel({", ".join(product.inputs)}):
{block(_launch(product, knobs))}
"""
    return source(text, knobs["slip"])


def _template(task: str, product: Product) -> Template:
    return Template(
        task,
        "triton",
        knobs_of(product),
        lambda knobs: _render(product, knobs),
        lambda knobs: valid(product, knobs),
    )


_SCALED = (
    "left = tl.load(rows + rm, mask=rm < M, other=0.0).to(tl.float32)",
    "top = tl.load(cols + rn, mask=rn < N, other=0.0).to(tl.float32)",
    "acc = acc * left[:, None] * top[None, :]",
)
_RESIDUAL = "acc = acc + tl.load(residual + at, mask=inside, other=0.0).to(tl.float32)"

TEMPLATES = (
    _template("matmul_at", Product(turned=True, own=("copy",))),
    _template("matmul_relu", Product(finish=("acc = tl.maximum(acc, 0.0)",), bent=("acc = tl.minimum(acc, 0.0)",))),
    _template(
        "matmul_residual",
        Product(late=("residual",), finish=(_RESIDUAL,), bent=(_RESIDUAL.replace("acc + ", "acc - "),)),
    ),
    _template(
        "matmul_scaled_rows",
        Product(
            late=("rows", "cols"), finish=_SCALED, bent=(*_SCALED[:2], "acc = acc * (left[:, None] + top[None, :])")
        ),
    ),
    _template(
        "matmul_silu_gate",
        Product(
            PAIRED,
            factors=("gate", "up"),
            finish=("acc = acc * tl.sigmoid(acc) * acc1",),
            bent=("acc = acc * tl.sigmoid(acc1) * acc1",),
            own=("side",),
        ),
    ),
    _template("matmul_skinny", Product(SKINNY)),
    _template("matmul_float32", Product(FLOATS, precisions=("ieee", "tf32x3"))),
    _template("matmul_int8", Product(BYTES, total="tl.int32")),
    _template("grouped_matmul", Product(gathered=True)),
    _template("matmul_sum_rows", Product(fold=True, own=("band", "whole", "ahead"))),
    _template("gram", Product(factors=("a",), across=True, own=("skip", "triangle"))),
)
