"""What executing a candidate at small sizes showed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from foretell.kernels.task import Tolerance

AGREES, DIFFERS, NOT_RUN = "agrees", "differs", "not run"
MOST_EXCESS_LOG2 = 20.0


@dataclass(frozen=True)
class Outcome:
    """How a candidate did: `agrees`, `differs` or `not run`, and what was wrong.

    Of one that was run, `excess_log2` is the largest error over the tolerance, `exact` the share of values that are the
    reference's to the last bit, and `wrong` the share beyond the tolerance. `strays` is how many loads and stores of
    its kernels were outside of all buffers.
    """

    verdict: str
    sentence: str = ""
    excess_log2: float = 0.0
    exact: float = 0.0
    wrong: float = 0.0
    strays: int = 0


def compared(
    torch: Any, outputs: Sequence[Any], expected: Sequence[Any], tolerance: Tolerance
) -> tuple[float, float, float]:
    """Log2 of the largest error over the tolerance, within `MOST_EXCESS_LOG2`, and shares of equal and wrong values."""
    worst, equal, wrong, total = 0.0, 0, 0, 0
    for output, want in zip(outputs, expected, strict=True):
        output, want = output.double(), want.double()
        room = tolerance.absolute + tolerance.relative * want.abs()
        error = ((output - want).abs() / room).nan_to_num(2.0**MOST_EXCESS_LOG2)
        error[output == want] = 0.0
        worst = max(worst, float(error.max())) if error.numel() else worst
        equal += int((output == want).sum())
        wrong += int((error > 1.0).sum())
        total += output.numel()
    excess = math.log2(max(worst, 2.0**-MOST_EXCESS_LOG2))
    return min(excess, MOST_EXCESS_LOG2), equal / max(1, total), wrong / max(1, total)
