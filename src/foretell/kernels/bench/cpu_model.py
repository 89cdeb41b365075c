"""Which CPU this is, by the fields of /proc/cpuinfo: x86-64 has its model name there, AArch64 only part numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_ARM = "0x41"
_LEAST_VECTOR_BYTES = 16

# Part numbers of Arm's own cores, as /proc/cpuinfo prints them.
_ARM_CORES = {
    "0xd03": "Cortex-A53", "0xd05": "Cortex-A55", "0xd07": "Cortex-A57", "0xd08": "Cortex-A72", "0xd09": "Cortex-A73",
    "0xd0a": "Cortex-A75", "0xd0b": "Cortex-A76", "0xd0c": "Neoverse-N1", "0xd40": "Neoverse-V1", "0xd41": "Cortex-A78",
    "0xd49": "Neoverse-N2", "0xd4f": "Neoverse-V2", "0xd84": "Neoverse-V3", "0xd8e": "Neoverse-N3",
}  # fmt: skip


def parse_cpuinfo(text: str) -> dict[str, str]:
    """The fields of the first processor in the text of /proc/cpuinfo."""
    pairs = (line.partition(":") for line in text.split("\n\n")[0].splitlines())
    return {key.strip(): value.strip() for key, _, value in pairs}


def cpu_name(info: Mapping[str, str]) -> str:
    """The CPU's model, or "" where the fields do not identify it.

    A measurement holds for one device, so two AArch64 machines whose cores differ must not have the same name.
    """
    if info.get("model name"):
        return info["model name"]
    implementer, part = info.get("CPU implementer", "").lower(), info.get("CPU part", "").lower()
    if not implementer or not part:
        return ""
    known = _ARM_CORES.get(part) if implementer == _ARM else None
    return known or f"AArch64 implementer {implementer} part {part}"


def vector_bytes(info: Mapping[str, str], sve_length: Path = Path("/proc/sys/abi/sve_default_vector_length")) -> int:
    """Width of the widest vector registers that code built for this CPU uses."""
    flags = info.get("flags", info.get("Features", "")).split()
    if "sve" in flags:
        try:
            return max(int(sve_length.read_text()), _LEAST_VECTOR_BYTES)
        except (OSError, ValueError):
            return _LEAST_VECTOR_BYTES
    return 64 if "avx512f" in flags else 32 if "avx2" in flags else _LEAST_VECTOR_BYTES
