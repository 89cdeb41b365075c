"""Ways around the walls that were found by attacking them (docs/results/sandbox.md), for code in the fork server."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from foretell.kernels.limits import PROBE_LIMITS
from foretell.kernels.sandbox import Ending, ForkServer, JobFailed, Kind
from foretell.kernels.sandbox.allowed import READABLE_VARIABLE
from foretell.kernels.sandbox.kinds import works

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is for Linux")
KINDS = [pytest.param(kind, marks=pytest.mark.skipif(not works(kind), reason=f"no {kind} here")) for kind in Kind]
RUN = "foretell.kernels.walls.probes.excess:run"  # executes the payload as Python and answers with `answer`
GET_FLAGS, SET_FLAGS, NO_ACCESS_TIMES = 0x80086601, 0x40086602, 0x80
TRIED = """
import fcntl, json, mmap, os, socket, struct
outcomes = {}
def attempt(name, function, *arguments):
    try:
        outcomes[name] = repr(function(*arguments))
    except OSError as error:
        outcomes[name] = -error.errno
"""


class Attacked:
    """A server, with a folder that its jobs may read and one that only it may."""

    def __init__(self, kind: Kind, folder: Path) -> None:
        self.readable, self.supervised, self.sockets = (folder / each for each in ("read", "supervised", "sockets"))
        for each in (self.readable, self.supervised, self.sockets):
            each.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(READABLE_VARIABLE, str(self.readable))
            self.server = ForkServer(
                ("json", "foretell.kernels.walls.probes.excess"), readable=(self.supervised,), kind=kind
            )
            self.run("")

    def run(self, program: str) -> dict[str, Any]:
        """What came of every attempt of a program."""
        text = f"{TRIED}{program}\nanswer = json.dumps(outcomes)"
        return dict(json.loads(self.server.call(RUN, text.encode(), PROBE_LIMITS)))


@pytest.fixture(scope="module", params=KINDS)
def attacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    made = Attacked(request.param, tmp_path_factory.mktemp("attacked"))
    yield made
    made.server.close()


def test_one_of_a_pair_of_sockets_sends_to_nobody_else(attacked: Attacked) -> None:
    place = str(attacked.sockets / "service")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(place)
        listener.setblocking(False)
        outcomes = attacked.run(
            "def send(kind):\n    pair = socket.socketpair(socket.AF_UNIX, kind)\n"
            f"    return pair[0].sendto(b'reached', {place!r})\n"
            "for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):\n"
            "    attempt(kind.name, send, kind)"
        )
        assert outcomes["SOCK_DGRAM"] < 0 and outcomes["SOCK_RAW"] < 0
        with pytest.raises(BlockingIOError):
            listener.recv(100)
    Path(place).unlink()


def test_a_file_that_is_open_for_reading_is_not_changed(attacked: Attacked) -> None:
    path = attacked.readable / "tool"
    path.write_text("as it was")
    path.chmod(0o644)
    flags = _flags(path)
    outcomes = attacked.run(
        f"fd = os.open({str(path)!r}, os.O_RDONLY)\nattempt('mode', os.fchmod, fd, 0o666)\n"
        "attempt('owner', os.fchown, fd, os.getuid(), os.getgid())\n"
        "attempt('attribute', os.setxattr, fd, 'user.left', b'1')\n"
        f"attempt('flags', fcntl.ioctl, fd, {SET_FLAGS}, struct.pack('l', {(flags or 0) | NO_ACCESS_TIMES}))\n"
        "attempt('lease', fcntl.fcntl, fd, 1024, fcntl.F_RDLCK)\nattempt('times', os.utime, fd, (1, 1))"
    )
    assert outcomes["lease"] < 0 and outcomes["flags"] < 0
    assert path.stat().st_mode & 0o777 == 0o644 and path.stat().st_mtime > 1 and _flags(path) == flags
    assert "user.left" not in os.listxattr(path)


def _flags(path: Path) -> int | None:
    """The file's flags; None if its file system has none."""
    with path.open() as file:
        try:
            return int(struct.unpack("l", fcntl.ioctl(file, GET_FLAGS, bytes(8)))[0])
        except OSError:
            return None


