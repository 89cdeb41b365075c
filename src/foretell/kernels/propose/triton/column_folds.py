"""Triton templates of folds along columns: blocks of columns, rows split in turn or in runs, two stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from foretell.kernels.propose.template import Knobs, Template
from foretell.kernels.propose.triton.fragments import block, nested, source
from foretell.kernels.propose.triton.row_splits import NEGATIVE

_KNOBS = {
    "shape": ("columns", "atomic", "stages"),
    "width": (64, 32, 128, 256),
    "depth": (16, 1, 4, 64),
    "splits": (1, 16, 64, 256),
    "warps": (4, 2, 8),
    "carry": ("tile", "line"),
    "order": ("turns", "runs"),
    "form": ("plain",),
    "slip": ("none", "undefined", "unmasked", "empty", "short"),
}
_LOWEST = "-9223372036854775808"


@dataclass(frozen=True)
class ColumnFold:
    """A fold of the items `v` of rows `r`.

    `item` is folded by `kind` from `neutral` in `dtype`; `variant` is another way to fold tiles: statements before the
    loop, for each tile, and the expression of what `item` would have left. `finish` maps the fold `total`; where it is
    `late`, atomics go to a buffer that a second kernel finishes.
    """

    kind: str
    item: str
    finish: str
    neutral: str = "0.0"
    other: str = "0.0"
    dtype: str = "tl.float32"
    before: tuple[str, ...] = ()
    variant: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]] | None = None
    late: bool = False
    out: str = "torch.float32"


def _valid(knobs: Knobs) -> bool:
    shape, depth, warps, splits, width = (knobs[name] for name in ("shape", "depth", "warps", "splits", "width"))
    if (shape == "columns") != (splits == 1) or width * depth > 64 * 128 or (width == 256 and warps == 2):
        return False
    if shape != "columns" and (depth == 1 or warps == 2 or (depth == 64 and warps == 4)):
        return False
    usual = width == 128 and warps == 4
    if knobs["carry"] == "line" and not (depth in (4, 16) and usual):
        return False
    if knobs["order"] == "runs" and (shape == "columns" or width not in (64, 128) or knobs["carry"] == "line"):
        return False
    slip = knobs["slip"]
    odd = knobs["carry"] == "line" or knobs["order"] == "runs" or width not in (64, 128) or slip != "none"
    if knobs["form"] != "plain" and odd:
        return False
    if slip == "none":
        return True
    if (slip == "empty" and shape != "atomic") or (slip == "short" and shape == "columns"):
        return False
    depth_fits = depth == (4 if slip == "unmasked" else 16)
    return bool(depth_fits and usual and knobs["carry"] == "tile" and knobs["order"] == "turns")


def _loop(op: ColumnFold, knobs: Knobs) -> list[str]:
    """The statements that leave the fold of this program's rows in `total`, a number a column."""
    line, varied = knobs["carry"] == "line", knobs["form"] == "variant" and op.variant is not None
    joined = {"sum": "total += {}", "max": "total = tl.maximum(total, {})"}[op.kind]
    cast = f".to({op.dtype})" if op.dtype in ("tl.float16", "tl.bfloat16") else ""
    item = f"({op.item}){cast}" if cast else op.item
    start: tuple[str, ...] = (f"total = tl.full({'(W,)' if line else '(H, W)'}, {op.neutral}, {op.dtype})",)
    step: tuple[str, ...] = (*op.before, joined.format(f"tl.{op.kind}({item}, 0)" if line else item))
    close: tuple[str, ...] = ()
    if varied and op.variant is not None:
        start, step, close = op.variant
    end = "last" if knobs["order"] == "runs" else "n_rows"
    mask = "c < n_cols" if knobs["slip"] == "unmasked" else f"(r < {end}) & (c < n_cols)"
    loaded = f"v = tl.load(x + r * n_cols + c, mask={mask}, other={op.other})"
    head = "for start in range(0, n_rows, H):"
    runs: tuple[str, ...] = ()
    if knobs["order"] == "runs":
        runs = (
            "each = tl.cdiv(n_rows, tl.num_programs(1))",
            "first = tl.program_id(1) * each",
            "last = tl.minimum(first + each, n_rows)",
        )
        head = "for start in range(first, last, H):"
    elif knobs["splits"] > 1:
        stop = "n_rows - H" if knobs["slip"] == "short" else "n_rows"
        head = f"for start in range(tl.program_id(1) * H, {stop}, tl.num_programs(1) * H):"
    widened = "" if op.dtype == "tl.int64" and not varied else "v = v.to(tl.float32)"
    loop = nested(head, ["r = start + tl.arange(0, H)[:, None]", loaded, widened, *step])
    reduced = "" if line else f"total = tl.{op.kind}(total, 0)"
    return [*runs, *start, loop, *close, reduced]


