"""Files of arrays from strangers: read within bounds, or refused in words."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from foretell import received_arrays
from foretell.gui.critic_model import BadCriticModel, CriticModel
from foretell.kernels.forecast.model_file import BadModel, load
from foretell.received import BadFile, TooLarge
from foretell.received_arrays import read_arrays


def _header(shape: str) -> bytes:
    """An array of NumPy that says it has that shape, and holds nothing."""
    said = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(said).to_bytes(2, "little") + said.encode()


def _packed(content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("head.npy", content)
    return file.getvalue()


def test_arrays_come_back(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", a=np.arange(3), b=np.zeros((0, 2)))
    found = read_arrays(tmp_path / "a.npz")
    assert found["a"].tolist() == [0, 1, 2] and found["b"].shape == (0, 2)


def test_a_file_that_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received_arrays, "MOST_BYTES", 1 << 16)
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros(1 << 20))
    with pytest.raises(TooLarge):
        read_arrays(tmp_path / "a.npz")


@pytest.mark.parametrize(
    "content",
    [b"", b"PK\x03\x04", _header("(9,)"), _packed(b""), _packed(_header("(9,)")), _packed(_header("(2**62,)")),
     _packed(_header(f"({2**60},)")), _packed(_header("(" * 90)), _packed(_header("(-1,)"))],
)  # fmt: skip
def test_odd_files_are_refused_by_all_who_read_them(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.npz"
    path.write_bytes(content)
    with pytest.raises(BadFile):
        read_arrays(path)
    with pytest.raises(BadModel):
        load(path, "", 1, lambda head, arrays: head)
    with pytest.raises(BadCriticModel):
        CriticModel.load(path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.npz")
    with pytest.raises(BadFile):
        read_arrays(tmp_path / "a.npz")
