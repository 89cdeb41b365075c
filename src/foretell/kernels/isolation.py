"""What foreign code and tools get to see: a scrubbed environment and, where bubblewrap works, their own file system."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

_PASSED_ON = ("PATH", "LANG")
_HIDDEN = ("/tmp", "/var/tmp", "/home", "/root", "/run", "/mnt", "/media", "/srv")


def scrubbed_environment() -> dict[str, str]:
    """No tokens, no keys, no home: only what finding and running a tool needs."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return kept | {"LC_ALL": "C", "HOME": "/nonexistent"}


def _prefix() -> list[str]:
    command = ["bwrap", "--die-with-parent", "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    home = str(Path.home())
    for path in (*_HIDDEN, *([home] if not home.startswith(_HIDDEN) and home != "/" else [])):
        if Path(path).is_dir() and not Path(path).is_symlink():
            command += ["--tmpfs", path]
    return command


@cache
def bubblewrap_works() -> bool:
    """True where `bwrap` is installed and may make namespaces here."""
    if shutil.which("bwrap") is None:
        return False
    try:
        return subprocess.run([*_prefix(), "true"], capture_output=True, timeout=10, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def isolated(command: Sequence[str], readable: Sequence[Path] = (), writable: Path | None = None) -> list[str]:
    """The command inside bubblewrap, or as it is where bubblewrap does not work.

    Inside: no network, no other processes, the system read-only, home and temporary folders empty but for
    `readable` (read-only) and `writable` (also its working folder).
    """
    if not bubblewrap_works():
        return list(command)
    wrapped = _prefix()
    for path in readable:
        wrapped += ["--ro-bind", str(path), str(path)]
    if writable is not None:
        wrapped += ["--bind", str(writable), str(writable), "--chdir", str(writable)]
    return [*wrapped, "--", *command]


def close_all_but(kept: int) -> None:
    """Close every descriptor but the standard ones and `kept`: a forked process must not hold its server's channels."""
    for fd in [int(entry.name) for entry in Path("/proc/self/fd").iterdir()]:
        if fd > 2 and fd != kept:
            with contextlib.suppress(OSError):
                os.close(fd)
