"""Whatever a dying process says, the judge ends with a verdict, in bounded time and fit to be printed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.kernels.bench.faults import LAST_WORDS_BYTES, WorkerFault, fault
from foretell.kernels.measurement import Status

_LINES = st.from_regex(rb"[sgve] [0-9a-z -]{0,40}\n?", fullmatch=True)


@given(st.one_of(st.binary(max_size=LAST_WORDS_BYTES), _LINES), st.sampled_from("xk"), st.integers(0, 999))
def test_any_last_words_give_a_verdict(words: bytes, kind: str, number: int) -> None:
    verdict = fault(words, kind, number, ())
    assert isinstance(verdict, WorkerFault)
    assert verdict.status in (Status.CRASH, Status.CHEAT, Status.LAUNCH_ERROR)
    assert str(verdict).isprintable()


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (b"s 41 socket\n", Status.CHEAT, "socket"),
        (b"s 41 \n", Status.CHEAT, "number 41"),
        (b"v 8 11\n", Status.CRASH, "SIGSEGV"),
        (b"v 8 11\nv 8 11\n", Status.CHEAT, "channel"),
        (b"g 99999999999999999999999999 x\n", Status.CHEAT, "channel"),
        (b"s 41 \x1b[2Jsocket\n", Status.CHEAT, "channel"),
        (b"r 1000 0\n", Status.CHEAT, "channel"),
    ],
)
def test_only_whole_lines_of_the_grammar_are_believed(words: bytes, status: Status, says: str) -> None:
    verdict = fault(words, "x", 4, ())
    assert verdict.status is status and says in str(verdict)
