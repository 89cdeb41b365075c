"""Files of named arrays (NumPy's .npz) that may have come from someone else: read within bounds, or refused."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from foretell.received import BadFile, TooLarge, open_plain

MOST_BYTES = 1 << 30  # unpacked


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a plain file by name; OSError as `open`, BadFile if it is none or unpacks to too many bytes."""
    with os.fdopen(open_plain(path.resolve()), "rb") as file:
        try:
            with zipfile.ZipFile(file) as packed:
                if sum(member.file_size for member in packed.infolist()) > MOST_BYTES:
                    raise TooLarge(path, MOST_BYTES)
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                found = dict(arrays)
        except BadFile:
            raise
        except Exception as error:  # NumPy reads the shapes in it as Python, so that it may raise anything
            reason = " ".join(str(error).split())[:200]
            raise BadFile(f"{path} is no file of arrays: {type(error).__name__}: {reason}") from error
    if not all(isinstance(array, np.ndarray) for array in found.values()):
        raise BadFile(f"{path} holds something else than arrays")
    return found
