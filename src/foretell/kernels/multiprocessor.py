"""What one multiprocessor of a GPU holds at a time, by compute capability (NVIDIA's published tables)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from foretell.kernels.device import Device

WARP = 32
REGISTER_STEP = 256  # registers are handed out to a warp in steps of this many
USUAL_CAPABILITY = 90  # of devices whose toolchain names none: the corpus's


@dataclass(frozen=True)
class Multiprocessor:
    """Limits of one multiprocessor; each block costs `reserved_shared_bytes` besides the shared memory it asks for.

    Lanes are results per clock (CUDA programming guide, arithmetic throughput). `cache_bytes_per_clock` is what it gets
    from the last-level cache while all others do too: less than the vendor's figure, from published microbenchmarks.
    `sustained` is the share of the data sheet's float32 rate that long products reach on the plain units: clocks fall
    under load, and on some units half of the lanes are shared with integers. Shared memory is cut
    off `own_cache_bytes`.
    """

    threads: int
    blocks: int
    shared_bytes: int
    reserved_shared_bytes: int = 1024
    registers: int = 65536
    fma_lanes: int = 128
    integer_lanes: int = 64
    double_lanes: int = 2
    special_lanes: int = 16
    convert_lanes: int = 16
    cache_bytes_per_clock: float = 16.0
    sustained: float = 0.55
    own_cache_bytes: int = 128 << 10

    @property
    def block_shared_bytes(self) -> int:
        """The most that one block may ask for."""
        return self.shared_bytes - self.reserved_shared_bytes


_BY_CAPABILITY = {
    70: Multiprocessor(2048, 32, 96 << 10, 0, fma_lanes=64, double_lanes=32, cache_bytes_per_clock=20.0, sustained=0.9),
    75: Multiprocessor(
        1024, 16, 64 << 10, 0, fma_lanes=64, cache_bytes_per_clock=20.0, sustained=0.7, own_cache_bytes=96 << 10
    ),
    80: Multiprocessor(
        2048,
        32,
        164 << 10,
        fma_lanes=64,
        double_lanes=32,
        cache_bytes_per_clock=30.0,
        sustained=0.95,
        own_cache_bytes=192 << 10,
    ),
    86: Multiprocessor(1536, 16, 100 << 10),
    87: Multiprocessor(1536, 16, 164 << 10),
    89: Multiprocessor(1536, 24, 100 << 10),
    90: Multiprocessor(
        2048,
        32,
        228 << 10,
        double_lanes=64,
        convert_lanes=64,
        cache_bytes_per_clock=24.0,
        sustained=0.75,
        own_cache_bytes=256 << 10,
    ),
    100: Multiprocessor(
        2048,
        32,
        228 << 10,
        double_lanes=64,
        convert_lanes=64,
        cache_bytes_per_clock=32.0,
        sustained=0.75,
        own_cache_bytes=256 << 10,
    ),
    120: Multiprocessor(1536, 24, 100 << 10, integer_lanes=128),
}


def multiprocessor_of(capability: int) -> Multiprocessor:
    """The limits for a capability such as 86; for one that is not listed, those of the next older one."""
    older = [known for known in _BY_CAPABILITY if known <= capability]
    return _BY_CAPABILITY[max(older, default=min(_BY_CAPABILITY))]


def capability_of(device: Device) -> int:
    """The compute capability that a GPU's toolchain builds for."""
    found = re.search(r"sm_(\d+)", device.toolchain)
    return int(found.group(1)) if found else USUAL_CAPABILITY


def occupancy(registers: float, shared_bytes: float, threads: int, capability: int = USUAL_CAPABILITY) -> float:
    """Resident threads over the most a multiprocessor can hold, from the block's resources; 0 where none fits."""
    warps = -(-threads // WARP)
    blocks = resident_blocks(registers, shared_bytes, threads, capability)
    return blocks * warps * WARP / multiprocessor_of(capability).threads


def resident_blocks(registers: float, shared_bytes: float, threads: int, capability: int = USUAL_CAPABILITY) -> int:
    """Blocks that a multiprocessor holds at a time, from one block's resources; 0 where none fits."""
    holds = multiprocessor_of(capability)
    warps = -(-threads // WARP)
    per_warp = -(-int(registers) * WARP // REGISTER_STEP) * REGISTER_STEP
    return min(
        holds.blocks,
        holds.threads // max(warps * WARP, 1),
        holds.registers // max(per_warp * warps, 1) if registers else holds.blocks,
        int(holds.shared_bytes // (shared_bytes + holds.reserved_shared_bytes)) if shared_bytes else holds.blocks,
    )
