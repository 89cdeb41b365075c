"""Whatever a dying process says, the judge ends with a verdict, in bounded time and fit to be printed."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foretell.kernels.bench.faults import LAST_WORDS_BYTES, WorkerFault, fault
from foretell.kernels.bench.keeper import call_names
from foretell.kernels.measurement import Status

_NAMES = {41: "socket"}
_LINES = st.from_regex(rb"[sgver] [0-9a-z -]{0,40}\n?", fullmatch=True)


@given(st.one_of(st.binary(max_size=LAST_WORDS_BYTES), _LINES), st.sampled_from("xk"), st.integers(0, 999))
def test_any_last_words_give_a_verdict(words: bytes, kind: str, number: int) -> None:
    verdict = fault(words, kind, number, (), _NAMES)
    assert isinstance(verdict, WorkerFault)
    assert verdict.status in (Status.CRASH, Status.CHEAT, Status.LAUNCH_ERROR)
    assert str(verdict).isprintable()


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        (b"s 41\n", Status.CHEAT, "socket"),
        (b"s 42\n", Status.CHEAT, "number 42"),
        (b"s 41 ok (all good)\n", Status.CHEAT, "channel"),
        (b"v 8 11\n", Status.CRASH, "SIGSEGV"),
        (b"r\n", Status.CRASH, "registers"),
        (b"r\nv 0 7\n", Status.CRASH, "SIGBUS"),
        (b"r\ns 41\n", Status.CHEAT, "socket"),
        (b"r\nr\nr\n", Status.CHEAT, "channel"),
        (b"v 8 11\nv 8 11\n", Status.CHEAT, "channel"),
        (b"g 99999999999999999999999999 x\n", Status.CHEAT, "channel"),
        (b"s 41 \x1b[2Jsocket\n", Status.CHEAT, "channel"),
        (b"r 1000 0\n", Status.CHEAT, "channel"),
        (b"e x.so: undefined symbol: y\n", Status.CHEAT, "channel"),
    ],
)
def test_only_whole_lines_of_the_grammar_are_believed(words: bytes, status: Status, says: str) -> None:
    verdict = fault(words, "x", 4, (), _NAMES)
    assert verdict.status is status and says in str(verdict)


def test_what_the_loader_says_is_believed_before_the_candidate_is_loaded_and_holds_no_markup() -> None:
    verdict = fault(b"e /a/b.so: undefined symbol: _Z1yv\n", "x", 5, (), _NAMES, loaded=False)
    assert verdict.status is Status.LAUNCH_ERROR and str(verdict).endswith("/a/b.so: undefined symbol: _Z1yv")
    forged = fault(b"e [bold]99x[/bold] [link=file:///x]ok[/link]\n", "x", 5, (), _NAMES, loaded=False)
    assert "99x" in str(forged) and not set("[]=") & set(str(forged))


def test_the_keeper_names_calls_by_the_numbers_of_this_machine() -> None:
    names = call_names()
    assert {"socket", "execve", "openat for writing (a new file, or all of one)"} <= set(names.values())
    assert names[{"x86_64": 41, "aarch64": 198}[os.uname().machine]] == "socket"
