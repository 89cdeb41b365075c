"""Further distributions of a task's inputs, so that being right on one kind of numbers is not enough.

Only tensors of independent random numbers are changed; whatever has structure (masks, indices, sorted or normalised
rows, symmetric matrices) is left as it was drawn.
"""

from __future__ import annotations

from typing import Any

LEAST_ELEMENTS = 64
_MOST_LOOKED_AT = 1 << 16


def looks_independent(torch: Any, tensor: Any) -> bool:
    """Whether a tensor holds independent random numbers, as far as its values tell."""
    if not tensor.is_floating_point() or tensor.element_size() < 2 or tensor.numel() < LEAST_ELEMENTS:
        return False
    flat = tensor.reshape(-1)[:_MOST_LOOKED_AT].double()
    if not bool(torch.isfinite(flat).all()) or float(flat.std()) == 0.0:
        return False
    zeros_and_ones = float(((flat == 0) | (flat == 1)).double().mean())
    if zeros_and_ones > 0.01:
        return False
    centred = (flat - flat.mean()) / flat.std()
    neighbours = float((centred[1:] * centred[:-1]).mean())
    if abs(neighbours) > 0.05 + 4 / len(flat) ** 0.5:
        return False
    return not (_is_symmetric(torch, tensor) or _has_even_rows(tensor))


def _is_symmetric(torch: Any, tensor: Any) -> bool:
    square = tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2] > 1
    return square and bool(torch.equal(tensor, tensor.transpose(-1, -2)))


def _has_even_rows(tensor: Any) -> bool:
    """Whether sums or norms of rows vary far less than those of independent numbers: rows were normalised."""
    if tensor.dim() < 2 or tensor.shape[-1] < 2 or tensor.numel() // tensor.shape[-1] < 4:
        return False
    rows = tensor.reshape(-1, tensor.shape[-1])[: _MOST_LOOKED_AT // tensor.shape[-1] + 4].double()
    for values in (rows, rows.square()):
        usual = float(values.std()) * rows.shape[-1] ** 0.5
        if float(values.sum(-1).std()) < 0.1 * usual:
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


def centred(torch: Any, tensor: Any) -> Any:
    """Mean zero, so that sums cancel: what lower precision loses is not hidden by a large result."""
    wide = tensor.double()
    return (wide - wide.mean()).to(tensor.dtype)


# Where most values lie at an end of their range, outputs may be tiny throughout (a derivative that vanishes there), and
# honest kernels that add to 1 lose their digits: the size of outputs on numbers as drawn is what tolerances are for.
TAILS = frozenset({"skewed"})
VARIANTS = {"narrowed": narrowed, "skewed": skewed, "centred": centred}


def applied(torch: Any, name: str, inputs: list[Any]) -> list[Any] | None:
    """The inputs with independent random numbers changed to another distribution; None if there are none."""
    chosen = [looks_independent(torch, tensor) for tensor in inputs]
    if not any(chosen):
        return None
    change = VARIANTS[name]
    return [change(torch, t) if independent else t for t, independent in zip(inputs, chosen, strict=True)]
