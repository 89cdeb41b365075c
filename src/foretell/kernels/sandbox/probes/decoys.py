"""What probes are aimed at, laid out outside of the sandbox, and what they changed there if a wall did not hold."""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from types import TracebackType

from foretell.kernels.sandbox.allowed import is_below, python_paths, system_paths
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.walls.probes.probe import Target

_SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run", "/etc/cron.d", "/var/spool/cron")
_PRIVATE, _REMOVE = 0o1600, 0
_END_TIMEOUT_S = 10.0
_ENDED = (b"Z", b"X")
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
        public = is_below(os.getcwd(), (*system_paths(), *python_paths()))
        directory = home if public else os.getcwd()
        ports = [listener.getsockname()[1] for listener in self._listeners[:2]]
        self.target = Target(
            secret=secret,
            home=home,
            secret_file=str(self._file),
            account=accounts.partition("\n")[0] or "no accounts",
            cache=str(cache_dir()),
            directory=directory,
            directory_entry=next((each.name for each in os.scandir(directory) if each.is_file()), marker),
            decoy_pid=self._process.pid,
            tcp_port=ports[0],
            udp_port=ports[1],
            unix_path=f"{home}/service",
            abstract_name=marker,
            segment=segment,
            marker=marker,
        )
        self._before = self._state()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pid in self._marked():  # without walls they would stay
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
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
        for path in self._files():
            found.append(f"a file was left in {path.parent}")
            with suppress(OSError):
                path.unlink()
        found += [f"process {pid} was left behind" for pid in self._left_behind()]
        return found

    def _left_behind(self) -> list[int]:
        """Processes that bear these decoys' mark, and still do after the time that the kernel takes to end one."""
        deadline = time.monotonic() + _END_TIMEOUT_S
        while (pids := self._marked()) and time.monotonic() < deadline:
            time.sleep(0.05)
        return pids

    def _files(self) -> list[Path]:
        """Files that bear the mark where all may write, in what Python imports from, and in the cache."""
        cache = cache_dir()
        folders = [*map(Path, _SHARED_FOLDERS), *(Path(each) for each in sys.path if each), cache, *cache.glob("*/")]
        return [path for folder in folders for path in folder.glob(f"{self.target.marker}*")]

    def _marked(self) -> list[int]:
        marker, name = self.target.marker.encode(), self.target.process_name.encode()
        found = []
        for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():
            if not entry.isdecimal() or int(entry) == self._process.pid:
                continue
            with suppress(OSError):
                head, _, fields = Path(f"/proc/{entry}/stat").read_bytes().rpartition(b") ")
                called = head.partition(b" (")[2]
                arguments = Path(f"/proc/{entry}/cmdline").read_bytes()
                if fields[:1] not in _ENDED and (called == name or marker in arguments):
                    found.append(int(entry))
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
