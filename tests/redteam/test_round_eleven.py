"""Texts on which a reader took time that grows by their square, or never ended: the eleventh round."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from foretell.gui.plan import clauses_of
from foretell.kernels import candidate
from foretell.kernels.candidate import stripped
from foretell.kernels.limits import PROGRAM
from foretell.kernels.program import Program
from foretell.kernels.program_check import Fault, InvalidProgram
from foretell.kernels.program_codec import from_bytes, to_bytes
from foretell.kernels.propose.knobs import c_source

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
