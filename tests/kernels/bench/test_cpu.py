"""The CPU bench on honest candidates: statuses, samples, costs and controls that must not be flagged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from foretell.kernels.bench.cpu import CpuBench, Unsuitable, reference_candidate
from foretell.kernels.bench.doctor import checks
from foretell.kernels.candidate import Candidate
from foretell.kernels.languages import cpp
from foretell.kernels.library import get
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.profiles import BenchEffort
from tests.kernels.bench.hostile import CORRECT, HEAD, head

TASK = get("softmax")
KERNEL = 'extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols)'

# Odd but fair: each must be measured, not accused.
FAIR = {
    "static_scratch": "static float* t = (float*)malloc(1 << 22); memcpy(t, x, 64); honest(x, out, rows, cols);",
    "first_call_set_up": "static float table[4096]; static bool made = false;"
    " if (!made) { for (int i = 0; i < 4096; ++i) table[i] = std::exp(i * 1e-3f); made = true; }"
    " honest(x, out, rows, cols); if (table[0] != 1.0f) out[0] = 9;",
    "own_threads": "std::thread t([=] { honest(x, out, rows / 2, cols); });"
    " honest(x + rows / 2 * cols, out + rows / 2 * cols, rows - rows / 2, cols); t.join();",
    "result_copied_from_scratch": "float* t = (float*)malloc(rows * cols * 4); honest(x, t, rows, cols);"
    " memcpy(out, t, rows * cols * 4); free(t);",
    "prints_a_little": 'fprintf(stderr, "working\\n"); honest(x, out, rows, cols);',
    "reads_processor_count": "volatile unsigned n = std::thread::hardware_concurrency(); (void)n;"
    " honest(x, out, rows, cols);",
    "reads_the_clock": "timespec t; clock_gettime(CLOCK_MONOTONIC, &t); honest(x, out, rows, cols);",
    "input_copied_and_changed": "float* t = (float*)malloc(rows * cols * 4); memcpy(t, x, rows * cols * 4);"
    " for (int64_t i = 0; i < rows * cols; ++i) t[i] += 1; honest(t, out, rows, cols); free(t);",
    "unset_environment": 'if (getenv("NOT_THERE")) return; honest(x, out, rows, cols);',
    "allocates_a_lot": "volatile char* t = (char*)malloc(1 << 29); t[0] = 1; honest(x, out, rows, cols);"
    " free((void*)t);",
}


@pytest.fixture(scope="module")
def bench() -> Iterator[CpuBench]:
    bench = CpuBench(BenchEffort(fewest_pairs=3, most_pairs=4, run_timeout_s=30.0, processes=1))
    yield bench
    bench.close()


def _measure(bench: CpuBench, source: str, hopeless_below: float | None = None) -> Measurement:
    [(_, measurement)] = bench.measure(TASK, [Candidate(TASK.name, "cpp", source)], hopeless_below)
    return measurement


@pytest.mark.parametrize("body", FAIR.values(), ids=FAIR.keys())
def test_odd_but_fair_candidates_pass(bench: CpuBench, body: str) -> None:
    measurement = _measure(bench, f"{head(body)}{CORRECT}{KERNEL} {{ {body} }}")
    assert measurement.status is Status.OK, measurement.message


def test_measurement_keeps_samples_costs_and_method(bench: CpuBench) -> None:
    [(_, m)] = bench.measure(TASK, [reference_candidate(TASK)])
    assert m.ok and m.speedup is not None and m.low is not None and m.high is not None
    assert m.low <= m.speedup <= m.high
    assert len(m.timings) == len(TASK.workloads)
    for t in m.timings:
        assert len(t.reference_us) == len(t.candidate_us) >= 3
    assert m.cost.device_s > 0 and m.cost.wall_s >= m.cost.device_s
    assert "cold data" in m.method and m.device == bench.device.id
    assert Measurement.from_dict(m.to_dict()) == m


@pytest.mark.timing
def test_hopeless_candidate_is_stopped_early(bench: CpuBench) -> None:
    thrice = "for (int k = 0; k < 6; ++k) honest(x, out, rows, cols);"
    measurement = _measure(bench, f"{HEAD}{CORRECT}{KERNEL} {{ {thrice} }}", hopeless_below=4.0)
    assert measurement.ok and measurement.stopped_early
    assert measurement.speedup is not None and measurement.speedup < 1


def test_missing_entry_names_the_expected_signature(bench: CpuBench) -> None:
    measurement = _measure(bench, "static int nothing = 0; int other() { return nothing; }")
    assert measurement.status is Status.COMPILE_ERROR
    assert KERNEL in measurement.message


def test_wrong_only_in_an_untimed_shape_is_wrong(bench: CpuBench) -> None:
    measurement = _measure(bench, f"{HEAD}{CORRECT}{KERNEL} {{ if (cols % 2 == 0) honest(x, out, rows, cols); }}")
    assert measurement.status is Status.WRONG


def test_other_languages_are_refused(bench: CpuBench) -> None:
    with pytest.raises(Unsuitable, match="runs cpp"):
        bench.build(TASK, [Candidate(TASK.name, "triton", "x = 1")])


def test_building_again_is_free(bench: CpuBench) -> None:
    candidate = reference_candidate(TASK)
    first, again = bench.build(TASK, [candidate])[0], bench.build(TASK, [candidate])[0]
    assert first.ok and again == first
    assert first.features["instructions"] > 0


def test_no_compiler_is_said_plainly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    cpp.find_compiler.cache_clear()
    try:
        with pytest.raises(cpp.NoCompiler, match="install g\\+\\+"):
            cpp.find_compiler()
    finally:
        monkeypatch.undo()
        cpp.find_compiler.cache_clear()


def test_doctor_names_what_is_and_is_not_covered() -> None:
    found = {check.name: check for check in checks()}
    assert found["C++ compiler"].ok
    assert found["not covered"].ok is None
    assert found["covered"].ok and "disk" in found
    for name in ("CPU: candidates", "CPU: compilers", "GPU: builders, problem files"):
        held, of, attempts = re.findall(r"(\d+) (of) (\d+) probes held", found[name].detail)[0]
        assert found[name].ok and of and held == attempts, found[name].detail
    assert sum(int(n) for check in found.values() for n in re.findall(r"of (\d+) probes", check.detail)) >= 80
