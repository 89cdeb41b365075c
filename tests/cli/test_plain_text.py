"""No escape codes if NO_COLOR is set, and none where nobody reads them on a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import command

COMMANDS = [("--help",), ("search", "--help"), ("search", "sofmax"), ("tasks",), ("search", "--seconds", "nan", "x")]
ESCAPE = b"\x1b["


def on_a_terminal(arguments: list[str], env: dict[str, str], cwd: Path) -> bytes:
    """All that a command writes on a terminal, its errors included."""
    primary, secondary = pty.openpty()
    process = subprocess.Popen(arguments, stdin=secondary, stdout=secondary, stderr=secondary, env=env, cwd=cwd)
    os.close(secondary)
    written = b""
    while True:
        try:
            chunk = os.read(primary, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not chunk:
            break
        written += chunk
    process.wait()
    os.close(primary)
    return written


def environment(**changes: str) -> dict[str, str]:
    told = {"NO_COLOR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE"}
    return (
        {name: value for name, value in os.environ.items() if name not in told} | {"TERM": "xterm-256color"} | changes
    )


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_color_is_plain_on_a_terminal(arguments: tuple[str, ...], own_place: Path) -> None:
    written = on_a_terminal(command(*arguments), environment(NO_COLOR="1"), own_place)
    assert written and ESCAPE not in written


def test_a_terminal_has_colours_otherwise(own_place: Path) -> None:
    assert ESCAPE in on_a_terminal(command("--help"), environment(), own_place)
    assert ESCAPE in on_a_terminal(command("tasks"), environment(NO_COLOR=""), own_place)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("where", [{}, {"GITHUB_ACTIONS": "true"}], ids=["pipe", "pipe on CI"])
def test_a_pipe_is_plain(arguments: tuple[str, ...], where: dict[str, str], own_place: Path) -> None:
    done = subprocess.run(
        command(*arguments), env=environment(**where), cwd=own_place, capture_output=True, check=False
    )
    assert ESCAPE not in done.stdout + done.stderr


def test_the_live_table_is_without_colours(own_place: Path) -> None:
    code = (
        "from foretell.cli.output import progress_console\n"
        "with progress_console().status('[red]work[/]'): progress_console().print('[bold]done[/]')"
    )
    written = on_a_terminal([sys.executable, "-c", code], environment(NO_COLOR="1"), own_place)
    assert b"done" in written and b"\x1b[31m" not in written and b"\x1b[1m" not in written
