"""`foretell explain` for a CPU: the roofline, what the machine code shows, and times that were measured before."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import foretell as ft
from foretell.parts import bench_of
from tests.cli.conftest import FakeBench, Invoke
from tests.kernels.tasks.test_module import CPU

PLAIN = """#include <cstdint>

extern "C" void kernel(const float* x, float* out, int64_t n) {
    for (int64_t i = 0; i < n; ++i) out[i] = 2.0f * x[i];
}
"""


def test_the_machine_code_of_both(invoke: Invoke) -> None:
    Path("twice.py").write_text(CPU)
    Path("plain.cpp").write_text(PLAIN)
    Path("parallel.cpp").write_text(PLAIN.replace("    for", "#pragma omp parallel for simd\n    for"))
    Path("broken.cpp").write_text("void kernel(")
    plain, parallel = (
        json.loads(invoke("explain", "twice.py", file, "--json").stdout) for file in ("plain.cpp", "parallel.cpp")
    )
    assert plain["floor_us"] > 0 and plain["least_bytes"] > 0 and plain["flops"] is plain["limit"] is None
    assert (plain["candidate"]["parallel"], parallel["candidate"]["parallel"]) == (False, True)
    with bench_of("cpu") as bench:
        cores = bench.device.cores
    assert any("of" in line and "cores" in line for line in plain["findings"]) == (cores > 1)
    assert not any("cores" in line for line in parallel["findings"])
    assert parallel["candidate"]["vector_bits"] >= 128
    broken = invoke("explain", "twice.py", "broken.cpp")
    assert broken.exit_code == 1 and "candidate: does not build" in broken.stdout


def test_times_that_were_measured_before(bench: FakeBench, invoke: Invoke) -> None:
    Path("mine.cpp").write_text("int mine;")
    assert "not measured yet" in invoke("explain", "softmax", "mine.cpp").stdout
    assert invoke("measure", "softmax", "mine.cpp").exit_code == 0
    lines = invoke("explain", "softmax", "mine.cpp").stdout
    assert "reference: took" in lines and "candidate: took" in lines and "times the roofline" in lines
    told = ft.explain("softmax", device="cpu", reference_ms=3.0)
    assert told.to_dict()["reference"]["measured_us"] == 3000.0 and "took 3" in str(told)
    faster = str(ft.explain("softmax", device="cpu", reference_ms=1e-6))
    assert "less than the roofline" in faster and "times the least bytes" not in faster.split("- ")[0].split("took")[1]


def test_which_device(bench: FakeBench, invoke: Invoke) -> None:
    assert "not run" in invoke("explain", "conv2d").stdout, "which only a CPU has"
    assert invoke("explain", "conv2d", "--device", "h200").exit_code == 2
    assert invoke("explain", "softmax", "--device", "cpu", "--workload", "9").exit_code == 2
    with pytest.raises(ft.BadInput, match="there is no file"):
        ft.explain("softmax", Path("absent.cpp"))
