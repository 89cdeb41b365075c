"""Kernels written as CUDA C++ or PTX, executed by the emulator on numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from foretell.kernels.emulate.machine import Budget
from foretell.kernels.emulate.memory import Strays
from foretell.kernels.emulate.module import Module
from foretell.kernels.languages.nvrtc import NoCudaCompiler, compiled
from foretell.kernels.program import Image, Launch, Pointer
from foretell.kernels.record.parameters import parameters_of

Array = NDArray[Any]


def execute(
    ptx: str,
    entry: str,
    grid: int | tuple[int, int, int],
    block: int | tuple[int, int, int],
    *arguments: Any,
    shared: int = 0,
    budget: float = 1e9,
    **attributes: Any,
) -> Strays:
    """Launch a kernel; arrays are buffers that it may write, other arguments numbers of the right numpy type."""
    strays = Strays()
    module = Module(Image(None, ptx, "sm_80"), Budget(budget), strays)
    places = parameters_of(ptx, entry)
    room = bytearray(places[-1].offset + places[-1].size)
    pointers, buffers = [], {}
    for number, (place, argument) in enumerate(zip(places, arguments, strict=True)):
        if isinstance(argument, np.ndarray):
            pointers.append(Pointer(place.offset, number, 0))
            buffers[number] = argument.reshape(-1).view(np.uint8)
        else:
            room[place.offset : place.offset + place.size] = argument.tobytes()
    grid, block = ((each, 1, 1) if isinstance(each, int) else each for each in (grid, block))
    launch = Launch(
        "image", entry, grid, block, shared, bytes(room), tuple(pointers), attributes=tuple(attributes.items())
    )
    module.launch(launch, buffers)
    return strays


def ptx_of(source: str) -> str:
    """The PTX of CUDA C++; the test is skipped where nothing compiles it."""
    try:
        return compiled(source, "sm_80", ())[1]
    except NoCudaCompiler as error:
        pytest.skip(str(error))
