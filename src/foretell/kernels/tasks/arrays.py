"""Shapes and arrays as the process of a task's code sends them: its answer is read as one reads a stranger's file.

Arrays are sent as their bytes alone: whoever asked knows their types and shapes, so nothing in them is interpreted.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from foretell.kernels.limits import TASK_CODE_LIMITS
from foretell.kernels.task import ITEM_BYTES
from foretell.received import MOST_ANSWER_VALUES, parsed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = list[NDArray[Any]]
    Form = tuple[str, str, tuple[int, ...]]  # name, type and shape


MOST_DIMENSIONS = 16  # of an array


class Forged(ValueError):
    """An answer that the package's own code would not have given."""


def lifted(dtype: str) -> str:
    """The type that values of a type are expected in: double precision for all floating-point numbers."""
    return "float64" if dtype.startswith("float") else dtype


def packed(arrays: Arrays) -> bytes:
    return b"".join(array.tobytes() for array in arrays)


def bytes_of(forms: Sequence[Form]) -> int:
    """What arrays of these forms take."""
    return sum(math.prod(shape) * ITEM_BYTES[dtype] for _, dtype, shape in forms)


def unpacked(answer: bytes, forms: Sequence[Form]) -> Arrays:
    """The arrays of these forms, one after the other. Raises Forged if the bytes are not as many."""
    import numpy as np

    counts = [math.prod(shape) for _, _, shape in forms]
    sizes = [count * ITEM_BYTES[dtype] for count, (_, dtype, _) in zip(counts, forms, strict=True)]
    if bytes_of(forms) != len(answer):
        raise Forged(f"{len(answer)} bytes instead of {bytes_of(forms)}")
    arrays, at = [], 0
    for count, size, (_, dtype, shape) in zip(counts, sizes, forms, strict=True):
        arrays.append(np.frombuffer(answer, dtype, count, at).reshape(shape))
        at += size
    return arrays


def read_shapes(answer: bytes, workloads: int, dtypes: Collection[str]) -> list[dict[str, list[tuple[str, list[int]]]]]:
    """Types and shapes of inputs and outputs at every workload, from JSON. Raises Forged if they are not that."""
    try:
        found = [
            {
                group: [(str(dtype), [int(side) for side in shape]) for dtype, shape in each[group]]
                for group in ("inputs", "outputs")
            }
            for each in parsed(answer, most_values=MOST_ANSWER_VALUES)
        ]
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise Forged(f"not shapes: {type(error).__name__}") from None
    if len(found) != workloads:
        raise Forged(f"{len(found)} workloads instead of {workloads}")
    for each in found:
        if not (each["inputs"] and each["outputs"]):
            raise Forged("no inputs or no outputs")
        arrays = [*each["inputs"], *each["outputs"]]
        if any(len(shape) > MOST_DIMENSIONS for _, shape in arrays):
            raise Forged(f"an array of more than {MOST_DIMENSIONS} dimensions")
        if any(dtype not in dtypes or min(shape, default=0) < 0 for dtype, shape in arrays):
            raise Forged("types or shapes that no array has")
        # A side of 0 makes no other side smaller: numpy makes no array of [0, 10**30].
        sides = [(ITEM_BYTES[dtype], [max(1, side) for side in shape]) for dtype, shape in arrays]
        if sum(math.prod(shape) * item for item, shape in sides) > TASK_CODE_LIMITS.memory_bytes:
            raise Forged("arrays that its process had no memory for")
    return found
