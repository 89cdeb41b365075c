"""Descriptions of common GPUs, for forecasts on machines that have none of them, and of the corpus's CPU.

Vendors' figures for GPUs: dense rates without sparsity, boost clock, last-level cache. `float32` is the rate of the
plain units, since a reference that says float32 means it; the narrower types are the tensor cores' where there are any.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from foretell.kernels.device import Device
from foretell.received import read_json


@dataclass(frozen=True)
class _Gpu:
    """One line of a data sheet."""

    name: str
    arch: str
    cores: int
    clock_mhz: int
    bandwidth_gb_s: int
    memory_gb: int
    cache_mb: float
    float32_tflops: float
    float16_tflops: float
    int8_tops: float

    def device(self) -> Device:
        wide = self.float16_tflops * 1e12
        narrow = self.int8_tops * 1e12
        float8 = {"float8_e4m3fn": narrow} if self.arch in ("sm_89", "sm_90", "sm_100", "sm_120") else {}
        bfloat16 = {"bfloat16": wide} if self.arch not in ("sm_70", "sm_75") else {}
        return Device(
            name=self.name,
            kind="gpu",
            cores=self.cores,
            clock_hz=self.clock_mhz * 1e6,
            bandwidth_bytes_per_s=self.bandwidth_gb_s * 1e9,
            peak_flops={"float32": self.float32_tflops * 1e12, "float16": wide, "int8": narrow, **bfloat16, **float8},
            memory_bytes=self.memory_gb * 10**9,
            cache_bytes=int(self.cache_mb * 2**20),
            vector_bytes=16,
            languages=("triton", "cuda", "torch"),
            toolchain=f"{self.arch}, described",
        )


_GPUS = {
    "b200": _Gpu("NVIDIA B200", "sm_100", 148, 1965, 8000, 180, 126, 75, 2250, 4500),
    "h200": _Gpu("NVIDIA H200", "sm_90", 132, 1980, 4800, 141, 50, 67, 989, 1979),
    "h100": _Gpu("NVIDIA H100 80GB HBM3", "sm_90", 132, 1980, 3350, 80, 50, 67, 989, 1979),
    "h100-pcie": _Gpu("NVIDIA H100 PCIe", "sm_90", 114, 1755, 2000, 80, 50, 51, 756, 1513),
    "gh200": _Gpu("NVIDIA GH200 480GB", "sm_90", 132, 1980, 4000, 96, 50, 67, 989, 1979),
    "h20": _Gpu("NVIDIA H20", "sm_90", 78, 1980, 4000, 96, 60, 44, 148, 296),
    "a100": _Gpu("NVIDIA A100-SXM4-80GB", "sm_80", 108, 1410, 2039, 80, 40, 19.5, 312, 624),
    "a100-40gb": _Gpu("NVIDIA A100-SXM4-40GB", "sm_80", 108, 1410, 1555, 40, 40, 19.5, 312, 624),
    "a800": _Gpu("NVIDIA A800-SXM4-80GB", "sm_80", 108, 1410, 2039, 80, 40, 19.5, 312, 624),
    "a6000": _Gpu("NVIDIA RTX A6000", "sm_86", 84, 1800, 768, 48, 6, 38.7, 155, 310),
    "a40": _Gpu("NVIDIA A40", "sm_86", 84, 1740, 696, 48, 6, 37.4, 150, 299),
    "a10": _Gpu("NVIDIA A10", "sm_86", 72, 1695, 600, 24, 6, 31.2, 125, 250),
    "l40s": _Gpu("NVIDIA L40S", "sm_89", 142, 2520, 864, 48, 96, 91.6, 362, 733),
    "l40": _Gpu("NVIDIA L40", "sm_89", 142, 2490, 864, 48, 96, 90.5, 181, 362),
    "l4": _Gpu("NVIDIA L4", "sm_89", 58, 2040, 300, 24, 48, 30.3, 121, 242),
    "rtx-pro-6000": _Gpu("NVIDIA RTX PRO 6000 Blackwell", "sm_120", 188, 2617, 1792, 96, 128, 125, 504, 1007),
    "rtx5090": _Gpu("NVIDIA GeForce RTX 5090", "sm_120", 170, 2407, 1792, 32, 96, 104.8, 210, 838),
    "rtx4090": _Gpu("NVIDIA GeForce RTX 4090", "sm_89", 128, 2520, 1008, 24, 72, 82.6, 165, 661),
    "rtx3090": _Gpu("NVIDIA GeForce RTX 3090", "sm_86", 82, 1695, 936, 24, 6, 35.6, 71, 284),
    "v100": _Gpu("Tesla V100-SXM2-32GB", "sm_70", 80, 1530, 900, 32, 6, 15.7, 125, 62),
    "t4": _Gpu("Tesla T4", "sm_75", 40, 1590, 320, 16, 4, 8.1, 65, 130),
}

# Names under which data of others knows them.
_ALIASES = {
    "a100-80gb": "a100", "a100-sxm4-40gb": "a100-40gb", "a100-sxm4-80gb": "a100", "a100-pcie-40gb": "a100-40gb",
    "a800-sxm4-80gb": "a800", "h100-sxm": "h100", "h100-sxm5": "h100", "h100-80gb-hbm3": "h100", "rtx-3090": "rtx3090",
    "rtx-4090": "rtx4090", "rtx-5090": "rtx5090", "rtx-a6000": "a6000", "rtxa6000": "a6000", "pro-6000": "rtx-pro-6000",
    "v100-sxm2-32gb": "v100", "tesla-v100": "v100", "tesla-t4": "t4",
}  # fmt: skip


# The two cores of a shared machine on which the CPU rows of the corpus were measured, as the bench describes them.
_CORPUS_CPU = Device(
    name="Intel(R) Xeon(R) Processor x2",
    kind="cpu",
    cores=2,
    clock_hz=2.1e9,
    bandwidth_bytes_per_s=17.5e9,
    peak_flops={"float32": 2.69e11, "float64": 1.34e11, "int32": 2.69e11, "int64": 1.34e11, "uint8": 1.08e12},
    memory_bytes=25 * 10**9,
    cache_bytes=300 * 2**20,
    vector_bytes=64,
    languages=("cpp",),
    toolchain="g++, described",
)


class UnknownDevice(KeyError):
    """No description goes by that name; a second argument says why."""

    def __str__(self) -> str:
        name, *reason = self.args
        return f"there is no description of a device {name!r}" + "".join(f" ({each})" for each in reason)


def gpus() -> tuple[str, ...]:
    """Short names of the GPUs."""
    return tuple(_GPUS)


def names() -> tuple[str, ...]:
    """Short names of all devices."""
    return (*_GPUS, "xeon-x2")


def described(name: str) -> Device:
    """The device of that short or full name, however it is capitalised, or in a file NAME.json of `foretell calibrate`.

    Raises UnknownDevice if there is none.
    """
    return _read(Path(name)) if name.endswith(".json") else named(name)


def named(name: str) -> Device:
    """The device of that short or full name, whoever gave it: no file is read. UnknownDevice if there is none."""
    wanted = name.lower().replace("_", "-").replace(" ", "-")
    bare = wanted.removeprefix("nvidia-").removeprefix("geforce-")
    wanted = _ALIASES.get(bare, bare if bare in _GPUS else wanted)
    for short, gpu in _GPUS.items():
        if wanted in (short, gpu.name.lower().replace(" ", "-")):
            return gpu.device()
    if wanted in ("xeon-x2", _CORPUS_CPU.name.lower().replace(" ", "-")):
        return _CORPUS_CPU
    raise UnknownDevice(name)


def _read(path: Path) -> Device:
    try:
        return Device.from_dict(read_json(path.resolve()))
    except (OSError, ValueError, TypeError, LookupError) as error:
        raise UnknownDevice(str(path), str(error)) from error
