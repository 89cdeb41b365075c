"""Triton templates of further gathers and scatters: maps over the output, atomics, owners that search; slips."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import HEAD, block, nested
from foretell.kernels.propose.triton.maps import MAP_KNOBS, Load, MapOp, map_source, map_valid

_HINTS = {"plain": "", "first": ', eviction_policy="evict_first"', "last": ', eviction_policy="evict_last"'}
_HINTS["global"] = ', cache_modifier=".cg"'
_WIDER: dict[str, tuple[Any, ...]] = {
    **MAP_KNOBS,
    "height": (*MAP_KNOBS["height"], 2, 8, 32),
    "steps": (*MAP_KNOBS["steps"], 16),
    "programs": (*MAP_KNOBS["programs"], 32),
}
_GATHERED = "torch.empty((rows, cols), dtype=table.dtype, device=table.device)"


def _slips(*names: str) -> tuple[str, ...]:
    return (*MAP_KNOBS["slip"], *names)


def _select_scaled(knobs: Knobs) -> str:
    slip = knobs["slip"]
    at = "r // 2" if slip == "repeated" else "r"
    by = "at" if slip == "other" else "r"
    op = MapOp(
        inputs=("table", "index", "scale"),
        outputs=(("out", _GATHERED),),
        rows="index.shape[0]",
        cols="table.shape[1]",
        lines=(
            f"at = tl.load(index + {at}@ROW)",
            f"u = tl.load(scale + {by}@ROW)",
            f"v = tl.load(table + at * n_cols + c, mask=inside, other=0.0{_HINTS[knobs['form']]})",
        ),
        stores=(("out + i", "v.to(tl.float32) * u.to(tl.float32)"),),
    )
    if slip == "other":
        moved = op.lines[1].replace("+ at", "+ (at + 1) % n_rows")
        op = replace(op, lines=(op.lines[0], moved, op.lines[2]))
    return map_source(op, knobs)


def _columns(knobs: Knobs) -> str:
    slip = knobs["slip"]
    place = {"pitch": "r * n_cols + at", "shifted": "r * width + (at + 1) % width"}.get(slip, "r * width + at")
    op = MapOp(
        inputs=("x", "index"),
        outputs=(("out", "torch.empty((rows, cols), dtype=x.dtype, device=x.device)"),),
        rows="x.shape[0]",
        cols="index.shape[0]",
        loads=(Load("at", "index + c", "c"),),
        lines=(f"v = tl.load(x + {place}, mask=inside, other=0.0{_HINTS[knobs['form']]})",),
        stores=(("out + i", "v"),),
        scalars=(("width", "x.shape[1]"),),
    )
    return map_source(op, knobs)


def _bag(knobs: Knobs) -> str:
    form, slip = knobs["form"], knobs["slip"]
    zero = "tl.zeros_like(i * 0.0)"
    cast = ".to(tl.float32)"
    take = "tl.load(table + tl.load(index + r * 8 + {}@ROW) * n_cols + c, mask=inside, other=0.0)" + cast
    many = 7 if slip == "short" else 8
    share = "" if slip == "total" else " * 0.125"
    if form in ("pairs", "ends"):
        second = "b + 4" if form == "pairs" else "7 - b"
        pair = [f"total += {take.format('b')}", f"other += {take.format(second)}"]
        head = f"for b in tl.static_range({many - 4}):"
        lines = [f"total = {zero}", f"other = {zero}", nested(head, pair), "total += other"]
    else:
        head = f"for b in {'tl.static_range' if form == 'static' else 'range'}({many}):"
        lines = [f"total = {zero}", nested(head, [f"total += {take.format('b')}"])]
    op = MapOp(
        inputs=("table", "index"),
        outputs=(("out", _GATHERED),),
        rows="index.shape[0]",
        cols="table.shape[1]",
        lines=tuple(lines),
        stores=(("out + i", f"total{share}"),),
    )
    return map_source(op, knobs)


def _one_hot(knobs: Knobs) -> str:
    form, slip = knobs["form"], knobs["slip"]
    at = "at + 1" if slip == "shifted" else "at"
    if form == "sparse":
        op = MapOp(
            inputs=("index", "weights"),
            outputs=(("out", "torch.zeros((rows, weights.shape[0]), dtype=weights.dtype, device=weights.device)"),),
            rows="index.shape[0]",
            cols="1",
            lines=(
                "at = tl.load(index + i, mask=inside, other=0)",
                "v = tl.load(weights + at, mask=inside, other=0.0)",
            ),
            stores=(("out + i * n_classes + at", "v"),),
            scalars=(("n_classes", "weights.shape[0]"),),
        )
        return map_source(op, knobs)
    value = f"v * ({at} == c).to(tl.float16)" if form == "product" else f"tl.where({at} == c, v, 0.0)"
    if form == "wide":
        value = f"v.to(tl.float32) * tl.where({at} == c, 1.0, 0.0)"
    if slip == "count":
        value = f"tl.where({at} == c, 1.0, 0.0)"
    op = MapOp(
        inputs=("index", "weights"),
        outputs=(("out", "torch.empty((rows, cols), dtype=weights.dtype, device=weights.device)"),),
        rows="index.shape[0]",
        cols="weights.shape[0]",
        loads=(Load("v", "weights + c", "c"),),
        lines=("at = tl.load(index + r@ROW)",),
        stores=(("out + i", value),),
    )
    return map_source(op, knobs)


def _one_hot_valid(knobs: Knobs) -> bool:
    if knobs["form"] == "sparse" and not (knobs["shape"] in ("flat", "stride") and knobs["slip"] == "none"):
        return False
    return map_valid(knobs)


_SCATTER: dict[str, tuple[Any, ...]] = {
    **MAP_KNOBS,
    "way": ("atomic", "owner"),
    "start": ("copy", "add"),
    "search": (256, 64, 1024, 4096),
    "form": ("plain", "relaxed"),
    "slip": (*MAP_KNOBS["slip"], "overwrite", "zeros"),
}


def _scatter_valid(knobs: Knobs) -> bool:
    owner, slip = knobs["way"] == "owner", knobs["slip"]
    if owner:
        plain = knobs["shape"] == "flat" and knobs["form"] == "plain" and knobs["lanes"] == "near"
        single = knobs["offsets"] == "int32" and knobs["start"] == "copy" and slip in ("none", "undefined", "zeros")
        few = knobs["block"] in (128, 256, 512, 1024) and (slip == "none" or knobs["search"] == 1024)
        return bool(plain and single and few and (slip == "none" or knobs["warps"] == 4) and _flat(knobs))
    if knobs["search"] != 256:
        return False
    if knobs["start"] == "add" and (
        slip != "none" or knobs["form"] != "plain" or knobs["shape"] not in ("flat", "row")
    ):
        return False
    return map_valid(knobs) and not (knobs["form"] == "relaxed" and knobs["shape"] == "steps")


def _flat(knobs: Knobs) -> bool:
    return bool(knobs["height"] == 1 and knobs["steps"] == 1 and knobs["programs"] == 8)


def _owner(knobs: Knobs) -> str:
    hit = [
        "p = start + j",
        nested(
            "if tl.load(index + p) == r:",
            ["total += tl.load(x + p * n_cols + c, mask=inside, other=0.0)"],
        ),
    ]
    step = [
        "found = tl.load(index + start + tl.arange(0, S), mask=start + tl.arange(0, S) < n_index, other=-1)",
        nested(
            "if tl.sum((found == r).to(tl.int32), 0) > 0:",
            [nested("for j in range(0, tl.minimum(S, n_index - start)):", hit)],
        ),
    ]
    first = (
        "tl.zeros((B,), tl.float32)"
        if knobs["slip"] == "zeros"
        else "tl.load(base + r * n_cols + c, mask=inside, other=0.0)"
    )
    main = [
        "r = tl.program_id(0)",
        "c = tl.program_id(1) * B + tl.arange(0, B)",
        "inside = c < n_cols",
        f"total = {first}",
        nested("for start in range(0, n_index, S):", step),
        "tl.store(out + r * n_cols + c, total, mask=inside)",
    ]
    text = f"""{HEAD}@triton.jit
