"""Programs analysed in the sandbox: the same results as here, and no Program or answer that harms who asks."""

from __future__ import annotations

import ast
import json
import random
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import foretell
from foretell.kernels.candidate import Candidate
from foretell.kernels.cost import apart, demand, work_of
from foretell.kernels.cost.analyses import ANALYSES
from foretell.kernels.cost.apart import NotAnalysed, read_answer, times_apart, work_apart
from foretell.kernels.cost.breakdown import breakdown
from foretell.kernels.cost.kernels import features_of
from foretell.kernels.cost.steps import times_of
from foretell.kernels.devices import described
from foretell.kernels.forecast import ProgramForecaster
from foretell.kernels.forecast import program as program_forecaster
from foretell.kernels.limits import ANALYSIS_LIMITS
from foretell.kernels.program import Allocate, Buffer, Launch, LibraryCall, Program, Role, View
from foretell.kernels.program_check import check
from foretell.kernels.protocols import Subject
from foretell.kernels.record.refusal import Recording
from foretell.kernels.sandbox import Ending, ForkServer, JobFailed, available
from foretell.kernels.tasks import kernelbench
from tests.kernels.cost.test_steps import COPY, COUNT
from tests.kernels.cost.test_steps import program as copying
from tests.kernels.forecast.test_program import PROBLEM, WASTEFUL
from tests.kernels.programs import random_program

H200 = described("h200")
walled = pytest.mark.skipif(available(server=True) is None, reason="nothing walls foreign code in here")


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FORETELL_CACHE", str(tmp_path))


@walled
def test_results_are_those_of_this_process_and_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    drawn = random_program(random.Random(1))
    asked: list[tuple[Callable[[], Any], Any]] = [
        (lambda: times_apart([drawn, copying()], H200), [times_of(drawn, H200), times_of(copying(), H200)]),
        (lambda: work_apart(drawn), work_of(drawn)),
        (lambda: apart.breakdown_apart(drawn, H200), breakdown(drawn, H200)),
        (lambda: apart.features_apart(copying(), H200), features_of(copying(), H200)),
    ]
    for ask, expected in asked:
        assert ask() == expected

    def again() -> None:
        raise AssertionError("analysed twice")

    monkeypatch.setattr(apart, "analysis_server", again)
    for ask, expected in asked:
        assert ask() == expected
    for kept in (tmp_path / "analyses").rglob("*.json"):
        kept.write_bytes(kept.read_bytes()[:-9])
    with pytest.raises(AssertionError, match="twice"):
        work_apart(drawn)


def _valid(ptx: str = COPY) -> Program:
    """A valid Program that copies its input by one launch."""
    made = copying(ptx=ptx)
    given, copied = (View(number, 0, "float32", (COUNT,), (1,)) for number in (0, 1))
    return check(replace(made, inputs=(given,), run=(Allocate(1), *made.run), outputs=(copied,)))


def _with(*steps: LibraryCall, buffers: tuple[Buffer, ...]) -> Program:
    """A valid Program of these steps, whose buffers are numbered from 2 on."""
    made = _valid()
    return check(replace(made, buffers=made.buffers + buffers, run=(*made.run, *steps)))


def _far_view() -> Program:
    """Two known zeros at the start of a very large buffer, and a copy of what lies 32 GB behind."""
    near, far = View(2, 0, "float32", (2,), (1,)), View(2, 0, "float32", (2,), (1 << 33,))
    return _with(
        LibraryCall("aten::zeros.default", ((2,),), (), (near,)),
        LibraryCall("aten::clone.default", (far,), (), (View(3, 0, "float32", (2,), (1,)),)),
        buffers=(Buffer(1 << 39, Role.TEMPORARY), Buffer(1 << 30, Role.TEMPORARY)),
    )


def _tall_triangle() -> Program:
    """The triangle of a matrix of 2^37 rows that all are the same."""
    one, tall = View(2, 0, "float32", (1,), (1,)), View(2, 0, "float32", (1 << 37, 2), (1, 1))
    return _with(
        LibraryCall("aten::zeros.default", ((1,),), (), (one,)),
        LibraryCall("aten::tril.default", (tall,), (), (View(3, 0, "float32", (1 << 37, 2), (1, 1)),)),
        buffers=(Buffer(1 << 40, Role.TEMPORARY), Buffer(1 << 40, Role.TEMPORARY)),
    )


