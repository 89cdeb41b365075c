"""Code of the tests as an ordinary user, for test runs as root.

    python -m tests.kernels.sandbox.ordinary MODULE:FUNCTION ARGUMENT ...

Root drops to user 65534 in a mount namespace in which this Python can be reached even if it lies in root's own home.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from foretell.kernels.walls import syscalls

NOBODY = 65534


def call(function: str, *arguments: str, timeout_s: float = 900.0) -> str:
    """What `module:function` prints when an ordinary user calls it with these arguments."""
    with tempfile.TemporaryDirectory(prefix="ordinary-") as home:
        Path(home).chmod(0o777)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "TMPDIR": home,
            "FORETELL_CACHE": f"{home}/cache",
            "PYTHONPATH": os.pathsep.join(str(Path(path).resolve()) for path in sys.path if path),
            "PYTHONDONTWRITEBYTECODE": "1",
            **{name: os.environ[name] for name in ("FORETELL_SANDBOX",) if name in os.environ},
        }
        command = [sys.executable, "-m", __name__, function, *arguments]
        root = str(Path(__file__).resolve().parents[3])
        done = subprocess.run(
            command, env=environment, cwd=root, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def _become_ordinary() -> None:
    if os.getuid() != 0:
        return
    syscalls.unshare(syscalls.CLONE_NEWNS)
    syscalls.mount(None, "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    for prefix in {os.path.realpath(sys.base_prefix), os.path.realpath(sys.prefix)}:
        _uncover(Path(prefix))
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def _uncover(path: Path) -> None:
    """Show a folder at its place though one above it is closed to others."""
    closed = next((above for above in reversed(path.parents) if not above.stat().st_mode & 0o001), None)
    if closed is None:
        return
    handle = os.open(path, os.O_PATH | os.O_DIRECTORY)
    syscalls.mount("tmpfs", str(closed), "tmpfs", 0, "mode=0755")
    path.mkdir(parents=True)
    syscalls.mount(f"/proc/self/fd/{handle}", str(path), None, syscalls.MS_BIND | syscalls.MS_REC)
    os.close(handle)


def main() -> None:
    _become_ordinary()
    module, _, name = sys.argv[1].partition(":")
    print(getattr(importlib.import_module(module), name)(*sys.argv[2:]))


if __name__ == "__main__":
    main()