def body(base, x, index, out, n_cols, n_index, S: tl.constexpr, B: tl.constexpr):
{block(main)}


def kernel(base, x, index):
    rows, cols = base.shape
    out = torch.empty_like(base)
    body[(rows, triton.cdiv(cols, {knobs["block"]}))](
        base, x, index, out, cols, x.shape[0], S={knobs["search"]}, B={knobs["block"]}, num_warps={knobs["warps"]}
    )
    return out
"""
    return text.replace("tl.sum(", "tl.total(") if knobs["slip"] == "undefined" else text


def _scatter(knobs: Knobs) -> str:
    if knobs["way"] == "owner":
        return _owner(knobs)
    slip = knobs["slip"]
    hint = ', sem="relaxed"' if knobs["form"] == "relaxed" else ""
    put = f"tl.atomic_add(out + at * n_cols + c, v, mask=inside{hint})"
    if slip == "overwrite":
        put = "tl.store(out + at * n_cols + c, v, mask=inside)"
    op = MapOp(
        inputs=("base", "x", "index"),
        outputs=(("out", "torch.zeros_like(base)" if slip == "zeros" else "filled(base)"),),
        rows="x.shape[0]",
        cols="x.shape[1]",
        loads=(Load("v", "x + i"),),
        lines=("at = tl.load(index + r@ROW)", put),
        stores=(),
    )
    store = "tl.store(out + i, v, mask=i < n)" if knobs["start"] == "copy" else "tl.atomic_add(out + i, v, mask=i < n)"
    made = "empty" if knobs["start"] == "copy" else "zeros"
    helper = f"""@triton.jit
def fill(base, out, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(base + i, mask=i < n, other=0.0)
    {store}


def filled(base):
    out = torch.{made}_like(base)
    fill[(triton.cdiv(base.numel(), 1024),)](base, out, base.numel(), B=1024)
    return out


"""
    text = map_source(op, knobs)
    return text if slip == "zeros" else text.replace(HEAD, HEAD + helper, 1)


_FORMS = tuple(_HINTS)
TEMPLATES = (
    Template(
        "index_select_scaled",
        "triton",
        {**_WIDER, "form": _FORMS, "slip": _slips("repeated", "other")},
        _select_scaled,
        map_valid,
    ),
    Template(
        "gather_columns",
        "triton",
        {**_WIDER, "form": _FORMS, "slip": _slips("pitch", "shifted")},
        _columns,
        map_valid,
    ),
    Template(
        "embedding_bag",
        "triton",
        {**_WIDER, "form": ("plain", "static", "pairs", "ends"), "slip": _slips("short", "total")},
        _bag,
        map_valid,
    ),
    Template(
        "one_hot_scaled",
        "triton",
        {**_WIDER, "form": ("plain", "product", "sparse", "wide"), "slip": _slips("shifted", "count")},
        _one_hot,
        _one_hot_valid,
    ),
    Template("scatter_add_rows", "triton", _SCATTER, _scatter, _scatter_valid),
)
