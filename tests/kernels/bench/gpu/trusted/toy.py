"""Kernels on the CPU: images whose PTX names a function here, which is given the addresses that a launch was."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from foretell.kernels.program import Allocate, Buffer, Image, Launch, Pointer, Program, Role, Step, View
from foretell.kernels.record.replay import ReplayError
from foretell.testing.host import Host

LOW_SPREAD = 20.0  # of numbers that the task of the tests does not draw: two thirds of the usual one
Globals = dict[str, Any]
ROWS, COLS = 6, 128


def floats(address: int, count: int) -> Any:
    """Memory at an address as an array."""
    return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_float)), (count,))


def softmax(source: int, target: int, count: int, state: Globals) -> None:
    x = floats(source, count).reshape(-1, COLS).astype(np.float64)
    e = np.exp(x - x.max(1, keepdims=True))
    floats(target, count)[:] = (e / e.sum(1, keepdims=True)).reshape(-1)


def remembers(source: int, target: int, count: int, state: Globals) -> None:
    """Computes once and returns that ever after."""
    if "kept" not in state:
        softmax(source, target, count, state)
        state["kept"] = floats(target, count).copy()
    floats(target, count)[:] = state["kept"]


def every_other(source: int, target: int, count: int, state: Globals) -> None:
    """Computes in every other run."""
    state["runs"] = state.get("runs", 0) + 1
    if state["runs"] % 2:
        softmax(source, target, count, state)


def spoils_input(source: int, target: int, count: int, state: Globals) -> None:
    softmax(source, target, count, state)
    floats(source, count)[3] = 7.0


def spoils_later(source: int, target: int, count: int, state: Globals) -> None:
    """Leaves its input alone until it is timed."""
    softmax(source, target, count, state)
    state["runs"] = state.get("runs", 0) + 1
    if state["runs"] > 4:
        floats(source, count)[3] = 7.0


def counts_from_zero(source: int, target: int, count: int, state: Globals) -> None:
    """Right only where its global variable has its initial value when the image is loaded."""
    if state.setdefault("first", os.getpid()) == os.getpid():
        softmax(source, target, count, state)


def idle(source: int, target: int, count: int, state: Globals) -> None:
    """Touches no memory, so that it can be launched with any arguments."""


def _work(seconds: float) -> None:
    """Takes so much CPU time, by which kernels are timed here."""
    end_s = time.thread_time() + seconds
    while time.thread_time() < end_s:
        pass


def naps(source: int, target: int, count: int, state: Globals) -> None:
    """Does nothing, slowly."""
    _work(0.2)


def quick_as_drawn(source: int, target: int, count: int, state: Globals) -> None:
    """Takes its time where numbers have a smaller spread than those that the task draws."""
    if floats(source, count).std() < LOW_SPREAD:
        _work(0.05)
    softmax(source, target, count, state)


def dies(source: int, target: int, count: int, state: Globals) -> None:
    os._exit(9)


def hangs(source: int, target: int, count: int, state: Globals) -> None:
    time.sleep(3600)


def faults(source: int, target: int, count: int, state: Globals) -> None:
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


def fails(source: int, target: int, count: int, state: Globals) -> None:
    raise ReplayError("CUDA error 1: invalid argument")


_ALL = (softmax, remembers, every_other, spoils_input, spoils_later, counts_from_zero, idle, naps, dies, hangs, faults,
        quick_as_drawn,        fails)  # fmt: skip
KERNELS: Mapping[str, Callable[[int, int, int, Globals], None]] = {kernel.__name__: kernel for kernel in _ALL}


class ToyModule:
    """A loaded image; its global variables live as long as it does."""

    def __init__(self, image: Image) -> None:
        self._globals: Globals = {}

    def prepare(self, name: str) -> None:
        if name not in KERNELS:
            raise ReplayError(f"CUDA error 500: named symbol not found: {name}")

    def launch_block(
        self, name: str, grid: Any, block: Any, arguments: bytes, places: Sequence[int], *rest: Any
    ) -> None:
        sizes = zip(places, (8, 8, 4), strict=True)
        source, target, count = (int.from_bytes(arguments[at : at + size], "little") for at, size in sizes)
        self.prepare(name)
        KERNELS[name](source, target, count, self._globals)


class ToyHost(Host):
    """The CPU in the place of the GPU, with kernels."""

    def load(self, image: Image) -> ToyModule:
        return ToyModule(image)


def image_of(entry: str) -> Image:
    return Image(None, f".visible .entry {entry}(.param .u64 a, .param .u64 b, .param .u32 n)\n{{ ret; }}", "sm_90a")


def program_of(entry: str, rows: int = ROWS, cols: int = COLS, offset: int = 0) -> Program:
    """A Program that launches one kernel from the input to a fresh output."""
    image, size = image_of(entry), 4 * rows * cols
    view = View(0, 0, "float32", (rows, cols), (cols, 1))
    block = bytes(16) + (rows * cols).to_bytes(4, "little")
    pointers = (Pointer(0, 0, 0), Pointer(8, 1, offset))
    run: tuple[Step, ...] = (Allocate(1), Launch(image.hash, entry, (1, 1, 1), (32, 1, 1), 0, block, pointers))
    buffers = (Buffer(size, Role.INPUT), Buffer(size, Role.TEMPORARY))
    output = View(1, 0, "float32", (rows, cols), (cols, 1))
    return Program("toy", {}, buffers, (view,), (), (), run, (output,), (image,))
