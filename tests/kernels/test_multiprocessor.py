"""What a multiprocessor holds: by hand, by capability, and for every described GPU."""

from __future__ import annotations

from dataclasses import replace

import pytest

from foretell.kernels.devices import described, names
from foretell.kernels.multiprocessor import capability_of, multiprocessor_of, occupancy


def test_occupancy_by_hand_where_the_corpus_was_measured() -> None:
    assert occupancy(32, 0, 256) == 1.0
    assert occupancy(255, 0, 256) == 0.125  # 65536 registers hold one block of 8 warps at 8192 each
    assert occupancy(32, 100_000, 256) == 0.25
    assert occupancy(32, 232_448, 1024) == 0.5
    assert occupancy(32, 232_449, 1024) == 0.0  # more than a block may have
    assert occupancy(16, 0, 32) == 0.5  # 32 blocks of one warp
    assert occupancy(16, 0, 97) == 1.0  # 16 blocks of four warps, the last of them mostly idle


@pytest.mark.parametrize(
    ("capability", "registers", "shared_bytes", "threads", "expected"),
    [
        (70, 32, 48 << 10, 1024, 1.0),  # two blocks of 48 KiB fit 96 KiB: nothing is reserved
        (80, 32, 82 << 10, 1024, 0.5),  # two such would fit 164 KiB, were nothing reserved
        (75, 32, 0, 512, 1.0),
        (75, 64, 0, 32, 0.5),  # 16 blocks of one warp among 32 warps
        (86, 32, 0, 1024, 1024 / 1536),
        (86, 32, 0, 64, 1024 / 1536),  # 16 blocks
        (89, 32, 0, 64, 1.0),  # 24 blocks
        (89, 32, 50_000, 256, 512 / 1536),
        (87, 32, 50_000, 256, 768 / 1536),
        (100, 32, 100_000, 256, 0.25),
        (120, 168, 0, 256, 256 / 1536),
    ],
)
def test_occupancy_by_hand_elsewhere(
    capability: int, registers: int, shared_bytes: int, threads: int, expected: float
) -> None:
    assert occupancy(registers, shared_bytes, threads, capability) == expected


def test_every_described_gpu_has_limits_of_its_own_capability() -> None:
    held = {}
    for name in names():
        device = described(name)
        if device.kind == "gpu":
            held[name] = multiprocessor_of(capability_of(device))
    assert len(held) == 21
    assert {name for name, one in held.items() if one.threads == 1536} == {
        "a6000", "a40", "a10", "l40s", "l40", "l4", "rtx-pro-6000", "rtx5090", "rtx4090", "rtx3090",
    }  # fmt: skip
    assert held["t4"].threads == 1024 and held["v100"].block_shared_bytes == 96 << 10
    assert held["h200"].block_shared_bytes == 232448 and held["a100"].block_shared_bytes == 163 << 10


def test_an_unlisted_capability_is_taken_for_the_next_older() -> None:
    assert multiprocessor_of(103) == multiprocessor_of(100)
    assert multiprocessor_of(121) == multiprocessor_of(120)
    assert multiprocessor_of(61) == multiprocessor_of(70)
    assert capability_of(replace(described("h200"), toolchain="sm_86, triton 3.4")) == 86
    assert capability_of(replace(described("h200"), toolchain="unknown")) == 90
