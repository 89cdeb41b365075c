"""CUDA C++ to machine code without a GPU: NVRTC where its library is found, `nvcc` where not."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from ctypes import byref, c_char_p, c_int, c_size_t, c_void_p
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from foretell.kernels.languages.diagnostics import diagnostics
from foretell.kernels.limits import COMPILER_LIMITS
from foretell.kernels.sandbox import run
from foretell.kernels.store.locations import cache_dir
from foretell.received import read_plain

# nvcc finds the macro in the host's headers, which NVRTC does not read.
_NVRTC_OPTIONS = ("--std=c++17", "-default-device", "--define-macro=INFINITY=__builtin_bit_cast(float, 0x7f800000)")
_NVCC_OPTIONS = ("-std=c++17", "-cubin", "-O3", "--keep")
NVCC_LIMITS = replace(COMPILER_LIMITS, cpu_s=60.0)
_KEY_CHARACTERS = 40
_MADE, _FAILED = b"+", b"-"


class CompileError(Exception):
    """The CUDA source does not compile; the message is what the compiler's log says of it."""


class NoCudaCompiler(RuntimeError):
    """Neither NVRTC nor nvcc was found, or the one that was does not run."""


def compiled(source: str, arch: str, options: Sequence[str]) -> tuple[bytes, str]:
    """A cubin for `arch` and its PTX, from the cache if this source was compiled before."""
    compiler = _nvrtc_version() or _nvcc_version()
    if compiler is None:
        raise NoCudaCompiler("no CUDA compiler was found: install nvidia-cuda-nvrtc or put nvcc on the PATH")
    key = hashlib.sha256("\0".join((source, arch, compiler, *options)).encode()).hexdigest()[:_KEY_CHARACTERS]
    kept = cache_dir() / "cuda" / key[:2] / f"{key}.cubin"
    with contextlib.suppress(FileNotFoundError):
        return kept.read_bytes(), kept.with_suffix(".ptx").read_text()
    made = _by_nvrtc_apart(source, arch, options) if _nvrtc() is not None else None
    image, ptx = made or _by_nvcc(source, arch, options)
    kept.parent.mkdir(parents=True, exist_ok=True)
    for place, content in ((kept, image), (kept.with_suffix(".ptx"), ptx.encode())):
        partial = place.with_suffix(f"{place.suffix}.{os.getpid()}")
        partial.write_bytes(content)
        partial.replace(place)
    return image, ptx


def _library_places() -> Iterator[Path]:
    for package in ("nvidia.cu13", "nvidia.cuda_nvrtc"):
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        for place in (spec.submodule_search_locations or []) if spec else []:
            yield from sorted(Path(place).glob("lib/libnvrtc.so.*"))
    for root in (os.environ.get("CUDA_HOME"), "/usr/local/cuda"):
        if root:
            yield from sorted(Path(root).glob("lib64/libnvrtc.so.*"))
            yield from sorted(Path(root).glob("targets/*/lib/libnvrtc.so.*"))


