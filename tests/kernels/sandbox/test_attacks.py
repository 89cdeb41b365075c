"""Ways around the walls that were found by attacking them (docs/results/sandbox.md), for code in the fork server."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from foretell.kernels.profiles import PROBE_LIMITS
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
