"""Further distributions of a task's inputs, so that being right on one kind of numbers is not enough.

Only tensors of independent random numbers are changed; whatever has structure (masks, indices, sorted or normalised
rows, symmetric matrices) is left as it was drawn.
"""

from __future__ import annotations

import secrets
from typing import Any

LEAST_ELEMENTS = 64
_MOST_LOOKED_AT = 1 << 16
_SHORT = 1021
_PATTERN = 8
_LARGEST = 128.0  # exp(89) is infinite in float32; sums of 128 products of such normal numbers are finite in float16
_RARE = 1e-6


def looks_independent(torch: Any, tensor: Any) -> bool:
    """Whether a tensor holds independent random numbers, as far as its values tell."""
    if not tensor.is_floating_point() or tensor.element_size() < 2 or tensor.numel() < LEAST_ELEMENTS:
        return False
    flat = tensor.reshape(-1)[:_MOST_LOOKED_AT].double()
    if not bool(torch.isfinite(flat).all()) or float(flat.std()) == 0.0:
        return False
    zeros_and_ones = float(((flat == 0) | (flat == 1)).double().mean())
    if zeros_and_ones > 0.01 + 0.5 / len(flat) ** 0.5:  # a few are drawn by chance where numbers have few bits
        return False
    centred = (flat - flat.mean()) / flat.std()
    neighbours = float((centred[1:] * centred[:-1]).mean())
    if abs(neighbours) > 0.05 + 5 / len(flat) ** 0.5:
        return False
    return not (_is_symmetric(torch, tensor) or _has_even_rows(tensor))


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
    return wide.reshape(tensor.shape).to(tensor.dtype)


def large(torch: Any, tensor: Any) -> Any:
    """Beyond the range of the values: exponentials overflow unless they are taken relative to the largest."""
    return (tensor.double() * (_LARGEST / tensor.double().abs().max())).to(tensor.dtype)


# Where most values lie at an end of their range, outputs may be tiny throughout (a derivative that vanishes there), and
# honest kernels that add to 1 lose their digits: the size of outputs on numbers as drawn is what tolerances are for.
TAILS = frozenset({"skewed", "raised"})
STEPPED, UNEVEN = "stepped", "uneven"  # the latter where the reference cannot deal with the former
LARGE = (
    "large"  # digits may be lost there honestly, in float16 scores before an exponential; finite outputs are asked for
)
VARIANTS = {
    "narrowed": narrowed,
    "skewed": skewed,
    "raised": raised,
    "centred": centred,
    STEPPED: stepped,
    UNEVEN: uneven,
    LARGE: large,
}


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
    chosen = independent(torch, inputs)
    if not any(chosen):
        return None
    change = VARIANTS[name]
    return [change(torch, t) if is_chosen else t for t, is_chosen in zip(inputs, chosen, strict=True)]
