"""Data that a task never varies, varied: inputs that are the same in every draw, and weights.

A kernel that holds them for known is wrong for others, so reference and candidate are run on others once, in the same
way. What has a structure that an honest kernel may rest on (indices, truth values, triangular masks, infinities) stays
as it is, and symmetric matrices stay symmetric.
"""

from __future__ import annotations

import math
from typing import Any

from foretell.kernels.tasks.trees import bits

LEAST_ELEMENTS = 64
_AT_A_TIME = 1 << 24  # elements that are widened
_NARROW = ("torch.uint8", "torch.int8")
_SMALL_RMS = 1e-3  # weights below it are as good as absent: what they scale is not seen in the outputs
_SMALL_ADDED = 0.05


def is_alterable(torch: Any, tensor: Any) -> bool:
    """Whether an input can hold other values of its kind, as far as its own tell."""
    if tensor.numel() < LEAST_ELEMENTS or not (tensor.is_floating_point() or str(tensor.dtype) in _NARROW):
        return False
    if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
        return False
    return is_flat(tensor) or _is_symmetric(torch, tensor) or not _is_triangular(torch, tensor)


def is_flat(tensor: Any) -> bool:
    """Whether all values are the same."""
    return bool((tensor == tensor.reshape(-1)[0]).all())


def _is_triangular(torch: Any, tensor: Any) -> bool:
    return tensor.dim() >= 2 and any(torch.equal(tensor, part) for part in (tensor.tril(), tensor.triu()))


def _is_symmetric(torch: Any, tensor: Any) -> bool:
    square = tensor.dim() >= 2 and tensor.shape[-1] == tensor.shape[-2]
    return square and bool(torch.equal(tensor, tensor.transpose(-1, -2)))


def altered(torch: Any, tensor: Any) -> Any:
    """Other values for an input: the same ones in other places of each row (of a symmetric matrix, of rows and columns
    alike); noise about a value that all share.
    """
    if is_flat(tensor):
        value = tensor.reshape(-1)[0].double()
        noise = torch.rand(tensor.shape, device=tensor.device, dtype=torch.float64) - 0.5
        if not tensor.is_floating_point():
            return tensor + (noise > 0).to(tensor.dtype)
        return (value + noise * value.abs().clamp(min=1.0)).to(tensor.dtype)
    if _is_symmetric(torch, tensor):
        order = torch.randperm(tensor.shape[-1], device=tensor.device)
        return tensor[..., order, :][..., order].contiguous()
    rows = tensor.reshape(-1, tensor.shape[-1]) if tensor.dim() else tensor.reshape(1, -1)
    moved = torch.empty_like(rows)
    for begin in range(0, len(rows), step := max(1, _AT_A_TIME // rows.shape[1])):
        part = rows[begin : begin + step]
        order = torch.rand(part.shape, device=part.device).argsort(-1)
        moved[begin : begin + step] = part.gather(-1, order)
    return moved.reshape(tensor.shape)


def fingerprint(torch: Any, tensor: Any) -> tuple[str, tuple[int, ...], int]:
    """What tells tensors of other values apart: type, shape, and a sum over their bits with weights by place."""
    total = 0
    for number, part in enumerate(bits(tensor.contiguous()).reshape(-1).split(_AT_A_TIME)):
        places = torch.arange(len(part), device=part.device, dtype=torch.int64) + number * _AT_A_TIME
        total += int((part.to(torch.int64) * (2 * places + 3)).sum())
    return str(tensor.dtype), tuple(tensor.shape), total & ((1 << 64) - 1)


def perturbed(torch: Any, weight: Any, secret: int) -> Any:
    """Another value for a weight, by its bits and the secret alone: equal weights stay equal.

    Each element keeps its sign and changes by up to half; weights so small that what they scale is not seen become of
    usual size.
    """
    generator = torch.Generator(device=weight.device)
    generator.manual_seed((secret ^ fingerprint(torch, weight)[2]) & ((1 << 63) - 1))
    wide = weight.double()

    def drawn(make: Any) -> Any:
        return make(weight.shape, generator=generator, device=weight.device, dtype=torch.float64)

    other = wide * (drawn(torch.rand) + 0.5)
    rms = float(torch.linalg.vector_norm(wide)) / math.sqrt(max(1, wide.numel()))
    if rms < _SMALL_RMS:
        fan_in = wide[0].numel() if wide.dim() >= 2 else 0
        other = other + drawn(torch.randn) * (1 / math.sqrt(fan_in) if fan_in else _SMALL_ADDED)
    return other.to(weight.dtype)
