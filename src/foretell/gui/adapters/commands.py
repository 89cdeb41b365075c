"""Programs that adapters call: found on the PATH, given a list of arguments and a time limit, never by a shell."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence

from foretell.gui.adapters.screen import Fault, ScreenError, line_of


def find(name: str, hint: str) -> str:
    """Where a program is, or ScreenError with how to get it."""
    found = shutil.which(name)
    if found is None:
        raise ScreenError(Fault.MISSING_TOOL, f"{name} is not on the PATH: {hint}")
    return found


def call(
    arguments: Sequence[str],
    timeout_s: float,
    given: bytes = b"",
    environment: Mapping[str, str] | None = None,
    private: bool = False,
) -> bytes:
    """What a program prints, or ScreenError. With `private` nothing that it says is repeated."""
    name = os.path.basename(arguments[0])  # noqa: PTH119  a name, not a file
    try:
        done = subprocess.run(
            list(arguments),
            input=given,
            capture_output=True,
            timeout=timeout_s,
            env=None if environment is None else {**os.environ, **environment},
        )
    except subprocess.TimeoutExpired:
        raise ScreenError(Fault.TIMEOUT, f"{name} did not end within {timeout_s:g} s") from None
    except (OSError, ValueError) as error:  # a file that is no program, an argument that no program can take
        raise ScreenError(Fault.FAILED, f"{name} cannot be started ({type(error).__name__})") from None
    if done.returncode != 0:
        said = "" if private else _line(done.stderr)
        raise ScreenError(Fault.FAILED, f"{name} failed ({done.returncode}){': ' + said if said else ''}")
    return done.stdout


def launch(arguments: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
    """Start a program that stays, such as an application; what it prints is not kept."""
    try:
        subprocess.Popen(
            list(arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=None if environment is None else {**os.environ, **environment},
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ScreenError(Fault.FAILED, f"the program cannot be started ({type(error).__name__})") from None


def _line(data: bytes) -> str:
    return line_of(data.decode("utf-8", "replace"))
