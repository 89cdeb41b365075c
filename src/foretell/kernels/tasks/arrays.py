"""Shapes and arrays as the process of a task's code sends them: its answer is read as one reads a stranger's file.

Arrays are sent as their bytes alone: whoever asked knows their types and shapes, so nothing in them is interpreted.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from foretell.kernels.profiles import TASK_CODE_LIMITS
from foretell.kernels.task import ITEM_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Arrays = list[NDArray[Any]]
    Form = tuple[str, str, tuple[int, ...]]  # name, type and shape


class Forged(ValueError):
    """An answer that the package's own code would not have given."""


def lifted(dtype: str) -> str:
    """The type that values of a type are expected in: double precision for all floating-point numbers."""
    return "float64" if dtype.startswith("float") else dtype


def packed(arrays: Arrays) -> bytes:
    return b"".join(array.tobytes() for array in arrays)


def unpacked(answer: bytes, forms: Sequence[Form]) -> Arrays:
    """The arrays of these forms, one after the other. Raises Forged if the bytes are not as many."""
    import numpy as np

    counts = [math.prod(shape) for _, _, shape in forms]
    sizes = [count * ITEM_BYTES[dtype] for count, (_, dtype, _) in zip(counts, forms, strict=True)]
    if sum(sizes) != len(answer):
        raise Forged(f"{len(answer)} bytes instead of {sum(sizes)}")
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
            for each in json.loads(answer)
        ]
    except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise Forged(f"not shapes: {type(error).__name__}") from None
    if len(found) != workloads:
        raise Forged(f"{len(found)} workloads instead of {workloads}")
    for each in found:
        arrays = [*each["inputs"], *each["outputs"]]
        if any(dtype not in dtypes or min(shape, default=0) < 0 for dtype, shape in arrays):
            raise Forged("types or shapes that no array has")
        if sum(math.prod(shape) * ITEM_BYTES[dtype] for dtype, shape in arrays) > TASK_CODE_LIMITS.memory_bytes:
            raise Forged("arrays that its process had no memory for")
    return found
