"""A built extension as a Python module."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from foretell.kernels.languages.extension.errors import ExtensionError, Reason


def load(path: Path) -> ModuleType:
    """Import a shared object that `build` made. It is not entered into `sys.modules`: names are the candidates' own.

    Raises:
        ExtensionError: If it cannot be imported.
    """
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ExtensionError(Reason.DOES_NOT_LOAD, f"{path.name} is not an extension module")
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        raise ExtensionError(Reason.DOES_NOT_LOAD, f"the extension {name} cannot be imported: {error}") from error
    return module
