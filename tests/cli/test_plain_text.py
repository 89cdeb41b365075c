"""No escape codes if NO_COLOR is set, and none where nobody reads them on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.cli.forked import Forked

COMMANDS = [("--help",), ("search", "--help"), ("search", "sofmax"), ("tasks",), ("search", "--seconds", "nan", "x")]
ESCAPE = b"\x1b["


def on_a_terminal(start: Callable[[str], object]) -> bytes:
    """All that a process writes on a terminal, its errors included. `start` is given its name and waits for the end."""
    primary, secondary = pty.openpty()
    written = bytearray()

    def read() -> None:
        while chunk := _read(primary):
            written.extend(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    start(os.ttyname(secondary))
    os.close(secondary)
    reader.join()
    os.close(primary)
    return bytes(written)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


def environment(**changes: str) -> dict[str, str]:
    told = {"NO_COLOR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE"}
    return (
        {name: value for name, value in os.environ.items() if name not in told} | {"TERM": "xterm-256color"} | changes
    )


@pytest.fixture(scope="module")
def process_with() -> Iterator[Callable[..., Forked]]:
    """A process with these changes to its environment from the start: some of it is read while modules are imported."""
    with ExitStack() as stack:
        processes: dict[str, Forked] = {}

        def get(**changes: str) -> Forked:
            key = str(sorted(changes.items()))
            if key not in processes:
                processes[key] = stack.enter_context(Forked(environment(**changes)))
            return processes[key]

        yield get


ProcessWith = Callable[..., Forked]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_color_is_plain_on_a_terminal(
    arguments: tuple[str, ...], own_place: Path, process_with: ProcessWith
) -> None:
    run = partial(process_with(NO_COLOR="1").run, *arguments, folder=own_place)
    written = on_a_terminal(lambda terminal: run(terminal=terminal))
    assert written and ESCAPE not in written


def test_a_terminal_has_colours_otherwise(own_place: Path, process_with: ProcessWith) -> None:
    plain, empty = process_with(), process_with(NO_COLOR="")
    assert ESCAPE in on_a_terminal(lambda terminal: plain.run("--help", folder=own_place, terminal=terminal))
    assert ESCAPE in on_a_terminal(lambda terminal: empty.run("tasks", folder=own_place, terminal=terminal))


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("where", [{}, {"GITHUB_ACTIONS": "true"}], ids=["pipe", "pipe on CI"])
def test_a_pipe_is_plain(
    arguments: tuple[str, ...], where: dict[str, str], own_place: Path, process_with: ProcessWith
) -> None:
    done = process_with(**where).run(*arguments, folder=own_place)
    assert done.stdout + done.stderr and "\x1b[" not in done.stdout + done.stderr


def test_the_live_table_is_without_colours(own_place: Path) -> None:
    code = (
        "from foretell.cli.output import progress_console\n"
        "with progress_console().status('[red]work[/]'): progress_console().print('[bold]done[/]')"
    )

    def start(name: str) -> None:
        with open(name, "r+b", buffering=0) as terminal:  # noqa: PTH123 - a terminal has no position
            words = [sys.executable, "-c", code]
            files = {"stdin": terminal, "stdout": terminal, "stderr": terminal}
            subprocess.run(words, env=environment(NO_COLOR="1"), cwd=own_place, check=True, **files)  # type: ignore[call-overload]

    written = on_a_terminal(start)
    assert b"done" in written and b"\x1b[31m" not in written and b"\x1b[1m" not in written
