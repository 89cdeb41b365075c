"""What probes are aimed at, laid out outside of the sandbox, and what they changed there if a wall did not hold."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

from foretell.kernels.sandbox.specification import LAUNCHER
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.walls.probes.probe import Target

_SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run")
_PRIVATE, _REMOVE = 0o1600, 0
_libc = ctypes.CDLL(None, use_errno=True)


class Decoys:
    """A home with a secret, a process with one in its environment, listeners and shared memory, until it is left.

    `damage` says in words what was done to them, and what was left behind, since they were laid out.
    """

    def __init__(self, home: Path | None = None) -> None:
        self._above = Path.home() if home is None else home

    def __enter__(self) -> Decoys:
        self._stack = ExitStack()
        secret, marker = secrets.token_hex(16), f"foretell-probe-{secrets.token_hex(8)}"
        home = tempfile.mkdtemp(prefix=".foretell-probe-", dir=self._above if os.access(self._above, os.W_OK) else None)
        self._stack.callback(shutil.rmtree, home, ignore_errors=True)
        self._file = Path(home) / "secret"
        self._file.write_text(secret)
        self._file.chmod(0o600)
        self._listeners = [self._listen(kind, home, marker) for kind in ("tcp", "udp", "unix", "abstract")]
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", "import time; time.sleep(3600)", marker],
            env={"SECRET": secret},
            stdin=subprocess.DEVNULL,
        )
        self._stack.callback(self._process.kill)
        segment = self._segment(secret)
        accounts = Path("/etc/passwd").read_text() if os.path.exists("/etc/passwd") else ""
        ports = [listener.getsockname()[1] for listener in self._listeners[:2]]
        self.target = Target(
            secret=secret,
            home=home,
            secret_file=str(self._file),
            account=accounts.partition("\n")[0] or "no accounts",
            cache=str(cache_dir()),
            directory=os.getcwd(),
            directory_entry=next(iter(os.listdir()), marker),
            decoy_pid=self._process.pid,
            tcp_port=ports[0],
            udp_port=ports[1],
            unix_path=f"{home}/service",
            abstract_name=marker,
            segment=segment,
            marker=marker,
        )
        self._before, self._launched = self._state(), _launched()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        self._process.wait()

    def damage(self) -> list[str]:
        """Everything that is not as it was; call once all sandboxes are closed."""
        found = []
        if self._state() != self._before:
            found.append("the home folder was changed")
        if self._process.poll() is not None:
            found.append("a process was ended")
        for name, listener in zip(
            ("TCP", "UDP", "a socket's file", "an abstract socket"), self._listeners, strict=True
        ):
            if _was_reached(listener):
                found.append(f"a message came by {name}")
        for folder in _SHARED_FOLDERS:
            path = Path(folder) / self.target.marker
            if path.exists():
                found.append(f"a file was left in {folder}")
                path.unlink()
        found += [f"process {pid} was left behind" for pid in sorted(_launched() - self._launched)]
        return found

    def _listen(self, kind: str, home: str, marker: str) -> socket.socket:
        family = socket.AF_UNIX if kind in ("unix", "abstract") else socket.AF_INET
        listener = self._stack.enter_context(
            socket.socket(family, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
        )
        listener.bind({"unix": f"{home}/service", "abstract": f"\0{marker}"}.get(kind, ("127.0.0.1", 0)))
        if kind != "udp":
            listener.listen()
        listener.setblocking(False)
        return listener

    def _segment(self, secret: str) -> int:
        """Shared memory that holds the secret; -1 where the system has none."""
        with suppress(AttributeError):
            _libc.shmat.restype = ctypes.c_void_p
            segment = int(_libc.shmget(0, 4096, _PRIVATE))
            place = _libc.shmat(segment, None, 0)
            if segment >= 0 and place != ctypes.c_void_p(-1).value:
                ctypes.memmove(place, secret.encode(), len(secret))
                _libc.shmdt(ctypes.c_void_p(place))
                self._stack.callback(_libc.shmctl, segment, _REMOVE, None)
                return segment
        return -1

    def _state(self) -> list[tuple[str, bytes, int, float]]:
        found = []
        for path in sorted(self._file.parent.iterdir()):
            about = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(about.st_mode) else b""
            found.append((path.name, content, about.st_mode, about.st_mtime))
        return found


def _was_reached(listener: socket.socket) -> bool:
    try:
        if listener.type == socket.SOCK_DGRAM:
            return bool(listener.recv(64))
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _launched() -> set[int]:
    """Processes of sandboxes, by the program that started them; those of other users cannot be told."""
    found = set()
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdecimal():
            with suppress(OSError):
                if LAUNCHER.encode() in Path(f"/proc/{name}/cmdline").read_bytes():
                    found.add(int(name))
    return found
