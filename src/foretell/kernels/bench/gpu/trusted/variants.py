"""Further distributions of a task's inputs, so that being right on one kind of numbers is not enough.

Only tensors of independent random numbers are changed; whatever has structure (masks, permutations, sorted or
normalised rows, symmetric matrices) is left as it was drawn. Whole numbers stay whole and within the range of those
drawn, and only their levels differ from place to place.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

LEAST_ELEMENTS = 64
_MOST_LOOKED_AT = 1 << 16
_SHORT = 1021
_PATTERN = 8
_LARGEST = 128.0  # exp(89) is infinite in float32; sums of 128 products of such normal numbers are finite in float16
_HUGE = 2.0**17  # beyond float16
_TINY = 2.0**-16  # where float16 has no digits left
_NEAR_END = 1 / 1024
_EXACT = 2.0**53  # whole numbers that a double holds
_SLICE = 1 << 27  # elements that are changed at a time
_RARE = 1e-6


def looks_independent(torch: Any, tensor: Any) -> bool:
    """Whether a tensor holds independent random numbers, as far as its values tell."""
    if tensor.numel() < LEAST_ELEMENTS or tensor.dtype == torch.bool or tensor.is_complex():
        return False
    flat = tensor.reshape(-1)[:_MOST_LOOKED_AT].double()
    if not bool(torch.isfinite(flat).all()) or float(flat.std()) == 0.0:
        return False
    if tensor.is_floating_point() and tensor.element_size() < 2:
        return False
    if not tensor.is_floating_point() and not _may_change(torch, flat):
        return False
    zeros_and_ones = float(((flat == 0) | (flat == 1)).double().mean())
    if (
        tensor.is_floating_point() and zeros_and_ones > 0.01 + 0.5 / len(flat) ** 0.5
    ):  # a few are drawn by chance where numbers have few bits
        return False
    centred = (flat - flat.mean()) / flat.std()
    neighbours = float((centred[1:] * centred[:-1]).mean())
    if abs(neighbours) > 0.05 + 5 / len(flat) ** 0.5:
        return False
    return not (_is_symmetric(torch, tensor) or _has_even_rows(tensor))


def _may_change(torch: Any, whole: Any) -> bool:
    """Whether whole numbers are neither a mask of two values, nor a permutation, nor too large to be exact."""
    return 2 < len(torch.unique(whole)) < len(whole) and float(whole.abs().max()) < _EXACT


def _is_symmetric(torch: Any, tensor: Any) -> bool:
    square = tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2] > 1
    return square and bool(torch.equal(tensor, tensor.transpose(-1, -2)))


def _has_even_rows(tensor: Any) -> bool:
    """Whether sums or norms of rows vary far less than those of independent numbers: rows were normalised.

    Those of n rows vary by chance as little as a share s of the usual about s ** (n - 1) of the time: of few rows, less
    is taken for none.
    """
    if tensor.dim() < 2 or tensor.shape[-1] < 2 or tensor.numel() // tensor.shape[-1] < 4:
        return False
    rows = tensor.reshape(-1, tensor.shape[-1])[: _MOST_LOOKED_AT // tensor.shape[-1] + 4].double()
    least = min(0.1, _RARE ** (1 / (len(rows) - 1)))
    for values in (rows, rows.square()):
        usual = float(values.std()) * rows.shape[-1] ** 0.5
        if float(values.sum(-1).std()) < least * usual:
            return True
    return False


def narrowed(torch: Any, tensor: Any) -> Any:
    """An eighth of the spread around the mean: rounding and cancellation weigh more. Within the range of the values."""
    mean = tensor.double().mean()
    return (mean + (tensor.double() - mean) / 8).to(tensor.dtype)


def skewed(torch: Any, tensor: Any) -> Any:
    """Most values near the lower end, few at the upper one. Within the range of the values."""
    wide = tensor.double()
    low, high = wide.min(), wide.max()
    return (low + (high - low) * ((wide - low) / (high - low)) ** 4).clamp(low, high).to(tensor.dtype)


def raised(torch: Any, tensor: Any) -> Any:
    """Most values near the upper end, few at the lower one: skewed the other way."""
    return -skewed(torch, -tensor)


def centred(torch: Any, tensor: Any) -> Any:
    """Mean zero, so that sums cancel: what lower precision loses is not hidden by a large result."""
    wide = tensor.double()
    return (wide - wide.mean()).to(tensor.dtype)


def ends(torch: Any, tensor: Any) -> Any:
    """Long runs of numbers next to the upper or the lower end of their range: what is carried along stays."""
    flat = tensor.double().reshape(-1)
    low, high, count = flat.min(), flat.max(), flat.numel()
    length = -(-count // 64)
    upper = torch.randint(2, (-(-count // length),), device=flat.device).bool().repeat_interleave(length)[:count]
    wide = torch.where(upper, high - (high - flat) * _NEAR_END, low + (flat - low) * _NEAR_END)
    return wide.clamp(low, high).reshape(tensor.shape).to(tensor.dtype)


def uneven(torch: Any, tensor: Any) -> Any:
    """A spread that differs from place to place: a part says little of the rest. Within the range of the values.

    Which part has which spread is drawn anew each time, and each spread has a third of the parts: of sixty-four long
    ones, and of short ones of a length that tiles hardly have. So at most a third of the values or so stay as they are.
    """
    wide = tensor.double().reshape(-1)
    mean, count = wide.mean(), wide.numel()
    for length in (-(-count // 64), _SHORT):
        parts = torch.randperm(-(-count // length), device=wide.device)
        levels = (parts + torch.randint(3, (), device=wide.device)) % 3
        share = torch.tensor([1.0, 0.5, 0.125], dtype=wide.dtype, device=wide.device)[levels]
        wide = mean + (wide - mean) * share.repeat_interleave(length)[:count]
    return wide.reshape(tensor.shape).to(tensor.dtype)


def stepped(torch: Any, tensor: Any) -> Any:
    """Uneven, with levels that differ from place to place too. Within the range of the values.

    Levels are of pieces of many lengths, in a pattern that comes again every few pieces: whoever leaves out some of
    every few is wrong by far more than chance would have it.
    """
    flat = tensor.double().reshape(-1)
    mean, count = flat.mean(), flat.numel()
    reach = torch.minimum(flat.max() - mean, mean - flat.min())
    lengths = [4**power for power in range(1, 16) if 4**power * _PATTERN <= 2 * count] or [1]
    wide = mean + (uneven(torch, tensor).double().reshape(-1) - mean) / 2
    for length in lengths:
        levels = torch.randperm(_PATTERN, device=wide.device).double() * (2 / (_PATTERN - 1)) - 1
        pieces = levels.repeat(-(-count // (length * _PATTERN)) + 1).repeat_interleave(length)
        begin = secrets.randbelow(length * _PATTERN)
        wide += pieces[begin : begin + count] * (reach / 2 / len(lengths))
    if not tensor.is_floating_point():
        wide = wide.round().clamp(flat.min(), flat.max())
    return wide.reshape(tensor.shape).to(tensor.dtype)


def _scaled(largest: float) -> Callable[[Any, Any], Any]:
    def scaled(torch: Any, tensor: Any) -> Any:
        return (tensor.double() * (largest / tensor.double().abs().max())).to(tensor.dtype)

    return scaled


large = _scaled(_LARGEST)  # exponentials overflow unless they are taken relative to the largest


STEPPED, UNEVEN = "stepped", "uneven"  # the latter where the reference cannot deal with the former
ENDS = "ends"
# Where most values lie at an end of their range, outputs may be tiny throughout (a derivative that vanishes there), and
# honest kernels that add to 1 lose their digits: the size of outputs on numbers as drawn is what tolerances are for.
TAILS = frozenset({"skewed", "raised", ENDS})
# Digits may be lost there honestly, in float16 scores before an exponential; finite outputs are asked for.
LARGE, HUGE = "large", "huge"
FINITE = frozenset({LARGE, HUGE})
TINY = "tiny"  # where results are proportional to what goes in
VARIANTS = {
    "narrowed": narrowed,
    "skewed": skewed,
    "raised": raised,
    "centred": centred,
    STEPPED: stepped,
    UNEVEN: uneven,
    ENDS: ends,
    LARGE: large,
    HUGE: _scaled(_HUGE),
    TINY: _scaled(_TINY),
}
OF_LIBRARY = frozenset({ENDS, LARGE, HUGE, TINY})  # a problem says by what it draws which numbers it is for
OF_FLOAT32 = frozenset({ENDS, HUGE, TINY})  # near each other, half precision cannot tell numbers apart
PROPORTIONAL = frozenset({"matmul"})  # families of which results are proportional to what goes in
_BY_PLACE = frozenset({STEPPED, UNEVEN})


def names_for(family: str, is_library: bool, is_float32: bool) -> list[str]:
    """The distributions that inputs of a task may be changed to."""
    return [
        name
        for name in VARIANTS
        if (is_library or name not in OF_LIBRARY)
        and (is_float32 or name not in OF_FLOAT32)
        and (name != TINY or family in PROPORTIONAL)
    ]


def independent(torch: Any, inputs: list[Any]) -> list[bool]:
    """Which inputs hold independent random numbers."""
    return [looks_independent(torch, tensor) for tensor in inputs]


class Moving:
    """Independent random numbers that are in other places at every step; whatever has structure stays as it is."""

    def __init__(self, chosen: list[bool]) -> None:
        self._chosen = chosen
        self._by = [0] * len(chosen)

    def step(self, inputs: list[Any]) -> list[Any]:
        """The inputs, moved otherwise than at the step before."""
        self._by = [
            (by + 1 + secrets.randbelow(t.numel() - 1)) % t.numel() if is_chosen else 0
            for t, by, is_chosen in zip(inputs, self._by, self._chosen, strict=True)
        ]
        return [t.reshape(-1).roll(by).reshape(t.shape) if by else t for t, by in zip(inputs, self._by, strict=True)]


def applied(torch: Any, name: str, inputs: list[Any]) -> list[Any] | None:
    """The inputs with independent random numbers changed to another distribution; None if there are none."""
    chosen = [
        is_chosen and (tensor.is_floating_point() or name in _BY_PLACE)
        for tensor, is_chosen in zip(inputs, independent(torch, inputs), strict=True)
    ]
    if not any(chosen):
        return None
    change = VARIANTS[name]
    return [_in_slices(torch, name, change, t) if is_chosen else t for t, is_chosen in zip(inputs, chosen, strict=True)]


def _in_slices(torch: Any, name: str, change: Callable[[Any, Any], Any], tensor: Any) -> Any:
    """A tensor changed, a large one in slices, since it is widened; these differ in spread and level as parts do."""
    if tensor.numel() <= _SLICE or name not in _BY_PLACE:
        return change(torch, tensor)
    flat = tensor.reshape(-1)
    whole = torch.empty_like(flat)
    low, high = flat.min().double(), flat.max().double()
    for begin in range(0, len(flat), _SLICE):
        part = change(torch, flat[begin : begin + _SLICE]).double()
        share = (1.0, 0.5, 0.125)[secrets.randbelow(3)]
        level = low + (high - low) * secrets.randbelow(1000) / 1000
        part = level + (part - level) * share
        whole[begin : begin + _SLICE] = (part if tensor.is_floating_point() else part.round()).to(tensor.dtype)
    return whole.reshape(tensor.shape)