@cache
def _nvrtc() -> Any:
    names: list[str] = [str(path) for path in _library_places() if "builtins" not in path.name]
    for name in [*names, "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]:
        try:
            # NVRTC opens this one by its bare name, which is found in another folder only if it is already loaded.
            for builtins in sorted(Path(name).parent.glob("libnvrtc-builtins.so.*")) if "/" in name else ():
                ctypes.CDLL(str(builtins), mode=ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


@cache
def _nvrtc_version() -> str | None:
    if _nvrtc() is None:
        return None
    major, minor = c_int(), c_int()
    _nvrtc().nvrtcVersion(byref(major), byref(minor))
    return f"nvrtc {major.value}.{minor.value}"


@cache
def _nvcc_version() -> str | None:
    path = shutil.which("nvcc") or shutil.which("/usr/local/cuda/bin/nvcc")
    if path is None:
        return None
    answer = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return answer.stdout.strip().splitlines()[-1] if answer.returncode == 0 else None


def toolchain() -> str | None:
    """The CUDA compiler that would be used, or None."""
    return _nvrtc_version() or _nvcc_version()


def _include_folders() -> list[str]:
    found = []
    for package in ("nvidia.cu13", "nvidia.cuda_runtime"):
        try:
            spec = importlib.util.find_spec(package)
        except ModuleNotFoundError:
            continue
        found += [str(Path(p) / "include") for p in (spec.submodule_search_locations or [])] if spec else []
    found += [str(p) for p in (Path("/usr/local/cuda/include"), Path("/usr/local/cuda/include/cccl")) if p.is_dir()]
    return found


def _by_nvrtc_apart(source: str, arch: str, options: Sequence[str]) -> tuple[bytes, str] | None:
    """As `_by_nvrtc`, in a fork of this process, so that a compiler that crashes takes nothing with it.

    Returns None if it crashed and nvcc can be asked instead. Raises CompileError if it crashed and there is no nvcc.
    """
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _answer(writer, source, arch, options)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) or not answer:
        if _nvcc_version() is not None:
            return None
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        raise CompileError(f"NVRTC ended its process ({signal.strsignal(number) if number else 'no answer'})")
    kind, size, content = answer[:1], int.from_bytes(answer[1:9], "little"), answer[9:]
    if kind == _FAILED:
        raise CompileError(content.decode(errors="replace"))
    return content[:size], content[size:].decode(errors="replace")


def _answer(writer: int, source: str, arch: str, options: Sequence[str]) -> NoReturn:
    """Write what NVRTC made, or why it did not, and end this process without anything that its exit would run."""
    try:
        try:
            image, ptx = _by_nvrtc(source, arch, options)
            answer = _MADE + len(image).to_bytes(8, "little") + image + ptx.encode()
        except CompileError as error:
            answer = _FAILED + bytes(8) + str(error).encode()
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(answer)
    finally:
        os._exit(0)


def _by_nvrtc(source: str, arch: str, options: Sequence[str]) -> tuple[bytes, str]:
    library = _nvrtc()
    program = c_void_p()
    _checked(
        library.nvrtcCreateProgram(byref(program), source.encode(), b"kernel.cu", 0, None, None), "nvrtcCreateProgram"
    )
    flags = [f"--gpu-architecture={arch}", *_NVRTC_OPTIONS, *options, *(f"-I{folder}" for folder in _include_folders())]
    array = (c_char_p * len(flags))(*(flag.encode() for flag in flags))
    code = library.nvrtcCompileProgram(program, len(flags), array)
    try:
        if code != 0:
            raise CompileError(diagnostics(_text(library, program, "ProgramLog") or f"NVRTC error {code}", source))
        size = c_size_t()
        _checked(library.nvrtcGetCUBINSize(program, byref(size)), "nvrtcGetCUBINSize")
        image = ctypes.create_string_buffer(size.value)
        _checked(library.nvrtcGetCUBIN(program, image), "nvrtcGetCUBIN")
        return image.raw, _text(library, program, "PTX")
    finally:
        library.nvrtcDestroyProgram(byref(program))


def _text(library: Any, program: c_void_p, what: str) -> str:
    size = c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, text)
    return text.value.decode(errors="replace")


def _checked(code: int, what: str) -> None:
    if code != 0:
        raise CompileError(f"{what} failed with NVRTC error {code}")


def _by_nvcc(source: str, arch: str, options: Sequence[str]) -> tuple[bytes, str]:
    path = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    with tempfile.TemporaryDirectory(prefix="foretell-nvcc-") as scratch:
        (Path(scratch) / "kernel.cu").write_text(source)
        number = arch.removeprefix("sm_")
        command = [path, *_NVCC_OPTIONS, f"-gencode=arch=compute_{number},code=sm_{number}", *options]
        done = run([*command, "-o", "kernel.cubin", "kernel.cu"], writable=Path(scratch), limits=NVCC_LIMITS)
        if done.timed_out or done.starved:
            raise CompileError(f"nvcc did not finish within {NVCC_LIMITS.cpu_s:g} s")
        if done.broken:
            raise NoCudaCompiler(f"nvcc's sandbox failed: {done.broken}")
        if done.returncode != 0:
            raise CompileError(diagnostics(done.stderr or done.stdout, source))
        image, ptx = (read_plain(Path(scratch) / name) for name in ("kernel.cubin", "kernel.ptx"))
        return image, ptx.decode(errors="replace")
