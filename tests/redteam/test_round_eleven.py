"""What the eleventh round found: texts on which a reader took time that grows by their square, and memory held."""

from __future__ import annotations

import gc
import gzip
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from foretell import received
from foretell.gui.plan import clauses_of
from foretell.kernels import candidate
from foretell.kernels.bench.gpu.trusted import recorder as recording_ahead
from foretell.kernels.bench.gpu.trusted.recorder import Recorder, bytes_in
from foretell.kernels.candidate import Candidate, stripped
from foretell.kernels.devices import described
from foretell.kernels.forecast import program as by_program
from foretell.kernels.library import get
from foretell.kernels.limits import PROGRAM
from foretell.kernels.program import Image, Program
from foretell.kernels.program_check import Fault, InvalidProgram
from foretell.kernels.program_codec import from_bytes, to_bytes
from foretell.kernels.propose.knobs import c_source
from foretell.kernels.protocols import Subject
from foretell.kernels.record.refusal import Reason, Recording, Refusal
from foretell.kernels.replay import spaces

READERS: dict[str, tuple[Callable[[str], object], Callable[[int], str]]] = {
    "slashes in a string": (
        lambda text: stripped(text, "cuda"), lambda count: f'import torch\nS = """{"/" * 200 * count}"""\n'
    ),
    "declarations without an end": (
        c_source._SHARED.findall, lambda count: "__shared__ float " + "a[1]  " * 20 * count
    ),
    "blanks in a goal": (clauses_of, lambda count: " " * 200 * count),
    "clauses of a goal": (clauses_of, lambda count: " and then" * 20 * count),
}  # fmt: skip


@pytest.mark.timing
@pytest.mark.parametrize("name", READERS)
def test_time_grows_no_faster_than_a_text(name: str) -> None:
    read, text = READERS[name]

    def seconds(count: int) -> float:
        began = time.process_time()
        read(text(count))
        return time.process_time() - began

    seconds(1)
    assert seconds(400) < 60 * max(seconds(40), 0.005)


def test_what_is_read_is_what_was_read_before() -> None:
    assert [one.text for one in clauses_of("Open the page,  and then press Save and close it")] == [
        "Open the page", "press Save", "close it",
    ]  # fmt: skip
    declared = "__shared__ __align__(16) float a[4][B], b[3] ;"
    assert c_source._SHARED.findall(declared) == [("float", "a[4][B], b[3]")]
    kept = '"int a; // one\\n int b;"'
    assert candidate._strip_c_in(kept) == kept and "two" not in candidate._strip_c_in('"""int a; // two\nint b;"""')


def test_facts_of_a_recording_are_bounded() -> None:
    program = Program("", {}, (), (), (), (), (), (), (), {"note": "\u0100" * PROGRAM.facts_characters})
    with pytest.raises(InvalidProgram) as caught:
        from_bytes(to_bytes(program))
    assert caught.value.fault is Fault.TOO_LARGE


class _Large(Recording):
    """A recording that can be watched."""


def _recording(size: int = 0) -> Recording:
    image = Image(b"\0" * size, "", "sm_90")
    return _Large(Program("", {}, (), (), (), (), (), (), (image,), {}))


def test_recordings_that_wait_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording_ahead, "MOST_AHEAD_BYTES", 2500)
    made: list[str | None] = []

    def record(task: Any, source: str | None, language: str, device: Any) -> list[Recording]:
        made.append(source)
        return [_recording(1000)]

    recorder, task, device = Recorder(record, 1), get("softmax", "gpu"), described("h200")
    sources = ["a", "b", "c", "d"]
    kept = [recorder.expect(task, source, "triton", device) for source in sources]
    assert [each.result() is not None for each in kept] == [True, True, False, False]
    assert all(bytes_in(recorder(task, source, "triton", device)) == 1000 for source in sources)
    assert sorted(map(str, made)) == ["a", "b", "c", "c", "d", "d"]
    assert recorder.expect(task, "e", "triton", device).result() is not None, "the others are not counted any more"
    recorder.forget(task.identity)
    assert recorder.expect(task, "f", "triton", device).result() is not None
    recorder.close()


def test_a_forecast_keeps_no_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[weakref.ref[Recording]] = []

    def record(task: Any, workload: Any, source: str | None, language: str, device: Any) -> Recording:
        recording = _Large(refusal=Refusal(Reason.BUILD, "it does not build"))
        made.append(weakref.ref(recording))
        return recording

    monkeypatch.setattr(by_program, "recording_of", record)
    forecaster, task, device = by_program.ProgramForecaster(), get("softmax", "gpu"), described("h200")
    subjects = [
        Subject(Candidate("softmax", "triton", f"def run(x):\n    return x + {number}\n")) for number in range(3)
    ]
    forecaster.forecast(task, device, subjects)
    gc.collect()
    assert len(made) > len(subjects) and not any(each() for each in made)
    assert forecaster.refusals == [Reason.BUILD] * len(subjects)


@pytest.mark.parametrize("letter", ["\U0001f600", "\\ud83d\\ude00"])
@pytest.mark.parametrize("packed", [False, True])
def test_letters_of_four_bytes_do_not_multiply_a_large_text(
    letter: str, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(received, "MOST_WIDE_BYTES", 1 << 16)
    text = '{"kernel_name": "' + "a" * (1 << 16) + letter + '"}'
    path = tmp_path / ("cache.json.gz" if packed else "cache.json")
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    with pytest.raises(spaces.BadSpace, match="letters beyond U"):
        spaces.read(path)
    with pytest.raises(received.BadJson, match="letters beyond U"):
        received.parsed(text)
    assert received.parsed(text.replace(letter, "\u00b5")), "others may be as many as they are"
