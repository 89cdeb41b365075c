"""CUDA C++ on torch tensors: what a candidate in the language `cuda` imports.

    from foretell.cuda import compile

    program = compile(r'''
    extern "C" __global__ void scale(const float* x, float* out, float factor, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) out[i] = x[i] * factor;
    }
    ''')

    def kernel(x):
        out = torch.empty_like(x)
        program.scale(((x.numel() + 255) // 256,), (256,), (x, out, 2.0, x.numel()))
        return out

Compilation takes a fraction of a second (NVRTC) and is cached by content. Arguments are matched to the parameters of
the `__global__` function: tensors for pointers, numbers for numbers.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from foretell.kernels.languages.nvrtc import CompileError, compiled

__all__ = ["CompileError", "Launch", "Program", "compile"]

_GLOBAL = re.compile(
    r"__global__\s+(?:void\s+)?(?:__launch_bounds__\s*\([^)]*\)\s*)?(?:void\s+)?"
    r"(?:__launch_bounds__\s*\([^)]*\)\s*)?(?P<name>\w+)\s*\((?P<parameters>[^)]*)\)"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_NUMBERS: dict[str, type] = {
    "int": ctypes.c_int32,
    "unsigned": ctypes.c_uint32,
    "unsigned int": ctypes.c_uint32,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "long": ctypes.c_int64,
    "long long": ctypes.c_int64,
    "unsigned long long": ctypes.c_uint64,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_uint64,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "bool": ctypes.c_bool,
}


@dataclass(frozen=True)
class Launch:
    """One launch as asked for: what a build that runs no kernel records."""

    name: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    image: bytes
    ptx: str
    arguments: tuple[Any, ...]


class Program:
    """Compiled CUDA source; each `__global__` function is a method `name(grid, block, arguments, shared_bytes=0)`."""

    # Set while tracing a build on a machine without a GPU: called instead of launching.
    recorder: Callable[[Launch], None] | None = None
    arch: str | None = None

    def __init__(self, source: str, options: Sequence[str] = ()) -> None:
        self._parameters = _signatures(source)
        self._image, self._ptx = compiled(source, Program.arch or _this_device(), options)
        self._module: Any = None

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("_") or name not in self._parameters:
            raise AttributeError(
                f"the program has no __global__ function {name!r}; it has {', '.join(self._parameters)}"
            )

        def launch(grid: Sequence[int], block: Sequence[int], arguments: Sequence[Any], shared_bytes: int = 0) -> None:
            self._launch(name, _three(grid), _three(block), arguments, shared_bytes)

        return launch

    def _launch(
        self,
        name: str,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        arguments: Sequence[Any],
        shared_bytes: int,
    ) -> None:
        kinds = self._parameters[name]
        if len(kinds) != len(arguments):
            raise TypeError(f"{name} takes {len(kinds)} arguments, {len(arguments)} were given")
        if Program.recorder is not None:
            Program.recorder(Launch(name, grid, block, shared_bytes, self._image, self._ptx, tuple(arguments)))
            return
        import torch

        from foretell.kernels.bench.gpu.driver import Module

        if self._module is None:
            self._module = Module(self._image)
        values = [
            kind(a.data_ptr() if kind is ctypes.c_void_p else a) for kind, a in zip(kinds, arguments, strict=True)
        ]
        stream = torch.cuda.current_stream().cuda_stream
        self._module.launch(name, grid, block, values, shared_bytes, stream)


def compile(source: str, options: Sequence[str] = ()) -> Program:
    """Compile CUDA C++ for this machine's GPU (or the one a build is for); CompileError with the compiler's log."""
    return Program(source, options)


def _three(size: Sequence[int]) -> tuple[int, int, int]:
    padded = (*(int(v) for v in size), 1, 1, 1)
    return padded[0], padded[1], padded[2]


def _signatures(source: str) -> dict[str, list[type]]:
    found = {}
    for match in _GLOBAL.finditer(_COMMENT.sub(" ", source)):
        parameters = [p.strip() for p in match["parameters"].split(",") if p.strip()]
        found[match["name"]] = [_kind(parameter) for parameter in parameters]
    return found


def _kind(parameter: str) -> type:
    if "*" in parameter:
        return ctypes.c_void_p
    words = [w for w in parameter.split()[:-1] if w not in ("const", "__restrict__", "__grid_constant__")]
    name = " ".join(words)
    if name not in _NUMBERS:
        raise CompileError(f"cannot pass the parameter {parameter!r}: use pointers and {', '.join(_NUMBERS)}")
    return _NUMBERS[name]


def _this_device() -> str:
    import torch

    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}a" if major >= 9 else f"sm_{major}{minor}"
