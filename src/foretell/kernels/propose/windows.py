"""Operations whose every output is made from a window of inputs, told apart from any language: pools and stencils."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

Offset = tuple[int, int, int]


@dataclass(frozen=True)
class Dialect:
    """How a language writes what the windows need: functions of numbers and the ends of the number line."""

    maximum: str
    minimum: str
    root: str
    low: str
    high: str


Combine = Callable[[Sequence[str], Dialect], str]


@dataclass(frozen=True)
class Stages:
    """A window in two passes: `first` combines inputs of one row, `second` what the first pass made of them.

    `lost` is by how much the rows of the first pass are shorter than those of the output (negative: longer).
    """

    first: tuple[Offset, ...]
    across: Combine
    second: tuple[Offset, ...]
    down: Combine
    lost: int = 0


@dataclass(frozen=True)
class Window:
    """One operation: the output at row r and column c combines the inputs at (r, c) * stride - pad + offset.

    `outside` is what an input outside counts for (`zero`, `low`, `high`). With an `edge` (`copy`, `zero`), outputs on
    the border are not combined at all. `flat` windows lie in one row of a matrix; `planes` says that rows and columns
    are those of one plane of several; `solid` that the planes are neighbours too. `step` folds the input `v` (with
    its weight `w`) into `total`, where the window can be walked in a loop; `close` then makes the output of it.
    `mistaken` combines in a way that is not asked for.
    """

    task: str
    dtype: str
    size: tuple[int, int]
    combine: Combine
    mistaken: Combine
    stride: int = 1
    pad: int = 0
    outside: str = "zero"
    edge: str = ""
    offsets: tuple[Offset, ...] = ()
    flat: bool = False
    planes: bool = True
    solid: bool = False
    weighted: bool = False
    source: bool = False
    step: Combine | None = None
    close: Combine = lambda v, _: v[0]
    stages: Stages | None = None

    @property
    def reach(self) -> tuple[Offset, ...]:
        """The inputs of the window, as steps from its first corner."""
        rows, columns = self.size
        return self.offsets or tuple((0, y, x) for y in range(rows) for x in range(columns))

    @property
    def inputs(self) -> tuple[str, ...]:
        return ("x", *(("weights",) if self.weighted else ()), *(("source",) if self.source else ()))

    @property
    def middle(self) -> int:
        """Which input is at the place of the output itself."""
        return self.reach.index((0, self.pad, self.pad))

    def length(self, axis: int) -> str:
        """Python text: how long the output is along axis -2 or -1."""
        whole, spare = f"x.shape[{axis}]", 2 * self.pad - self.size[axis]
        if self.stride == 1:
            return whole if spare == -1 else f"{whole} - {-spare - 1}"
        return (
            f"({whole} - {-spare}) // {self.stride} + 1" if spare < 0 else f"({whole} + {spare}) // {self.stride} + 1"
        )

    def bounds(self, offset: Offset) -> tuple[bool, bool, bool, bool]:
        """Whether the input at this offset can lie above, below, left and right of all there is."""
        _, y, x = offset
        rows, columns = self.size
        pad = 0 if self.flat else self.pad
        return y < pad, y >= rows - pad, x < self.pad, x >= columns - self.pad


def _sum(values: Sequence[str], _: Dialect) -> str:
    return " + ".join(values)


def _mean(count: str) -> Combine:
    return lambda values, _: f"({' + '.join(values)}) * {count}"


def _extreme(kind: str) -> Combine:
    return lambda values, dialect: reduce(lambda a, b: f"{getattr(dialect, kind)}({a}, {b})", values)


def _dot(weights: Sequence[float]) -> Combine:
    def combine(values: Sequence[str], _: Dialect) -> str:
        return " + ".join(v if w == 1 else f"{w:g} * {v}" for v, w in zip(values, weights, strict=True))

    return combine


def _taps(order: Sequence[int]) -> Combine:
    """Products with the loaded weights w0, w1, ..., taken in this order."""
    return lambda values, _: " + ".join(f"w{k} * {v}" for v, k in zip(values, order, strict=True))


def _norm(values: Sequence[str], dialect: Dialect) -> str:
    return f"{dialect.root}({' + '.join(f'{v} * {v}' for v in values)})"


def _squares(values: Sequence[str], _: Dialect) -> str:
    return " + ".join(f"{v} * {v}" for v in values)


def _gradient(sign: str) -> Combine:
    def combine(v: Sequence[str], dialect: Dialect) -> str:
        a, b, c, d, e, f, g, h = v
        across = f"({c} - {a} + 2 * ({e} - {d}) + {h} - {f})"
        down = f"({f} - {a} + 2 * ({g} - {b}) + {h} {sign} {c})"
        return f"{dialect.root}({across} * {across} + {down} * {down})"

    return combine


def _relaxed(factor: str) -> Combine:
    return lambda v, _: f"{factor} * ({' + '.join(v[:2])} + {' + '.join(v[3:])} + 0.01 * f)"


_BINOMIAL = (0.0625, 0.25, 0.375, 0.25, 0.0625)
_ROW = tuple((0, 0, x) for x in range(5))
_COLUMN = tuple((0, y, 0) for y in range(5))
_CROSS = ((0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2), (0, 2, 1))
_THREE = (tuple((0, 0, x) for x in range(3)), tuple((0, y, 0) for y in range(3)))
_TWO = (tuple((0, 0, x) for x in range(2)), tuple((0, y, 0) for y in range(2)))


def _fold(kind: str) -> Combine:
    return lambda v, dialect: f"{getattr(dialect, kind)}({v[0]}, {v[1]})"


def _pool2d(task: str, dtype: str, kind: str, stride: int, outside: str, other: str) -> Window:
    extreme = _extreme(kind)
    stages = Stages(_THREE[0], extreme, _THREE[1], extreme)
    return Window(
        task, dtype, (3, 3), extreme, _extreme(other), stride, 1, outside, step=_fold(kind), stages=stages
    )  # fmt: skip


POOLS = (
    _pool2d("max_pool2d", "float16", "maximum", 2, "low", "minimum"),
    _pool2d("min_pool2d", "float32", "minimum", 1, "high", "maximum"),
    Window(
        "avg_pool2d", "bfloat16", (2, 2), _mean("0.25"), _mean("0.5"), 2,
        step=lambda v, _: f"{v[0]} + {v[1]}", close=lambda v, _: f"{v[0]} * 0.25",
        stages=Stages(_TWO[0], _sum, _TWO[1], _mean("0.25")),
    ),
    Window(
        "lp_pool2d", "float32", (2, 2), _norm, _squares, 2,
        step=lambda v, _: f"{v[0]} + {v[1]} * {v[1]}", close=lambda v, dialect: f"{dialect.root}({v[0]})",
        stages=Stages(_TWO[0], _squares, _TWO[1], lambda v, dialect: f"{dialect.root}({' + '.join(v)})"),
    ),
    Window(
        "max_pool1d", "float16", (1, 8), _extreme("maximum"), _extreme("minimum"), 4, outside="low", flat=True,
        step=_fold("maximum"),
        stages=Stages(
            tuple((0, 0, x) for x in range(4)), _extreme("maximum"), ((0, 0, 0), (0, 0, 1)), _extreme("maximum"), -1
        ),
    ),
    Window(
        "moving_average", "float32", (1, 32), _mean("0.03125"), _mean("0.032258"), flat=True,
        step=lambda v, _: f"{v[0]} + {v[1]}", close=lambda v, _: f"{v[0]} * 0.03125",
        stages=Stages(
            tuple((0, 0, x) for x in range(8)), _sum, tuple((0, 0, 8 * x) for x in range(4)), _mean("0.03125"), -24
        ),
    ),
)  # fmt: skip

STENCILS = (
    Window(
        "stencil9", "bfloat16", (3, 3), _dot((0.05, 0.1, 0.05, 0.1, 0.4, 0.1, 0.05, 0.1, 0.05)),
        _dot((0.1, 0.05, 0.1, 0.05, 0.4, 0.05, 0.1, 0.05, 0.1)), pad=1, edge="copy", planes=False,
    ),
    Window(
        "laplace3d", "float32", (3, 3), _dot((1, 1, 1, -6, 1, 1, 1)), _dot((1, 1, 1, -4, 1, 1, 1)), pad=1, edge="zero",
        offsets=((-1, 1, 1), (0, 0, 1), (0, 1, 0), (0, 1, 1), (0, 1, 2), (0, 2, 1), (1, 1, 1)), solid=True,
    ),
    Window(
        "blur_separable", "float16", (5, 5), _dot(tuple(a * b for a in _BINOMIAL for b in _BINOMIAL)),
        _dot(tuple(0.2 * a for a in _BINOMIAL for _ in _BINOMIAL)), pad=2, planes=False,
        stages=Stages(_ROW, _dot(_BINOMIAL), _COLUMN, _dot(_BINOMIAL)),
    ),
    Window(
        "sobel", "float32", (3, 3), _gradient("-"), _gradient("+"), pad=1, edge="zero", planes=False,
        offsets=tuple((0, y, x) for y in range(3) for x in range(3) if (y, x) != (1, 1)),
    ),
    Window(
        "jacobi_source", "float32", (3, 3), _relaxed("0.25"), _relaxed("0.2"), pad=1, edge="copy", planes=False,
        offsets=_CROSS, source=True,
    ),
)  # fmt: skip

DEPTHWISE = Window(
    "depthwise_conv2d", "float16", (3, 3), _taps(range(9)), _taps(range(8, -1, -1)), pad=1, weighted=True,
    step=lambda v, _: f"{v[0]} + w * {v[1]}",
)  # fmt: skip
