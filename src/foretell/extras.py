"""Optional dependencies: which extra brings which package, what it enables, and the command that installs it.

The only place that words an installation command. Packages of an extra are imported where they are used; a missing one
surfaces as ModuleNotFoundError, for which `missing` gives the explanation.
"""

from __future__ import annotations

import importlib
import importlib.util
import shlex
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import foretell

PROJECT = "foretell"


@dataclass(frozen=True)
class Extra:
    """An extra of the distribution: distribution names by import name, and the commands that need it."""

    name: str
    packages: Mapping[str, str]
    enables: str

    @property
    def absent(self) -> tuple[str, ...]:
        """Distribution names of the packages that are not installed."""
        return tuple(package for module, package in self.packages.items() if not is_installed(module))


EXTRAS: Mapping[str, Extra] = {
    extra.name: extra
    for extra in (
        Extra(
            "gpu",
            {"torch": "torch", "triton": "triton"},
            "search, ask and tell with --language triton, cuda or torch; measure FILE.py; explain of a GPU task, also "
            "without a GPU; record; calibrate; audit (with [data]); collect of a GPU plan; data rebuild; forecasters "
            "program and calibrated; builds in forecast --device (without it: forecasts from the source alone)",
        ),
        Extra(
            "data",
            {"pyarrow": "pyarrow", "sklearn": "scikit-learn"},
            "eval; replay; audit (with [gpu]); data import, stats, verify, split, export and rebuild; train features",
        ),
        Extra(
            "train",
            {
                "torch": "torch",
                "transformers": "transformers",
                "peft": "peft",
                "accelerate": "accelerate",
                "gguf": "gguf",
                "scipy": "scipy",
                "pyarrow": "pyarrow",
                "sklearn": "scikit-learn",
            },
            "train lm; language models on this machine (local:PATH)",
        ),
        Extra(
            "gui",
            {
                "playwright": "playwright",
                "PIL": "pillow",
                "rapidocr": "rapidocr",
                "cv2": "opencv-python-headless",
                "onnxruntime": "onnxruntime",
                "gymnasium": "gymnasium",
                "miniwob": "miniwob",
            },
            "gui demo, gui rescore",
        ),
    )
}


class MissingPackage(ModuleNotFoundError):
    """A package of an extra is not installed. The message ends in the command that installs the extra."""

    def __init__(self, module: str, extra: Extra) -> None:
        self.what = f"{extra.packages[module]} is not installed"
        self.expected = f"the extra [{extra.name}]: {', '.join(extra.packages.values())}"
        self.do = install_command(extra.name)
        super().__init__(f"{self.what}: {self.do}", name=module)


def require(module: str, extra: str) -> Any:
    """The imported module. Raises MissingPackage if it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise missing(error, extra) or error from error


def check(extra: str, *modules: str) -> None:
    """Raise MissingPackage for the first of the modules that is not installed; imports none of them."""
    for module in modules:
        if not is_installed(module):
            raise MissingPackage(module, EXTRAS[extra])


def missing(error: ModuleNotFoundError, extra: str | None = None) -> MissingPackage | None:
    """The explanation of an import that failed for want of an extra; None if no extra has the module.

    Args:
        error: What the import raised.
        extra: The extra to name if several have the module; by default the first of `EXTRAS`.
    """
    if isinstance(error, MissingPackage):
        return error
    module = (error.name or "").partition(".")[0]
    if is_installed(module):
        return None  # the package is here, and a part of it is missing or broken: the traceback says more
    owners = [one for one in EXTRAS.values() if module in one.packages]
    chosen = next((one for one in owners if one.name == extra), owners[0] if owners else None)
    return None if chosen is None else MissingPackage(module, chosen)


def is_installed(module: str) -> bool:
    """True if a top-level module can be found; does not import it."""
    if module in sys.modules:
        return sys.modules[module] is not None
    try:
        return bool(module) and importlib.util.find_spec(module) is not None
    except (ModuleNotFoundError, ValueError):
        return False


def install_command(extra: str) -> str:
    """The command that adds an extra to this installation of Foretell, to be run in the current directory."""
    clone = clone_root()
    if clone is None:
        return f"{_pip()} install '{PROJECT}[{extra}]'"
    where = "." if clone == Path.cwd() else str(clone)
    return f"{_pip()} install -e '{where}[{extra}]'"


def clone_root() -> Path | None:
    """The root of the clone that this package is run from; None if it was installed from a wheel."""
    root = Path(foretell.__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() and (root / "src" / PROJECT).is_dir() else None


def _pip() -> str:
    """`pip` if the shell would find the one of this interpreter, else this interpreter with `-m pip`."""
    here, found = Path(sys.executable).parent, shutil.which("pip")
    same = found is not None and Path(found).parent == here
    return "pip" if same else f"{shlex.quote(sys.executable)} -m pip"
