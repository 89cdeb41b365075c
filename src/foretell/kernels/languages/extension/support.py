"""What every extension is linked with: the way into torch, and the CUDA runtime. Compiled once per toolchain."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from foretell.kernels import walls
from foretell.kernels.languages.extension import toolchain
from foretell.kernels.languages.extension.errors import ExtensionError, Reason
from foretell.kernels.languages.extension.headers import PACKAGE, digest
from foretell.kernels.languages.extension.places import kept, trusted
from foretell.kernels.sandbox import scrubbed_environment

_LONGEST_WAIT_S = 120.0  # compiling takes seconds
_OPTIONS = ("-O2", "-fPIC", "-std=c++17", "-fvisibility=hidden", "-Wno-deprecated-declarations")
_FOR_PYTHON = ("calls.cpp", "tensor.cpp", "module.cpp")
_FOR_CUDA = ("runtime.cpp", "runtime_device.cpp", "cublas.cpp")


def support_objects(cuda: bool) -> list[Path]:
    """Object files to link with, compiled now if they never were; ExtensionError if that cannot be done."""
    compiler = toolchain.needed_host_compiler()
    includes = [PACKAGE / "include", toolchain.python_include(), *([toolchain.cuda_include()] if cuda else [])]
    parts = (digest(), compiler.version, toolchain.python_tag(), *map(str, includes), *_OPTIONS)
    key = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:24]
    place, names = f"extension-support/{key}/{'cuda' if cuda else 'host'}", (*_FOR_PYTHON, *(_FOR_CUDA if cuda else ()))
    objects = [trusted(place) / f"{Path(name).stem}.o" for name in names]
    if walls.is_inside and not all(each.exists() for each in objects):
        objects = [kept(place) / each.name for each in objects]  # nobody made them before, and they cannot be put there
    if not all(each.exists() for each in objects):
        folder = objects[0].parent
        folder.mkdir(parents=True, exist_ok=True)
        with _locked(kept(f"locks/{key}-{'cuda' if cuda else 'host'}")):
            for each in objects:
                if not each.exists():
                    _compile(compiler.path, each, includes)
    return objects


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold a lock, so that nothing is compiled twice; who waits long for it goes on without.

    It does not lie where foreign code can read: whoever can open a file can lock it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + _LONGEST_WAIT_S
    with path.open("w") as lock:
        while time.monotonic() < deadline:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(0.05)
        yield


def _compile(compiler: str, target: Path, includes: Sequence[Path]) -> None:
    """Compile one of our own sources, which needs no sandbox."""
    with tempfile.TemporaryDirectory(prefix="support-", dir=target.parent) as scratch:
        for name in ("foretell_methods.inc", "foretell_functions.inc"):
            (Path(scratch) / name).touch()
        source, partial = PACKAGE / "native" / f"{target.stem}.cpp", Path(scratch) / "made.o"
        folders = [f"-I{folder}" for folder in (scratch, *includes)]
        command = [compiler, *_OPTIONS, *folders, "-c", str(source), "-o", str(partial)]
        environment = scrubbed_environment() | {"TMPDIR": scratch}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode != 0:
            raise ExtensionError(Reason.NO_COMPILER, f"{source.name} of this package does not compile", done.stderr)
        partial.replace(target)
