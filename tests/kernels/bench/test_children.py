"""Processes of the bench find what this one finds, wherever they work."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from foretell.kernels.bench.children import script_hidden
from foretell.kernels.sandbox.allowed import import_path


def test_relative_folders_are_passed_on_as_absolute_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = next(path for path in sys.path if path.endswith("site-packages"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["src", os.path.relpath(installed), *sys.path])
    before = list(sys.path)
    with script_hidden():
        assert str(tmp_path / "src") in sys.path and all(Path(entry).is_absolute() for entry in sys.path)
    assert sys.path == before
    assert installed in import_path() and all(Path(entry).is_absolute() for entry in import_path())
