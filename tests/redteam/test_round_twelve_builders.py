"""Builders in the twelfth round: objects of any size, the machine's own state in /proc, pools that end, groups left."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from foretell.kernels.bench import worker as bench_worker
from foretell.kernels.bench.arena import layout, needed_bytes
from foretell.kernels.bench.keeper import Threads, threads_of
from foretell.kernels.bench.runs import empty_us_of
from foretell.kernels.candidate import Candidate
from foretell.kernels.contention import usable_cores
from foretell.kernels.languages import cpp
from foretell.kernels.library import get
from foretell.kernels.limits import PROBE_LIMITS
from foretell.kernels.measurement import Status
from foretell.kernels.protocols import Build
from foretell.kernels.sandbox import ForkServer, Kind, cgroup
from foretell.kernels.sandbox.command import run_in
from foretell.kernels.sandbox.kinds import works
from foretell.kernels.store import bounded
from foretell.kernels.walls import landlock

KINDS = [pytest.param(kind, marks=pytest.mark.skipif(not works(kind), reason=f"no {kind} here")) for kind in Kind]
RUN = "foretell.kernels.walls.probes.excess:run"  # executes the payload as Python and answers with `answer`
DAY_S = 86400.0
LARGE = 'asm(".section .data.big,\\"aw\\",@progbits\\nbigdata: .zero {}\\n.byte 1\\n.text\\n");\n'
KERNEL = """
#include <cstdint>
extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; ++i) {
        float sum = 0.0f;
        for (int64_t j = 0; j < cols; ++j) sum += x[i * cols + j];
        out[i] = sum;
    }
}
"""


def _built(source: str) -> Build:
    return cpp.build(get("row_sum", "cpu"), Candidate("row_sum", "cpp", source))


class TestObjects:
    """A line of source may ask for an object of any size, which was searched and kept for good."""

    @pytest.fixture(autouse=True)
    def own_cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))

    def test_a_large_one_is_refused_and_not_kept(self, tmp_path: Path) -> None:
        built = _built(LARGE.format(60_000_000) + KERNEL)
        assert built.status is Status.COMPILE_ERROR and "its object is too large" in built.message
        assert built.artifact is None and not list(tmp_path.rglob("kernel.so"))

    def test_one_with_tables_is_built(self) -> None:
        tables = "static float large[1 << 24];\nfloat kept[1 << 20] = {1.0f};\n"
        built = _built(tables + LARGE.format(1_000_000) + KERNEL.replace("{", "{ large[0] = kept[0];", 1))
        assert built.ok and built.artifact is not None and built.artifact.stat().st_size > 5_000_000

    def test_one_that_was_kept_before_goes(self, monkeypatch: pytest.MonkeyPatch) -> None:
        source = LARGE.format(100_000) + KERNEL
        first = _built(source)
        assert first.artifact is not None
        monkeypatch.setattr(cpp, "MOST_OBJECT_BYTES", 100_000)
        assert _built(source).status is Status.COMPILE_ERROR and not first.artifact.exists()

    @pytest.mark.timing
    @pytest.mark.parametrize("content", [b"\0", b"\0pthread", b"\0forks", b"__kmpc"])
    def test_names_are_found_in_little_time(self, content: bytes, tmp_path: Path) -> None:
        artifact = tmp_path / "kernel.so"
        artifact.write_bytes(content * (cpp.MOST_OBJECT_BYTES // len(content)))
        began = time.process_time()
        assert threads_of(artifact) is Threads.NONE
        assert time.process_time() - began < 2.0

    @pytest.mark.parametrize(
        "content, threads",
        [
            (b"\0GOMP_parallel\0", Threads.POOL),
            (b"\0omp_get_num_threads\0", Threads.POOL),
            (b"\0pthread_create\0", Threads.OWN),
            (b"\0vfork\0", Threads.OWN),
            (b"\0fork\0", Threads.OWN),
            (b"\0forked\0", Threads.NONE),
            (b"my_omp_\0kernel\0", Threads.NONE),
        ],
    )
    def test_the_same_names_count_as_before(self, content: bytes, threads: Threads, tmp_path: Path) -> None:
        artifact = tmp_path / "kernel.so"
        artifact.write_bytes(content)
        assert threads_of(artifact) is threads


class TestKept:
    """Nothing bounded the folder of builds."""

    @staticmethod
    def _entry(folder: Path, name: str, age_s: float) -> Path:
        place = folder / name[:2] / name
        place.mkdir(parents=True)
        (place / "kernel.so").write_bytes(os.urandom(100_000))
        record = place / "build.json"
        record.write_text("{}")
        for each in (record, place):
            os.utime(each, (time.time() - age_s,) * 2)
        return place

    def test_the_oldest_go_first(self, tmp_path: Path) -> None:
        ages = {"aa1": 5 * DAY_S, "aa2": 9 * DAY_S, "bb1": 3 * DAY_S, "bb2": 0.0}
        places = {name: self._entry(tmp_path, name, age_s) for name, age_s in ages.items()}
        bounded.trim(tmp_path, "build.json", 250_000)
        assert {name for name, place in places.items() if place.exists()} == {"bb1", "bb2"}
        bounded.trim(tmp_path, "build.json", 0)
        assert places["bb1"].exists(), "it was looked through just now"

    def test_what_was_used_within_a_day_stays(self, tmp_path: Path) -> None:
        places = [self._entry(tmp_path, f"aa{number}", DAY_S / 2) for number in range(3)]
        bounded.trim(tmp_path, "build.json", 0)
        assert all(place.exists() for place in places)

    def test_a_build_trims_and_one_found_again_is_young(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
        monkeypatch.setattr(cpp, "MOST_KEPT_BYTES", 0)
        first = _built(KERNEL)
        assert first.artifact is not None
        record = first.artifact.with_name("build.json")
        old = self._entry(tmp_path / "cpp", "aa1", 2 * DAY_S)
        for each in (record, record.parent):
            os.utime(each, (time.time() - 2 * DAY_S,) * 2)
        assert _built(KERNEL).ok and time.time() - record.stat().st_mtime < DAY_S
        (tmp_path / "cpp" / bounded._MARK).unlink(missing_ok=True)
        assert _built(KERNEL + "\n").ok
        assert record.exists() and first.artifact.exists() and not old.exists()


@pytest.mark.skipif(landlock.version() == 0, reason="no Landlock here")
@pytest.mark.parametrize("kind", KINDS)
class TestProc:
    """Namespaces do not divide all of /proc: the names of the user's keys, for one, are in each of them."""

    SECRET = (
        "keys", "key-users", "timer_list", "vmallocinfo", "slabinfo", "diskstats", "swaps", "cmdline", "locks",
        "pressure/cpu", "kallsyms", "modules", "interrupts", "1/cmdline", "1/environ", "self/mountinfo", "net/unix",
    )  # fmt: skip
    OPEN = ("cpuinfo", "meminfo", "stat", "self/maps", "self/status", "self/statm", "self/cmdline")

    def test_a_job_reads_what_honest_work_needs(self, kind: Kind) -> None:
        server = ForkServer(("json", "foretell.kernels.walls.probes.excess"), kind=kind)
        program = (
            "def readable(name):\n    try:\n        return len(open('/proc/' + name, 'rb').read(99)) > 0\n"
            "    except OSError:\n        return False\n"
            f"answer = ' '.join(filter(readable, {self.SECRET + self.OPEN}))"
        )
        try:
            assert server.call(RUN, program.encode(), PROBE_LIMITS).decode().split() == list(self.OPEN)
        finally:
            server.close()

    def test_so_does_a_command(self, kind: Kind, tmp_path: Path) -> None:
        names = (*self.SECRET, "cpuinfo", "meminfo", "stat")
        script = "for each in " + " ".join(names) + "; do head -c 1 /proc/$each >/dev/null 2>&1 && echo $each; done; :"
        finished = run_in(kind, ["sh", "-c", script], writable=tmp_path, limits=PROBE_LIMITS)
        assert finished.stdout.split() == ["cpuinfo", "meminfo", "stat"]


