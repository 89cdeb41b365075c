"""The allow-list: what of this machine's files foreign code and tools may read. Nothing of the user's is among them.

The system's programs and libraries, the C++ and CUDA compilers wherever they are, this Python with its packages, and
Foretell itself. More can be named in the variable FORETELL_READABLE (paths between colons).
"""

from __future__ import annotations

import os
import shutil
import site
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

READABLE_VARIABLE = "FORETELL_READABLE"
_SETTINGS = ("PATH", "CXX", "CUDA_HOME", "CUDA_PATH", READABLE_VARIABLE)
_SYSTEM = (
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc/ld.so.cache", "/etc/alternatives", "/nix/store",
    "/gnu/store", "/sys/devices/system/cpu",
)  # fmt: skip
_NOT_OF_USR = frozenset({"local", "src", "games", "etc", "var", "man"})  # settings and what people keep there
# Parts of a Python or a CUDA toolkit that lies wherever its user put it, as in a home folder.
_PARTS = (
    "bin", "lib", "lib64", "libexec", "include", "share", "targets", "nvvm", "pyvenv.cfg",
    "x86_64-conda-linux-gnu", "aarch64-conda-linux-gnu",
)  # fmt: skip
_GPU_DEVICES = ("nvidia[0-9]*", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-caps/*")
_GPU_FILES = ("/sys/devices", "/sys/bus/pci", "/sys/module/nvidia", "/sys/module/nvidia_uvm")
_MOST_LINKS = 40  # as many as the kernel follows
_PACKAGES = ("stdlib", "platstdlib", "purelib", "platlib", "include", "platinclude")
_TOOLS = ("g++", "clang++", "c++", "gcc", "nvcc", "ptxas", "objdump", "cuobjdump", "ninja")


def system_paths() -> tuple[str, ...]:
    """The system's own folders, and compilers that lie elsewhere."""
    return _system_paths(*(os.environ.get(name, "") for name in _SETTINGS))


@lru_cache(maxsize=8)
def _system_paths(path: str, compiler: str, *homes_and_named: str) -> tuple[str, ...]:
    own = [
        os.path.join(folder, name)
        for folder in ("/usr", "/usr/local")
        if os.path.isdir(folder)
        for name in os.listdir(folder)
        if name not in _NOT_OF_USR
    ]
    *homes, named = homes_and_named
    more = [each for each in named.split(":") if each.startswith("/")]
    return _existing([*_SYSTEM, *own, *_tool_paths(path, compiler, homes), *more])


@cache
def python_paths() -> tuple[str, ...]:
    """This Python, its packages and Foretell."""
    prefixes = {sys.prefix, sys.base_prefix, sys.exec_prefix}
    parts = [os.path.join(prefix, part) for prefix in sorted(prefixes) for part in _PARTS]
    places = sysconfig.get_paths()
    packages = [places[kind] for kind in _PACKAGES if kind in places] + site.getsitepackages()
    if site.ENABLE_USER_SITE:
        packages.append(site.getusersitepackages())
    own = str(Path(__file__).resolve().parents[2])
    return _existing([os.path.realpath(sys.executable), *parts, *packages, own])


def gpu_devices() -> tuple[str, ...]:
    """The devices by which CUDA reaches GPUs; none where there is no GPU."""
    return tuple(sorted(str(path) for pattern in _GPU_DEVICES for path in Path("/dev").glob(pattern)))


def gpu_files() -> tuple[str, ...]:
    """What CUDA reads about the machine beside what everyone may."""
    return _existing(_GPU_FILES)


def import_path() -> list[str]:
    """`sys.path` for a Python inside: the folders that can be read there, and the one that Foretell lies in.

    Absolute: a job works in a directory of its own.
    """
    home = str(Path(__file__).resolve().parents[3])
    readable = python_paths() + system_paths()
    folders = [os.path.abspath(each) for each in sys.path if each]
    return [home, *(each for each in folders if each != home and is_below(os.path.realpath(each), readable))]


def _tool_paths(path: str, compiler: str, named_homes: Sequence[str]) -> tuple[str, ...]:
    """The toolkits of compilers that are found on the PATH or named by a variable: the folder above their `bin`."""
    places = [place for name in (compiler, *_TOOLS) if name and (place := shutil.which(name, path=path))]
    homes = [home for home in named_homes if home]
    found = []
    for place in places:
        real = Path(place).resolve()
        found += [place]  # with the links that lead to it
        homes += [str(real.parent.parent)] if real.parent.name == "bin" else []
    return (*found, *(os.path.join(home, part) for home in homes for part in _PARTS))


def _existing(paths: Iterable[str]) -> tuple[str, ...]:
    """Those that exist, as they are once links are followed, each once and none below another; then the links."""
    named = [path for path in dict.fromkeys(paths) if os.path.exists(path)]
    real = {os.path.realpath(path) for path in named} - {"/"}
    kept = [path for path in sorted(real) if not is_below(os.path.dirname(path), real)]
    links = {link for path in named for link in _links_to(path)}
    return (*kept, *sorted(link for link in links if not is_below(link, kept)))


def _links_to(path: str) -> Iterator[str]:
    """The symbolic links that are followed on the way to a path."""
    for _ in range(_MOST_LINKS):
        parts = Path(path).parts
        starts = (os.path.join(*parts[: end + 1]) for end in range(len(parts)))
        link = next((start for start in starts if os.path.islink(start)), None)
        if link is None:
            return
        yield link
        target = os.path.join(os.path.dirname(link), os.readlink(link))
        path = os.path.normpath(os.path.join(target, os.path.relpath(path, link)))


def is_below(path: str, folders: Iterable[str]) -> bool:
    """Whether a path is one of these folders or lies in one."""
    return any(path == folder or path.startswith(folder + "/") for folder in folders)
