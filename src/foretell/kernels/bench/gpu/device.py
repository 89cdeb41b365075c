"""A GPU as a Device: its properties from torch, with copy bandwidth and matrix rate measured once and remembered."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from foretell.extras import require
from foretell.kernels.device import Device
from foretell.kernels.languages import nvrtc
from foretell.kernels.store.locations import cache_dir

_COPY_BYTES = 2 << 30
_MATRIX = 8192


class NoGpu(RuntimeError):
    """torch finds no CUDA GPU."""


def visible_gpus() -> list[str]:
    """The GPUs that this process may use, by the names that CUDA_VISIBLE_DEVICES knows them by."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is not None:
        return [name.strip() for name in given.split(",") if name.strip()]
    import torch

    return [str(index) for index in range(torch.cuda.device_count())]


def detect_gpu(index: int = 0) -> Device:
    """Describe a GPU. Raises NoGpu if there is none, MissingPackage if torch is not installed."""
    torch = require("torch", "gpu")
    if not torch.cuda.is_available():
        raise NoGpu("torch sees no CUDA GPU on this machine")
    properties = torch.cuda.get_device_properties(index)
    rates = _rates(torch, index, properties.name)
    return Device(
        name=properties.name,
        kind="gpu",
        cores=properties.multi_processor_count,
        clock_hz=float(getattr(properties, "clock_rate", 0)) * 1e3,
        bandwidth_bytes_per_s=rates["copy"],
        peak_flops={"float16": rates["float16"], "bfloat16": rates["float16"], "float32": rates["float32"]},
        memory_bytes=properties.total_memory,
        cache_bytes=getattr(properties, "L2_cache_size", 0),
        vector_bytes=16,
        languages=("triton", "cuda", "torch"),
        toolchain=_toolchain(torch, properties),
    )


def _toolchain(torch: Any, properties: Any) -> str:
    try:
        import triton

        version = f"triton {triton.__version__}"
    except ImportError:
        version = "no triton"
    arch = f"sm_{properties.major}{properties.minor}"
    return f"{arch}, torch {torch.__version__}, {version}, {nvrtc.toolchain() or 'no CUDA compiler'}"


def _rates(torch: Any, index: int, name: str) -> dict[str, float]:
    """Bytes per second of a device copy (read + written) and FLOP/s of a large matrix product."""
    key = hashlib.sha256(f"{name} {torch.__version__}".encode()).hexdigest()[:12]
    record = cache_dir() / f"gpu-{key}.json"
    try:
        known: dict[str, float] = json.loads(record.read_text())
        return known
    except (OSError, ValueError):
        rates = measure_rates(torch, index)
    partial = record.with_suffix(f".{os.getpid()}")
    partial.write_text(json.dumps(rates))
    partial.replace(record)
    return rates


def measure_rates(torch: Any, index: int) -> dict[str, float]:
    device = f"cuda:{index}"
    source = torch.ones(_COPY_BYTES // 4, device=device)
    target = torch.empty_like(source)
    rates = {"copy": 2 * _COPY_BYTES / _best_s(torch, lambda: target.copy_(source))}
    for name in ("float16", "float32"):
        a = torch.randn(_MATRIX, _MATRIX, device=device, dtype=getattr(torch, name))
        rates[name] = 2.0 * _MATRIX**3 / _best_s(torch, lambda a=a: a @ a)
    return rates


def _best_s(torch: Any, run: Any) -> float:
    times = []
    for _ in range(6):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e-3)
    return float(min(times))
