"""How far an output may lie from what is expected: by the task's tolerance, and by what rounding does to the task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from foretell.kernels.task import Tolerance
from foretell.kernels.tasks.trees import is_tensor, leaves, rebuilt

ROUNDINGS = 8.0  # root mean square effects of rounding the inputs once that an output may be off by
NOISE_SEED = 20_260_531


def mismatch(torch: Any, got: Any, want: Any, tolerance: Tolerance, noise: Any = 0.0) -> str:
    """How an output differs from what was expected, in words; empty when within tolerance. NaN never passes.

    `noise` is allowed for besides the tolerance; it spreads to the output's shape.
    """
    if not got.is_floating_point():
        wrong = got != want.to(got.dtype)
    else:
        wrong = ~((got - want).abs() <= tolerance.absolute + tolerance.relative * want.abs() + noise)
    count = int(wrong.sum())
    if count == 0:
        return ""
    first = int(wrong.reshape(-1).to(torch.int8).argmax())
    have, need = got.reshape(-1)[first].item(), want.reshape(-1)[first].item()
    return f"{count} of {got.numel()} values are wrong; the first, number {first}, is {have:.6g}, expected {need:.6g}"


def rounding_noise(
    torch: Any, reference: Callable[[Sequence[Any]], Sequence[Any]], inputs: Sequence[Any], expected: Sequence[Any]
) -> list[Any]:
    """What rounding alone may do to each output, by row (last dimension); 0 for outputs that are not floating-point.

    Sums that nearly cancel among large terms differ between two right programs by more than any fixed tolerance. So the
    reference is run on inputs that are moved by one rounding of their type, up or down at random: how far the outputs
    move is what no program of that precision can be held to. Types of less than 32 bits are left as they are; their
    tolerances are wide.
    """
    generator = None
    moved = []
    for leaf in leaves(list(inputs)):
        if is_tensor(leaf) and leaf.is_floating_point() and leaf.element_size() >= 4:
            if generator is None:
                generator = torch.Generator(device=leaf.device).manual_seed(NOISE_SEED)
            signs = torch.randint(0, 2, leaf.shape, generator=generator, device=leaf.device, dtype=torch.int8) * 2 - 1
            leaf = leaf + leaf * signs * torch.finfo(leaf.dtype).eps
        moved.append(leaf)
    noise: list[Any] = []
    for want, near in zip(expected, reference(rebuilt(list(inputs), iter(moved))), strict=True):
        if not want.is_floating_point() or want.dim() == 0:
            noise.append(ROUNDINGS * (near - want).abs() if want.is_floating_point() else 0.0)
            continue
        row = (near.double() - want.double()).square().mean(-1, keepdim=True).sqrt()
        noise.append(ROUNDINGS * row.nan_to_num(0.0, 0.0, 0.0))
    return noise
