"""Files of named arrays (NumPy's .npz) that may have come from someone else: read within bounds, or refused."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from foretell.received import BadFile, TooLarge, open_plain

MOST_BYTES = 1 << 30  # unpacked
FEW_BYTES, TIMES_FILE = 64 << 20, 50  # unpacked, of a file of this size
MOST_MEMBERS = 10_000
_MAGIC = np.lib.format.MAGIC_PREFIX
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_KINDS = "biufcSU"  # of values: truth values, numbers and texts
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # as NumPy writes them; others unpack to a million times as much


def read_arrays(path: Path, most_bytes: Mapping[str, int] | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of a plain file by name; OSError as `open`, BadFile if it is none or unpacks to too many bytes.

    `most_bytes` are bounds of single arrays by name, with what NumPy writes before them.
    """
    with os.fdopen(open_plain(path.resolve()), "rb") as file:
        try:
            most = min(MOST_BYTES, FEW_BYTES + TIMES_FILE * os.fstat(file.fileno()).st_size)
            with zipfile.ZipFile(file) as packed:
                members = packed.infolist()
                if sum(member.file_size for member in members) > most:
                    raise TooLarge(path, most)
                if len(members) > MOST_MEMBERS or any(member.compress_type not in _PACKED for member in members):
                    raise BadFile(f"{path} is no file of arrays as NumPy writes them")
                for member in members:
                    bound = (most_bytes or {}).get(member.filename.removesuffix(".npy"), most)
                    if member.file_size > bound:
                        raise BadFile(f"{path} has {member.file_size} bytes of {member.filename[:40]}")
                    with packed.open(member) as content:
                        _check_header(content, member.file_size, path)
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                found = dict(arrays)
        except BadFile:
            raise
        except MemoryError:
            raise BadFile(f"{path} takes more memory than there is") from None
        except Exception as error:  # NumPy reads the shapes in it as Python, so that it may raise anything
            reason = " ".join(str(error).split())[:200]
            raise BadFile(f"{path} is no file of arrays: {type(error).__name__}: {reason}") from error
    if not all(isinstance(array, np.ndarray) for array in found.values()):
        raise BadFile(f"{path} holds something else than arrays")
    return found


def _check_header(content: IO[bytes], size: int, path: Path) -> None:
    """BadFile unless this begins as an array does that is as large as its file: values that take no bytes are refused.

    The sides of an array without values count as well: they are those of what is made from it.
    """
    if content.read(len(_MAGIC)) != _MAGIC:
        raise BadFile(f"{path} holds something else than arrays")
    version = tuple(content.read(2))
    if version not in _HEADERS:
        raise BadFile(f"{path} holds an array in a form that has no numbers or texts")
    shape, _, kind = _HEADERS[version](content)
    values = math.prod(max(1, side) for side in shape)
    if kind.kind not in _KINDS or not kind.itemsize or values * kind.itemsize > max(size, FEW_BYTES * (0 in shape)):
        raise BadFile(f"{path} holds an array of {values:.3g} values of the type {kind.str}, of which it has no bytes")
