"""Clocks, temperature and throttling of a GPU, asked of the driver's management library by `ctypes`."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_uint, c_ulonglong, c_void_p
from functools import cache
from typing import Any

from foretell.kernels.bench.gpu.device import visible_gpus

_REASONS = {
    0x1: "idle",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "thermal",
    0x40: "hardware thermal",
    0x80: "hardware power brake",
}


@cache
def _library() -> Any:
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    return library if library.nvmlInit_v2() == 0 else None


@cache
def _handle(gpu: str) -> Any:
    handle = c_void_p()
    if gpu.isdigit():
        code = _library().nvmlDeviceGetHandleByIndex_v2(c_uint(int(gpu)), byref(handle))
    else:
        code = _library().nvmlDeviceGetHandleByUUID(gpu.encode(), byref(handle))
    return handle if code == 0 else None


def conditions(index: int = 0) -> dict[str, float | str]:
    """What state a visible GPU is in right now; empty where the library is not there."""
    library = _library()
    if library is None or (handle := _handle(visible_gpus()[index])) is None:
        return {}
    clock, memory, heat, power, reasons = c_uint(), c_uint(), c_uint(), c_uint(), c_ulonglong()
    library.nvmlDeviceGetClockInfo(handle, 1, byref(clock))
    library.nvmlDeviceGetClockInfo(handle, 2, byref(memory))
    library.nvmlDeviceGetTemperature(handle, 0, byref(heat))
    library.nvmlDeviceGetPowerUsage(handle, byref(power))
    library.nvmlDeviceGetCurrentClocksThrottleReasons(handle, byref(reasons))
    named = [name for bit, name in _REASONS.items() if reasons.value & bit]
    return {
        "sm_mhz": float(clock.value),
        "memory_mhz": float(memory.value),
        "celsius": float(heat.value),
        "watts": power.value / 1e3,
        "throttle": ", ".join(named) or "none",
    }