def test_there_is_no_memory_that_belongs_to_nobody(attacked: Attacked) -> None:
    """What is unmapped, or never was mapped, would count for no limit and stay."""
    outcomes = attacked.run(
        "attempt('file', os.memfd_create, 'x')\nattempt('shared', mmap.mmap, -1, 4096)\n"
        "attempt('device', lambda: mmap.mmap(os.open('/dev/zero', os.O_RDWR), 4096))\n"
        "attempt('own', lambda: len(mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)))"
    )
    assert outcomes.pop("own") == "4096"
    assert all(outcome < 0 for outcome in outcomes.values())


def test_files_take_no_more_room_than_they_may(attacked: Attacked) -> None:
    """Each is smaller than a single file may be."""
    program = (
        "import time\nfor n in range(8):\n    with open(f'tmp/{n}', 'wb') as file:\n        file.write(bytes(2 << 20))\n"
        "time.sleep(20)\nanswer = ''"
    )
    with pytest.raises(JobFailed) as caught:
        attacked.server.call(RUN, program.encode(), replace(PROBE_LIMITS, scratch_bytes=4 << 20))
    assert caught.value.ending is Ending.ROOM or "No space left" in str(caught.value)


@pytest.mark.parametrize("place", ["cache/kept", "cache"])
def test_links_do_not_make_the_supervisor_read_for_a_job(attacked: Attacked, place: str) -> None:
    (attacked.supervised / "kept").mkdir(exist_ok=True)
    (attacked.supervised / "kept" / "of another").write_text("precious")
    target = attacked.supervised / "kept" if place == "cache/kept" else attacked.supervised
    program = (
        "import os, pathlib\nif os.path.isdir('cache/kept'): os.rmdir('cache/kept')\n"
        f"if {place!r} == 'cache': os.rename('cache', 'old')\nos.symlink({str(target)!r}, {place!r})\nanswer = 'done'"
    )
    result = attacked.server.submit(RUN, program.encode(), PROBE_LIMITS, keep=["kept"]).result()
    assert result.answer == b"done" and result.files == {}


def ended(attacked: Attacked, program: str, **limits: int) -> Ending:
    """How a job of that program ends; what a job answers is not counted against it."""
    with pytest.raises(JobFailed) as caught:
        attacked.server.call(RUN, program.encode(), replace(PROBE_LIMITS, **limits))
    return caught.value.ending


FIRST_THREAD_ENDS = """
import ctypes, os, platform, threading, time
def hold():
    time.sleep(0.2)
    held = bytearray(300 << 20)
    for place in range(0, len(held), 4096):
        held[place] = 1
    time.sleep(30)
if os.fork() == 0:
    threading.Thread(target=hold).start()
    ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[platform.machine()], 0)
time.sleep(30)
answer = ""
"""


def test_a_process_whose_first_thread_has_ended_is_counted(attacked: Attacked) -> None:
    assert ended(attacked, FIRST_THREAD_ENDS, memory_bytes=100 << 20) is Ending.MEMORY


def test_threads_are_counted(attacked: Attacked) -> None:
    """They take places that other jobs need."""
    program = (
        "import threading, time\nthreading.stack_size(1 << 16)\nfor _ in range(600):\n"
        "    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()\ntime.sleep(30)\nanswer = ''"
    )
    assert ended(attacked, program) is Ending.PROCESSES


def test_what_the_kernel_keeps_for_a_job_is_refused(attacked: Attacked) -> None:
    """Pages lent to pipes, rules of Landlock, places that all of the machine or the user share."""
    outcomes = attacked.run(
        "import ctypes, platform\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "numbers = {'vmsplice': (278, 75), 'tee': (276, 77), 'ruleset': (444, 444), 'io_setup': (206, 0)}\n"
        "numbers['inotify'] = (294, 26)\n"
        "def call(name):\n"
        "    found = libc.syscall(ctypes.c_long(numbers[name][platform.machine() == 'aarch64']), 0, 0, 0, 0)\n"
        "    if found < 0: raise OSError(ctypes.get_errno(), '')\n    return found\n"
        "for name in numbers: attempt(name, call, name)"
    )
    assert set(outcomes.values()) == {-1}, outcomes


