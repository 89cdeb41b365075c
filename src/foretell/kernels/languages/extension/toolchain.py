"""The compilers that extensions are built with."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from foretell.kernels.languages.extension.errors import ExtensionError, Reason

_NVCC_PLACES = ("/usr/local/cuda/bin/nvcc",)
_HOMES = ("CUDA_HOME", "CUDA_PATH")


@dataclass(frozen=True)
class Tool:
    """A compiler: its path and what it says of its version."""

    path: str
    version: str


@cache
def nvcc() -> Tool | None:
    """NVIDIA's compiler; None if there is none."""
    homes = [os.environ[name] for name in _HOMES if os.environ.get(name)]
    for name in (*(f"{home}/bin/nvcc" for home in homes), "nvcc", *_NVCC_PLACES):
        if (tool := _tool(name)) is not None:
            return tool
    return None


@cache
def host_compiler() -> Tool | None:
    return _tool("g++") or _tool("c++")


def _tool(name: str) -> Tool | None:
    path = shutil.which(name)
    if path is None:
        return None
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    lines = answer.stdout.strip().splitlines()
    return Tool(path, f"{lines[0]}; {lines[-1]}") if answer.returncode == 0 and lines else None


def needed_nvcc() -> Tool:
    tool = nvcc()
    if tool is None:
        raise ExtensionError(Reason.NO_COMPILER, "nvcc was not found: install the CUDA toolkit or put nvcc on the PATH")
    return tool


def needed_host_compiler() -> Tool:
    tool = host_compiler()
    if tool is None:
        raise ExtensionError(Reason.NO_COMPILER, "no C++ compiler was found: install g++")
    return tool


@cache
def cuda_include() -> Path:
    """The toolkit's headers: beside its compiler, which may be started by a script elsewhere."""
    homes = [Path(needed_nvcc().path).resolve().parents[1]]
    homes += [Path(os.environ[name]) for name in _HOMES if os.environ.get(name)] + [Path("/usr/local/cuda")]
    for home in homes:
        for place in (home / "include", *sorted(home.glob("targets/*/include"))):
            if (place / "cuda_runtime_api.h").is_file():
                return place
    raise ExtensionError(Reason.NO_COMPILER, "the CUDA toolkit's headers were not found: set CUDA_HOME to its folder")


def python_include() -> Path:
    place = Path(sysconfig.get_path("include"))
    if not (place / "Python.h").is_file():
        raise ExtensionError(Reason.NO_COMPILER, f"Python's headers are missing: {place} has no Python.h")
    return place


def python_tag() -> str:
    """What a built module holds for: this version of Python on this platform."""
    return str(sysconfig.get_config_var("EXT_SUFFIX") or "")