def _render(build: Callable[[Knobs], ColumnFold], knobs: Knobs) -> str:
    op = build(knobs)
    shape, slip, splits, width = knobs["shape"], knobs["slip"], knobs["splits"], knobs["width"]
    number = "torch.int64" if op.dtype == "tl.int64" else "torch.float32"
    cast = "" if op.dtype == "tl.int64" else ".to(tl.float32)"
    direct = shape == "columns" or (shape == "atomic" and not op.late)
    target = "out" if direct else "part"
    value = (f"({op.finish})" if direct else "total") + cast
    done = f"tl.store({target} + spot, {value}, mask=spot < n_cols)"
    if shape == "atomic":
        done = f"tl.atomic_{'add' if op.kind == 'sum' else 'max'}({target} + spot, {value}, mask=spot < n_cols)"
    elif shape == "stages":
        done = f"tl.store(part + tl.program_id(1) * n_cols + spot, {value}, mask=spot < n_cols)"
    main = ["spot = tl.program_id(0) * W + tl.arange(0, W)", "c = spot[None, :]", *_loop(op, knobs), done]
    text = f"""@triton.jit
def body(x, {target}, n_rows, n_cols, H: tl.constexpr, W: tl.constexpr):
{block(main)}


"""
    rows = splits if shape == "stages" else 1
    neutral = op.neutral
    filled = f"torch.full(SHAPE, {neutral}, " if shape == "atomic" and slip != "empty" else "torch.empty(SHAPE, "
    made = f"{{}}dtype={op.out if direct else number}, device=x.device)"
    launch = ["rows, cols = x.shape"]
    launch.append(f"{target} = " + made.format(filled.replace("SHAPE", "(cols,)" if direct else f"({rows}, cols)")))
    given = f"H={knobs['depth']}, W={width}, num_warps={knobs['warps']}"
    launch.append(f"body[(triton.cdiv(cols, {width}), {splits})](x, {target}, rows, cols, {given})")
    if not direct:
        text += f"""@triton.jit
def gather(part, out, n_rows, n_cols, S: tl.constexpr, W: tl.constexpr):
    c = tl.program_id(0) * W + tl.arange(0, W)
    at = tl.arange(0, S)[:, None] * n_cols + c[None, :]
    total = tl.{op.kind}(tl.load(part + at, mask=c[None, :] < n_cols, other=0), 0)
    tl.store(out + c, {op.finish}, mask=c < n_cols)


"""
        launch.append(f"out = torch.empty(cols, dtype={op.out}, device=x.device)")
        launch.append(f"gather[(triton.cdiv(cols, 32),)](part, out, rows, cols, S={rows}, W=32, num_warps=4)")
    return source(f"{text}def kernel(x):\n{block([*launch, 'return out'])}\n", slip)


def _max(knobs: Knobs) -> ColumnFold:
    item = "tl.abs(v)" if knobs["slip"] == "magnitude" else "v"
    dtype = "tl.float16" if knobs["slip"] == "narrow" else "tl.float32"
    variant = ((f"total = tl.full((H, W), {NEGATIVE}, tl.float32)",), ("total = tl.where(v > total, v, total)",), ())
    return ColumnFold("max", item, "total", NEGATIVE, NEGATIVE, dtype, variant=variant)


def _mean_square(knobs: Knobs) -> ColumnFold:
    dtype = "tl.bfloat16" if knobs["slip"] == "narrow" else "tl.float32"
    variant = (("total = tl.full((H, W), 0.0, tl.float64)",), ("total += (v * v).to(tl.float64)",), ())
    finish = "total / n_cols" if knobs["slip"] == "crossed" else "total / n_rows"
    return ColumnFold("sum", "v * v", finish, dtype=dtype, variant=variant)


def _argmax(knobs: Knobs) -> ColumnFold:
    last = knobs["slip"] == "last"
    place = "{}" if last else "(0x7FFFFFFF - {})"
    order = "tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64)"
    variant = (
        (f"best = tl.full((H, W), {NEGATIVE}, tl.float32)", "seen = tl.full((H, W), 0, tl.int32)"),
        ("seen = tl.where(v > best, r, seen)", "best = tl.maximum(best, v)"),
        ("bits = best.to(tl.int32, bitcast=True)", f"total = ({order} << 32) | {place.format('seen')}"),
    )
    return ColumnFold(
        kind="max",
        item=f"({order} << 32) | {place.format('r')}",
        finish=place.format("(total & 0x7FFFFFFF)"),
        neutral=_LOWEST,
        other='float("inf")' if knobs["slip"] == "padded" else NEGATIVE,
        dtype="tl.int64",
        before=("bits = v.to(tl.int32, bitcast=True)",),
        variant=variant,
        late=True,
        out="torch.int64",
    )


def _template(task: str, build: Callable[[Knobs], ColumnFold], slips: tuple[str, ...]) -> Template:
    knobs = {**_KNOBS, "form": ("plain", "variant"), "slip": (*_KNOBS["slip"], *slips)}
    return Template(task, "triton", knobs, lambda chosen: _render(build, chosen), _valid)


TEMPLATES = (
    _template("column_max", _max, ("narrow", "magnitude")),
    _template("column_mean_square", _mean_square, ("narrow", "crossed")),
    _template("argmax_columns", _argmax, ("last", "padded")),
)
