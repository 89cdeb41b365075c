"""Which CPU it is, by what /proc/cpuinfo says on x86-64 and AArch64."""

from __future__ import annotations

from pathlib import Path

import pytest

from foretell.kernels.bench.cpu_device import detect_cpu
from foretell.kernels.bench.cpu_model import cpu_name, parse_cpuinfo, vector_bytes

X86 = """\
processor\t: 0
vendor_id\t: AuthenticAMD
model name\t: AMD EPYC 7B13
cpu MHz\t\t: 2449.998
flags\t\t: fpu avx2

processor\t: 1
model name\t: another
"""

ARM = """\
processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd evtstrm aes
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: {part}
CPU revision\t: 1
"""


def test_a_cpu_is_named_by_its_model() -> None:
    assert cpu_name(parse_cpuinfo(X86)) == "AMD EPYC 7B13"


def test_an_aarch64_core_is_named_by_its_part() -> None:
    assert cpu_name(parse_cpuinfo(ARM.format(part="0xd0c"))) == "Neoverse-N1"


def test_unknown_aarch64_cores_are_told_apart() -> None:
    one, other = (cpu_name(parse_cpuinfo(ARM.format(part=part))) for part in ("0xfff", "0xffe"))
    assert "0xfff" in one
    assert one != other


def test_a_cpu_that_does_not_identify_itself_has_no_name() -> None:
    assert cpu_name({}) == ""


def test_the_device_bears_the_name_of_its_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    name = cpu_name(parse_cpuinfo(Path("/proc/cpuinfo").read_text()))
    assert name
    assert detect_cpu().name.startswith(name)


@pytest.mark.parametrize(("flags", "width_bytes"), [("fpu avx2 avx512f", 64), ("fpu avx2", 32), ("fp asimd", 16)])
def test_vectors_are_as_wide_as_the_flags_say(flags: str, width_bytes: int) -> None:
    assert vector_bytes({"flags": flags}) == width_bytes


def test_scalable_vectors_are_as_wide_as_the_system_says(tmp_path: Path) -> None:
    length = tmp_path / "sve_default_vector_length"
    length.write_text("32\n")
    assert vector_bytes({"Features": "fp asimd sve"}, length) == 32
    assert vector_bytes({"Features": "fp asimd sve"}, tmp_path / "absent") == 16
