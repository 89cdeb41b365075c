"""What a benchmark ran on: written into every result."""

from __future__ import annotations

import platform

from foretell import __version__
from foretell.kernels.bench.cpu_device import detect_cpu


def describe() -> dict[str, str | int]:
    device = detect_cpu()
    return {
        "device": device.name,
        "cores": device.cores,
        "toolchain": device.toolchain,
        "python": platform.python_version(),
        "foretell": __version__,
    }
