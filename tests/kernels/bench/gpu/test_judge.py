"""Judge, session and guards on a stand-in for the GPU, Triton through its interpreter: what a CPU can show of them."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from foretell.kernels.bench.gpu.builders import BuilderPool
from foretell.kernels.bench.gpu.channel import Forged, receive
from foretell.kernels.candidate import Candidate
from foretell.kernels.library import get
from foretell.kernels.measurement import Measurement, Status
from foretell.testing.host import Host
from tests.kernels.bench.gpu.exploits import EXPLOITS
from tests.kernels.bench.gpu.host import EFFORT, Graphs, judge_of, softmax

FAIR = ("plain", "a_closure", "a_module", "settings_by_shape", "part_of_a_larger_buffer", "several_launches",
        "scratch_kept_between_calls", "two_stages_of_partials", "resident_programs", "in_inference_mode")  # fmt: skip
CAUGHT_HERE = (
    "remembers_by_shape", "remembers_by_pointer", "remembers_a_copy", "remembers_on_itself",
    "works_on_the_first_calls_only", "works_every_other_call", "keeps_results_in_a_file", "calls_the_reference",
    "calls_the_reference_and_decorates_it", "is_constant", "is_not_a_number", "is_one_where_the_maximum_is",
    "does_half_of_the_rows", "does_all_rows_but_the_last", "knows_the_timed_shapes_only", "computes_in_bfloat16",
    "goes_through_eight_bits", "overwrites_its_input", "leaves_its_input_sorted_out", "answers_when_asked",
    "answers_in_double", "answers_with_one_row", "answers_with_nothing", "answers_flattened", "patches_event_time",
    "patches_host_clock", "patches_synchronize", "patches_the_harness_clock", "patches_the_reference",
    "patches_a_tensor_method", "patches_the_launcher", "patches_only_while_called",
)  # fmt: skip
SCRIPT = """
import json, os, sys
import torch
import torch._dynamo  # which the first call under a dispatch mode imports: once here instead of in every child
from foretell.kernels.candidate import Candidate
from tests.kernels.bench.gpu.controls import CONTROLS
from tests.kernels.bench.gpu.exploits import EXPLOITS
from tests.kernels.bench.gpu.host import judge_of, softmax

torch.set_num_threads(1)
for entry in (*CONTROLS, *EXPLOITS):
    if entry.name in sys.argv[1:]:
        sys.stdout.flush()
        if (child := os.fork()) == 0:  # what it replaces or leaves behind goes with the process
            outcome = judge_of(softmax())[0].judge(Candidate("softmax", entry.language, entry.source))
            print(json.dumps([entry.name, outcome.status.value, outcome.message]), flush=True)
            os._exit(0)
        os.waitpid(child, 0)