def _endless_parameter() -> Program:
    """PTX with a parameter before very many blanks."""
    ptx = COPY.replace("copy(", f"copy(.param .u64 q{' ' * 200_000}\x01", 1)
    return _valid(ptx)


def _many_launches() -> Program:
    """Launches that differ, each of which is followed by itself."""
    made = _valid()
    first, launch = made.run
    assert isinstance(launch, Launch)
    return check(replace(made, run=(first, *(replace(launch, grid=(n, 1, 1)) for n in range(1, 4_000)))))


@walled
@pytest.mark.parametrize("forged", [_far_view, _tall_triangle, _endless_parameter, _many_launches])
def test_a_forged_program_ends_in_numbers_or_a_sentence(
    forged: Callable[[], Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "ANALYSIS_LIMITS", replace(ANALYSIS_LIMITS, cpu_s=1.0))
    program, used = forged(), time.process_time()
    for ask in (lambda: times_apart([program], H200), lambda: work_apart(program)):
        try:
            ask()
        except NotAnalysed as error:
            assert str(error).startswith("its analysis ")
    assert time.process_time() - used < 10.0, "worked out here"


def _forecast(recorded: Program, monkeypatch: pytest.MonkeyPatch) -> str:
    """The trouble of a forecast for a task whose reference and candidate were recorded as that."""
    monkeypatch.setattr(program_forecaster, "recording_of", lambda *_: Recording(recorded))
    task, speaker = kernelbench.from_text(PROBLEM, "relu_plus_one"), ProgramForecaster()
    [forecast] = speaker.forecast(task, H200, [Subject(Candidate(task.key, "torch", WASTEFUL))])
    assert speaker.compared == [None] and forecast.interval(0.8)[1] - forecast.interval(0.8)[0] > 2.0, "not by roofline"
    return speaker.last_troubles[0] or ""


@walled
def test_an_analyser_that_takes_too_long_is_killed_and_the_roofline_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "ANALYSIS_LIMITS", replace(ANALYSIS_LIMITS, cpu_s=1.0))
    assert "took more than 1 s on a core" in _forecast(_many_launches(), monkeypatch)