@pytest.mark.parametrize("lock", ["fcntl.flock(file, fcntl.LOCK_EX)", "fcntl.lockf(file, fcntl.LOCK_SH)"])
def test_locks_on_what_may_be_read_keep_nobody_waiting(attacked: Attacked, lock: str, tmp_path: Path) -> None:
    path = attacked.readable / "shared"
    path.write_text("x")
    program = f"import fcntl, time\nfile = open({str(path)!r}, 'rb')\n{lock}\ntime.sleep(2)\nanswer = 'held'"
    with ThreadPoolExecutor(1) as pool, path.open("r+b") as file:
        held = pool.submit(attacked.server.call, RUN, program.encode(), PROBE_LIMITS)
        while not held.done():
            for way in (fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_UN):
                (fcntl.flock if "flock" in lock else fcntl.lockf)(file, way)
            time.sleep(0.02)
    assert held.result() == b"held"


WITHOUT_A_NAME = "files = [open(f'{n}', 'w+b') for n in range(8)]\nfor n in range(8): os.unlink(f'{n}')\n"
NOT_TO_BE_LISTED = "os.mkdir('h', 0o300)\nfiles = [open(f'h/{n}', 'w+b') for n in range(8)]\n"
FAR_DOWN = (
    "for _ in range(18): os.mkdir('d' * 250); os.chdir('d' * 250)\nfiles = [open(f'{n}', 'w+b') for n in range(8)]\n"
)
MAPPED = (
    "import mmap\nfiles = []\nmaps = []\nfor n in range(8):\n    with open(f'{n}', 'w+b') as file:\n"
    "        file.write(bytes(2 << 20))\n        file.flush()\n        maps.append(mmap.mmap(file.fileno(), 2 << 20))\n"
    "    os.unlink(f'{n}')\n"
)


@pytest.mark.parametrize(
    "place",
    [WITHOUT_A_NAME, NOT_TO_BE_LISTED, FAR_DOWN, MAPPED],
    ids=["nameless", "unlistable", "far", "mapped"],
)
def test_files_count_wherever_they_are(attacked: Attacked, place: str) -> None:
    program = f"import os, time\n{place}for file in files: file.write(bytes(2 << 20)); file.flush()\n"
    program += "time.sleep(30)\nanswer = ''"
    with pytest.raises(JobFailed) as caught:
        attacked.server.call(RUN, program.encode(), replace(PROBE_LIMITS, scratch_bytes=6 << 20))
    assert caught.value.ending is Ending.ROOM or "No space left" in str(caught.value)


def test_folders_of_any_depth_are_removed(attacked: Attacked) -> None:
    """Nothing that cleans up after a job recurses, or needs to list what may not be listed."""
    program = (
        "import os\nhome = os.getcwd()\nfor n in range(40): os.makedirs(f'cache/kept/{n}' + '/x' * 30, exist_ok=True)\n"
        "os.mkdir('h', 0o300)\nopen('h/f', 'w').close()\nos.chdir('tmp')\n"
        "for n in range(3000):\n    os.mkdir('d')\n    os.chdir('d')\n    open('f', 'w').close()\nanswer = 'left'"
    )
    with suppress(JobFailed):  # folders so deep do not fit
        attacked.server.submit(RUN, program.encode(), PROBE_LIMITS, keep=["kept"]).result()
    scratch = Path(str(attacked.server._scratch))
    deadline = time.monotonic() + 30
    while {each.name for each in scratch.iterdir()} - {"server"} and time.monotonic() < deadline:
        time.sleep(0.1)
    assert {each.name for each in scratch.iterdir()} <= {"server"}


def test_the_mode_of_a_folder_that_jobs_share_stays(attacked: Attacked) -> None:
    attacked.run("for place in ('/tmp', '..', '/'): attempt(place, os.chmod, place, 0)")
    assert attacked.run("attempt('next', os.getcwd)")["next"]


def test_the_machines_network_is_not_shown(attacked: Attacked) -> None:
    """Namespaces show one of the job's own, in which nothing is."""
    outcomes = attacked.run("attempt('tcp', lambda: len(open('/proc/self/net/unix').read().splitlines()))")
    assert outcomes["tcp"] in (-13, -2, "1")


def test_files_that_come_back_are_bounded(attacked: Attacked, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("jobs", "forkserver"):
        monkeypatch.setattr(f"foretell.kernels.sandbox.{module}.KEEP_BYTES", 1 << 20)
    program = (
        "import os\nos.makedirs('cache/kept')\n"
        "for n in range(4): open(f'cache/kept/{n}', 'wb').write(b'x' * 400_000)\nanswer = 'done'"
    )
    result = attacked.server.submit(RUN, program.encode(), PROBE_LIMITS, keep=["kept"]).result()
    assert result.answer == b"done" and sum(map(len, result.files.values())) == 800_000