"""
HONEST = "import torch\n\n\ndef kernel(x):\n    return torch.softmax(x, 1)\n"


def _outcomes(names: tuple[str, ...], cache: Path) -> dict[str, tuple[str, str]]:
    root = Path(__file__).parents[4]
    paths = os.pathsep.join([str(root / "src"), str(root)])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *names],
        env={**os.environ, "TRITON_INTERPRET": "1", "FORETELL_CACHE": str(cache), "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return {name: (status, message) for name, status, message in map(json.loads, done.stdout.splitlines())}


QUICK = (*FAIR[::5], *CAUGHT_HERE[::5])
REST = tuple(name for name in (*FAIR, *CAUGHT_HERE) if name not in QUICK)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "names", [pytest.param(QUICK, id="every fifth"), pytest.param(REST, id="rest", marks=pytest.mark.full)]
)
def test_fair_kernels_pass_and_exploits_that_need_no_gpu_are_caught(names: tuple[str, ...], tmp_path: Path) -> None:
    allowed = {exploit.name: {status.value for status in exploit.statuses} for exploit in EXPLOITS}
    allowed |= {name: {Status.OK.value} for name in FAIR}
    outcomes = _outcomes(names, tmp_path)
    assert set(outcomes) == set(names)
    assert not {name: found for name, found in outcomes.items() if found[0] not in allowed[name]}


def _judge(source: str, **changes: Any) -> tuple[Measurement, list[str]]:
    judge, worker = judge_of(softmax(), replace(EFFORT, **changes))
    return judge.judge(Candidate("softmax", "torch", source)), worker.asked


def test_an_honest_program_is_measured_on_every_timed_workload() -> None:
    outcome, asked = _judge(HONEST)
    assert outcome.status is Status.OK
    assert [t.workload for t in outcome.timings] == ["rows=6 cols=128", "rows=10 cols=64"]
    assert outcome.low <= outcome.speedup <= outcome.high  # type: ignore[operator]
    assert asked[:2] == ["task", "load"] and asked[-1] == "unload"


@pytest.mark.parametrize(
    ("platform", "timed"),
    [(Host(), "eager"), (Graphs(whole=False), "eager"), (Graphs(whole=True), "graph")],
    ids=["no capture", "launches missing from the graph", "captured"],
)
def test_both_are_timed_in_the_same_way_and_the_row_says_how(platform: Host, timed: str) -> None:
    outcome = judge_of(softmax(), platform=platform)[0].judge(Candidate("softmax", "torch", HONEST))
    assert outcome.ok, outcome.message
    assert outcome.conditions["timed"] == timed
    assert ("one by one" in outcome.method) == (timed == "eager")


def test_one_set_is_filled_anew_for_every_check_where_memory_is_short() -> None:
    outcome, asked = _judge(HONEST, set_bytes=1, check_sets=4)
    assert outcome.status is Status.OK
    assert asked.count("check") == 6  # three more for each of two timed workloads


def test_a_program_that_is_right_only_once_is_caught_where_memory_is_short() -> None:
    source = "kept = {}\n" + HONEST.replace("torch.softmax(x, 1)", "kept.setdefault(x.shape, torch.softmax(x, 1))")
    assert _judge(source, set_bytes=1, check_sets=2)[0].status is Status.WRONG


def test_slow_programs_get_few_pairs_and_hopeless_ones_are_stopped() -> None:
    slow = HONEST.replace("    return", "    for _ in range(1000):\n        torch.softmax(x, 1)\n    return")
    judge, _ = judge_of(softmax(), replace(EFFORT, fewest_pairs=8))
    outcome = judge.judge(Candidate("softmax", "torch", slow))
    assert outcome.ok and all(len(t.candidate_us) < 8 for t in outcome.timings)
    stopped = judge.judge(Candidate("softmax", "torch", slow + "\n"), hopeless_below=0.5)
    assert stopped.ok and stopped.stopped_early


def test_a_failure_does_not_spoil_the_inputs_of_the_next() -> None:
    judge, _ = judge_of(softmax())
    spoiler = "def kernel(x):\n    x.zero_()\n    return x.clone()\n"
    assert judge.judge(Candidate("softmax", "torch", spoiler)).status is Status.CHEAT
    assert judge.judge(Candidate("softmax", "torch", HONEST)).status is Status.OK


@pytest.mark.parametrize(("source", "status", "says"), [
    ("def kernel(x):\n    raise ValueError('no')\n", Status.LAUNCH_ERROR, "ValueError: no"),
    ("def kernel(x:\n", Status.COMPILE_ERROR, "SyntaxError"),
    ("kernel = None\n", Status.COMPILE_ERROR, "NoEntry"),
    ("def kernel(x):\n    return x, x\n", Status.WRONG, "returned 2 outputs"),
])  # fmt: skip
def test_failures_are_typed(source: str, status: Status, says: str) -> None:
    outcome, _ = _judge(source)
    assert outcome.status is status
    assert says in outcome.message


def test_l2_set_aside_is_noticed() -> None:
    judge, worker = judge_of(softmax())
    worker.platform.l2_bytes = 1 << 20
    assert judge.judge(Candidate("softmax", "torch", HONEST)).status is Status.CHEAT


class _Pipe:
    """An end of a pipe as the judge holds it."""

    def __init__(self) -> None:
        self._read, self.write = os.pipe()

    def fileno(self) -> int:
        return self._read

    def close(self) -> None:
        os.close(self._read)


@pytest.mark.parametrize(("sent", "error"), [
    (struct.pack("!i", 1 << 20) + b"{}", TimeoutError),
    (struct.pack("!i", -1) + b"x" * 8, Forged),
    (struct.pack("!i", (1 << 31) - 1), Forged),
    (b"\0", TimeoutError),
])  # fmt: skip
def test_a_forged_message_stalls_nobody(sent: bytes, error: type[Exception]) -> None:
    pipe = _Pipe()
    os.write(pipe.write, sent)
    started = time.monotonic()
    with pytest.raises(error):
        receive(pipe, 0.3)
    assert time.monotonic() - started < 20
    os.close(pipe.write)
    pipe.close()


def test_a_message_may_come_in_pieces() -> None:
    pipe = _Pipe()
    whole = struct.pack("!i", 5) + b"hello"

    def dribble() -> None:
        for k in range(len(whole)):
            os.write(pipe.write, whole[k : k + 1])
            time.sleep(0.005)

    thread = threading.Thread(target=dribble)
    thread.start()
    assert receive(pipe, 5.0) == b"hello"
    thread.join()
    os.close(pipe.write)
    with pytest.raises(EOFError):
        receive(pipe, 1.0)
    pipe.close()


def test_builders_survive_what_they_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))
    pool = BuilderPool(90, 1)
    forger = next(exploit for exploit in EXPLOITS if exploit.name == "forges_the_channel")
    task = get("softmax", "gpu")
    sources = [forger.source, "import os\n\nos.abort()\n", "import os\n\nos._exit(0)\n"]
    futures = [pool.submit(task, Candidate("softmax", "triton", source)) for source in sources]
    honest = pool.submit(task, Candidate("softmax", "torch", HONEST))
    statuses = [future.result(timeout=120).status for future in futures]
    built = honest.result(timeout=120)
    pool.close()
    assert statuses == [Status.CHEAT, Status.COMPILE_ERROR, Status.COMPILE_ERROR]
    assert built.ok