@walled
def test_a_program_takes_all_that_it_may_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be analysed is known by its content and the limits, without being tried again."""
    program = _many_launches()
    monkeypatch.setattr(apart, "ANALYSIS_LIMITS", replace(ANALYSIS_LIMITS, cpu_s=1.0))
    with pytest.raises(NotAnalysed, match="more than 1 s on a core") as first:
        times_apart([program], H200)
    server, tried = apart.analysis_server(), list[bool]()

    def seen() -> ForkServer:
        tried.append(True)
        return server

    monkeypatch.setattr(apart, "analysis_server", seen)
    with pytest.raises(NotAnalysed) as again:
        times_apart([program], H200)
    assert str(again.value) == str(first.value) and not tried
    assert work_apart(_valid()) and len(tried) == 1, "another analysis, of another Program"
    monkeypatch.setattr(apart, "ANALYSIS_LIMITS", replace(ANALYSIS_LIMITS, cpu_s=1.0, wall_s=119.0))
    with pytest.raises(NotAnalysed, match="more than 1 s on a core"):
        times_apart([program], H200)
    assert len(tried) == 2, "with other limits it is tried again"


@walled
@pytest.mark.parametrize("ending", [Ending.TIMED_OUT, Ending.NO_SERVER, Ending.CANCELLED])
def test_what_is_the_machines_fault_is_tried_again(ending: Ending, monkeypatch: pytest.MonkeyPatch) -> None:
    class Busy:
        def call(self, *_: object) -> bytes:
            raise JobFailed(ending, "for once")

    server = apart.analysis_server()
    monkeypatch.setattr(apart, "analysis_server", Busy)
    with pytest.raises(NotAnalysed):
        work_apart(_valid())
    monkeypatch.setattr(apart, "analysis_server", lambda: server)
    assert work_apart(_valid()) == work_of(_valid())


@walled
@pytest.mark.parametrize(("job", "words"), [("builtins:bytes", "something else"), ("os:nosuch", "nosuch")])
def test_an_analyser_that_fails_or_lies_leaves_the_roofline(
    job: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "_JOB", job)
    assert words in _forecast(_valid(), monkeypatch)


def _answers() -> dict[str, Any]:
    made = random_program(random.Random(2))
    return {name: each.plain(each.run(made, H200)) for name, each in ANALYSES.items()}


@pytest.mark.parametrize("answer", [b"", b"\xff", b"nonsense", b"{}", b"[]", b"[[]]", b"[[1, 2]]", b"[null]", b"[{}]",
                                    b'["ZeroDivisionError"]', b'["\\u001b[31m"]', b"[" * 100_000])  # fmt: skip
def test_what_is_no_answer_is_refused(answer: bytes) -> None:
    for analysis in ANALYSES.values():
        with pytest.raises(NotAnalysed, match=r"^its analysis [ -~]{5,80}$"):
            read_answer(analysis, answer, 1)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("times", lambda plain: plain.update(device_us=float("nan"))),
        ("times", lambda plain: plain.update(device_us=0.0)),
        ("times", lambda plain: plain.update(eager_us=-1.0)),
        ("times", lambda plain: plain.update(host_us=1e300)),
        ("times", lambda plain: plain.update(order=[0, 0] * 1_000_000)),
        ("times", lambda plain: plain.update(order=[0])),
        ("times", lambda plain: plain.update(order=[0, 10**6])),
        ("times", lambda plain: plain.update(order=[-1, 0])),
        ("times", lambda plain: plain["rows"][0].update(us=0.0)),
        ("times", lambda plain: plain["rows"][0].update(label="\x1b[31m")),
        ("times", lambda plain: plain["rows"][0].update(key="k" * 10_000)),
        ("times", lambda plain: plain["rows"][0].update(parts_us={"memory": "much"})),
        ("times", lambda plain: plain["rows"][0].update(other=1)),
        ("work", lambda plain: plain.update(flops=float("inf"))),
        ("work", lambda plain: plain.update(least_bytes=-4.0)),
        ("work", lambda plain: plain.update(dtype="float99")),
        ("work", lambda plain: plain.update(launches="many")),
        ("work", lambda plain: plain.update(flops_by_family={f"f{n}": 1.0 for n in range(10_000)})),
        ("work", lambda plain: plain.update(other=1)),
        ("breakdown", lambda plain: plain.update(parts={"0": plain["parts"][0]})),
        ("breakdown", lambda plain: plain["parts"][0].update(seconds=float("nan"))),
        ("breakdown", lambda plain: plain["parts"][0].update(count=True)),
        ("breakdown", lambda plain: plain["parts"][0].update(kernel={"entry": "k"})),
        ("features", lambda plain: plain.update(x=float("nan"))),
        ("features", lambda plain: plain.update(x=None)),
        ("features", lambda plain: plain.update({f"f{n}": 1.0 for n in range(10_000)})),
    ],
)
def test_an_answer_out_of_bounds_is_refused(name: str, change: Callable[[Any], object]) -> None:
    plain = json.loads(json.dumps(_answers()[name]))
    assert read_answer(ANALYSES[name], json.dumps([[plain]]).encode(), 1)[0] is not None
    change(plain)
    with pytest.raises(NotAnalysed):
        read_answer(ANALYSES[name], json.dumps([[plain]]).encode(), 1)


def test_constants_are_read_within_what_was_computed() -> None:
    for forged in (_far_view, _tall_triangle):
        assert work_of(forged()).flops >= 0.0


def test_the_share_of_a_triangle_is_that_of_its_elements() -> None:
    for rows, cols, diagonal in [(5, 7, 0), (7, 5, 2), (4, 4, -2), (3, 9, 20), (9, 3, -20), (1, 1, 0)]:
        ones = np.ones((rows, cols))
        for lower, made in ((True, np.tril(ones, diagonal)), (False, np.triu(ones, diagonal))):
            expected = 1.0 - made.sum() / ones.size
            assert demand._outside((rows, cols), diagonal, lower) == pytest.approx(expected)


def test_no_part_of_the_product_analyses_a_program_in_its_own_process() -> None:
    root = Path(foretell.__file__).parent
    own = {"times_of", "work_of", "breakdown", "features_of", "kernel_of", "Demand", "launches"}
    for file in root.rglob("*.py"):
        text = file.read_text()
        if file.parent == root / "kernels" / "cost" or "foretell.kernels.cost" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("foretell.kernels.cost"):
                taken = own & {alias.name for alias in node.names}
                assert not taken, f"{file.relative_to(root)} imports {taken}: use foretell.kernels.cost.apart"
