"""Trained models as files: plain arrays, and a head in JSON with the format's number."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from foretell.received import parsed, replacing
from foretell.received_arrays import read_arrays

MOST_HEAD_BYTES = 1 << 20
Arrays = Mapping[str, NDArray[Any]]
T = TypeVar("T")


class BadModel(ValueError):
    """The file is not a model of this version."""


def save(path: Path, head: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a model, all or nothing."""
    encoded = np.frombuffer(json.dumps(head, sort_keys=True).encode(), dtype=np.uint8)
    with replacing(path) as partial, partial.open("wb") as file:
        np.savez_compressed(file, **dict(sorted({**arrays, "head": encoded}.items())))  # type: ignore[arg-type]


def load(path: Path | None, shipped: str, version: int, read: Callable[[Any, Arrays], T]) -> T:
    """What `read` makes of the head and arrays of a file, or of the shipped one of that name.

    Raises BadModel if the file cannot be read, is of another version, or `read` finds it inconsistent.
    """
    try:
        if path is not None:
            return _load(path, version, read)
        with resources.as_file(resources.files("foretell.kernels.forecast") / "models" / shipped) as place:
            return _load(place, version, read)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        raise BadModel(f"{path or 'the shipped file'} is not a model of this version: {error}") from error
    except MemoryError:
        raise BadModel(f"{path or 'the shipped file'} takes more memory than there is") from None


def _load(path: Path, version: int, read: Callable[[Any, Arrays], T]) -> T:
    arrays = read_arrays(path, {"head": MOST_HEAD_BYTES})
    head = parsed(arrays["head"].tobytes())
    if head["format"] != version:
        raise ValueError(f"format {head['format']}, expected {version}")
    return read(head, arrays)