class TestPools:
    """A kernel on one thread had the empty call of OpenMP's whole pool subtracted if it named it, and could end it."""

    PARALLEL = KERNEL.replace("    for (int64_t i", "#pragma omp parallel for\n    for (int64_t i", 1)
    ENDS_IT = KERNEL.replace("{\n", "{\n    omp_pause_resource_all(omp_pause_hard);\n", 1)
    FEWER = PARALLEL.replace("parallel for", "parallel for num_threads(2)")

    @pytest.mark.parametrize("threads, expected_us", [(1, 5.0), (0, 5.0), (5, 10.0), (9, 15.0), (20, 15.0)])
    def test_an_empty_call_is_one_of_as_many_threads(self, threads: int, expected_us: float) -> None:
        assert empty_us_of(threads, 9, 15.0, 5.0) == pytest.approx(expected_us)

    def test_a_machine_of_one_core_and_a_noisy_one(self) -> None:
        assert empty_us_of(1, 1, 6.0, 6.0) == 6.0
        assert empty_us_of(4, 4, 5.0, 6.0) == 6.0

    @pytest.mark.skipif(usable_cores() < 2, reason="a pool needs two cores")
    @pytest.mark.parametrize("source, most_left", [(PARALLEL, 1 << 20), (ENDS_IT, 1), (FEWER, 2)])
    def test_threads_are_counted_that_are_there(
        self, source: str, most_left: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told: list[tuple[int, int]] = []

        def noted(threads: int, pool: int, pool_us: float, alone_us: float) -> float:
            assert pool_us > 0 and alone_us > 0
            told.append((threads, pool))
            return empty_us_of(threads, pool, pool_us, alone_us)

        monkeypatch.setattr(bench_worker, "empty_us_of", noted)
        task = get("row_sum", "cpu")
        built = _built("#include <omp.h>\n" + source)
        assert built.artifact is not None
        worker = bench_worker.Worker(built.artifact, needed_bytes(task))
        try:
            sizes = task.workloads[0].sizes
            worker.arrange(layout(task, sizes), sizes)
            assert worker.timed_call(10.0).time_us > 0
            assert worker.timed_call(10.0).time_us > 0
        finally:
            worker.close()
        pool = told[0][1]
        assert pool >= 2 and told[1][0] == min(pool, most_left)

    def test_one_without_openmp_is_timed_as_before(self) -> None:
        task, built = get("row_sum", "cpu"), _built(KERNEL)
        assert built.artifact is not None
        worker = bench_worker.Worker(built.artifact, needed_bytes(task))
        try:
            sizes = task.workloads[0].sizes
            worker.arrange(layout(task, sizes), sizes)
            run = worker.timed_call(10.0)
            assert run.serial and run.time_us > 0
        finally:
            worker.close()


@pytest.mark.parametrize("kind", KINDS)
class TestGroups:
    """The group of a server that nobody closed stayed behind."""

    HOLD = "from foretell.kernels.sandbox import ForkServer, Kind\nserver = ForkServer(('json',), kind=Kind({!r}))\n"
    USE = "print(len(server.call('foretell.kernels.walls.probes.excess:run', b'answer = str(6)')))"

    @pytest.mark.skipif(not cgroup.parents(), reason="no control groups can be made here")
    @pytest.mark.parametrize("then", ["server.start()", USE, f"{USE}\nserver.close()", f"{USE}\nraise SystemExit(3)"])
    def test_none_is_left_at_exit(self, kind: Kind, then: str) -> None:
        with subprocess.Popen([sys.executable, "-c", self.HOLD.format(kind.value) + then]) as process:
            assert process.wait(120.0) in (0, 3)
        assert self._left(process.pid) == []

    @pytest.mark.skipif(not cgroup.parents(), reason="no control groups can be made here")
    def test_none_is_left_of_one_that_is_forgotten(self, kind: Kind) -> None:
        before = self._left(os.getpid())
        server = ForkServer(("foretell.kernels.walls.probes.excess",), kind=kind)
        assert server.call(RUN, b"answer = 'x'", PROBE_LIMITS) == b"x"
        assert len(self._left(os.getpid())) == len(before) + 1
        scratch = Path(server._scratch)
        del server
        gc.collect()
        assert self._left(os.getpid()) == before and not scratch.exists()

    @staticmethod
    def _left(pid: int) -> list[Path]:
        return [each for above in set(cgroup.parents().values()) for each in above.glob(f"foretell-{pid}-*")]
