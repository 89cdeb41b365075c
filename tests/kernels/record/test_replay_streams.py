"""Streams of a replayed Program wait for each other as recorded. Needs no GPU: torch's streams are stand-ins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from foretell.kernels.program import Fork, Join, Launch
from foretell.kernels.record.replay import Replay
from tests.kernels.bench.gpu.trusted.toy import program_of


class _Stream:
    """Notes which stream it waits for."""

    events: list[tuple[str, str]]

    def __init__(self, name: str = "second") -> None:
        self.name = name

    def wait_stream(self, other: _Stream) -> None:
        self.events.append((self.name, other.name))


class _Launches(Replay):
    """Notes on which stream each launch goes."""

    def _allocate(self, buffer: int) -> None:
        pass

    def _launch(self, launch: Launch) -> None:
        _Stream.events.append((torch.cuda.current_stream().name, "launch"))


def test_a_second_stream_waits_for_the_first_and_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    current = [_Stream("first")]

    @contextmanager
    def using(stream: _Stream) -> Iterator[None]:
        current.append(stream)
        yield
        current.pop()

    for name, value in (("current_stream", lambda: current[-1]), ("Stream", _Stream), ("stream", using)):
        monkeypatch.setattr(torch.cuda, name, value)
    program = program_of("softmax")
    allocate, launch = program.run
    run: Any = (allocate, Fork(1, 0), replace(launch, stream=1), launch, Join(1, 0))
    replay = _Launches(replace(program, run=run), "cuda")
    _Stream.events = []
    replay._run_steps()
    assert _Stream.events == [("second", "first"), ("second", "launch"), ("first", "launch"), ("first", "second")]
