"""The fork server: imports what its jobs need once, then forks a confined process for every job.

A job is two processes: a supervisor, which is trusted code, and a worker, in which foreign code may run. Where it can
be had, each job has process, mount and IPC namespaces of its own and an empty folder; otherwise it has a process group
and a folder. The user talks to the worker over one socket and to the supervisor over another; closing that ends it.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import shutil
import signal
import socket
import stat
import struct
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import foretell.kernels.walls as own_walls
from foretell.kernels.walls import landlock, namespaces
from foretell.kernels.walls import room as rooms
from foretell.kernels.walls import syscalls as sys_
from foretell.kernels.walls.confine import Walls, confine
from foretell.kernels.walls.supervise import supervise

MESSAGE_BYTES = 1 << 16
ANSWER, RAISED = b"A", b"E"
SIZE = struct.Struct("!cQ")
_MOST_DESCRIPTORS = (1 << 31) - 1
_TEXT_CHARACTERS = 4000
TEXT_BYTES = 4 * _TEXT_CHARACTERS  # in UTF-8: the most that a worker says of an error
_MOST_FILES = 4096
MOST_GROUPS = 2  # control groups that a job may be put in
_JOB_NAMESPACES = sys_.CLONE_NEWNS | sys_.CLONE_NEWIPC


def serve(specification: dict[str, Any]) -> None:
    """Take jobs until the other end of the control socket is closed."""
    settings = specification["server"]
    control = socket.socket(fileno=specification["control"])
    os.environ.clear()
    own = f"{settings['scratch']}/server"
    os.makedirs(own, mode=0o700, exist_ok=True)
    os.environ.update(specification["environment"], HOME=own, TMPDIR=own, FORETELL_CACHE=own, TRITON_CACHE_DIR=own)
    sys.path[:] = settings["path"]
    walls = Walls(specification["walls"])
    nest = _own_namespace(walls)
    if not walls.namespaces and walls.landlock:
        readable = (*walls.readable, *specification["supervised"], "/proc")
        writable = (settings["scratch"], *(("/proc",) if walls.gpus else ()))  # of which a job may write its own
        landlock.restrict(readable, writable, namespaces.devices(walls.gpus), walls.gpus)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    try:
        for name in settings["preload"]:
            importlib.import_module(name)
    except BaseException as error:
        control.send(json.dumps({"failed": f"{type(error).__name__}: {error}"[:_TEXT_CHARACTERS]}).encode())
        os._exit(1)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # ended supervisors are nobody's business any more
    control.send(json.dumps({"ready": True, "namespaces": nest is not None}).encode())
    alive, held = os.pipe()  # its end tells supervisors that the server is gone
    number = 0
    while True:
        message, descriptors, _, _ = socket.recv_fds(control, MESSAGE_BYTES, 2 + MOST_GROUPS)
        if not message or len(descriptors) < 2:
            break
        number += 1
        with suppress(OSError):  # no more processes: the job ends unanswered
            if _fork_job(nest) == 0:
                os.close(held)
                place = settings["scratch"] if nest is None else ""
                _supervise_job(json.loads(message), walls, place, number, [*descriptors[:2], alive], descriptors[2:])
        for descriptor in descriptors:
            os.close(descriptor)
    os.close(held)
    with suppress(ChildProcessError):
        os.wait()  # returns once all supervisors have ended their jobs, since their ends are ignored
    os._exit(0)


def _own_namespace(walls: Walls) -> int | None:
    """This server's process namespace, to come back to after each fork into a new one; None where none can be made."""
    if not walls.namespaces:
        return None
    try:
        own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    return own if _can_nest(own, walls) else None


def _can_nest(own: int, walls: Walls) -> bool:
    """Try what each job does."""
    try:
        child = _fork_job(own)
    except OSError:
        return False
    if child == 0:
        try:
            _enter_job(1 << 20, walls)
        except OSError:
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def _fork_job(own: int | None) -> int:
    """Fork; the child is the first process of a new process namespace if this server can make one."""
    if own is None:
        return os.fork()
    sys_.unshare(sys_.CLONE_NEWPID)
    try:
        return os.fork()
    finally:
        with suppress(OSError):
            sys_.setns(own, sys_.CLONE_NEWPID)


def _enter_job(scratch_bytes: int, walls: Walls) -> None:
    sys_.unshare(_JOB_NAMESPACES)
    sys_.mount(None, "/", None, sys_.MS_REC | sys_.MS_PRIVATE)
    for target in (namespaces.JOB_SCRATCH, "/dev/shm"):
        if any(path.startswith(f"{target}/") for path in walls.readable):
            sys_.restrict_mount(target, sys_.MS_RDONLY)  # what it needs lies there
        else:
            namespaces.mount_scratch(target, scratch_bytes)
    sys_.restrict_mount("/tmp", sys_.MS_RDONLY)  # the server's
    names_threads = bool(walls.gpus) and walls.landlock  # which then bounds what of it can be written
    if not namespaces.mount_proc("/proc", writable=names_threads):
        raise OSError("no /proc of its own")


def _supervise_job(
    job: Mapping[str, Any], walls: Walls, base: str, number: int, descriptors: Sequence[int], groups: Sequence[int]
) -> None:
    """The supervisor of one job, from beginning to end; does not return.

    `base` is where it may make a folder; empty if the job has namespaces of its own and this is their first process.
    `groups` are the files by which the worker enters its control groups.
    """
    data, status, alive = descriptors
    nested = not base
    limits, scratch = job["limits"], f"{base}/{number}" if base else namespaces.JOB_SCRATCH
    code = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()  # a session for each, since the kernel shares processors out by sessions
        if nested:
            _enter_job(limits["scratch_bytes"], walls)
        for folder in (scratch, f"{scratch}/tmp", f"{scratch}/cache"):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        if job["seed"]:
            _copy(job["seed"], f"{scratch}/cache")
        child = os.fork()
        if child == 0:
            for group in groups:
                with suppress(OSError):
                    os.write(group, b"0")
            _work(job, walls, nested, scratch, data)
        with suppress(OSError):
            os.setpgid(child, child)
        os.close(data)
        room = None if nested else (scratch, limits["scratch_bytes"])
        ended = supervise(child, limits["processes"], limits["memory_bytes"], nested, (status, alive), room)
        files = list(_files(f"{scratch}/cache", job["keep"], job["keep_bytes"]))
        head = {**ended, "files": [(name, len(content)) for name, content in files]}
        with socket.socket(fileno=status) as channel:
            _send(channel, ANSWER, json.dumps(head).encode())
            for _, content in files:
                channel.sendall(content)
        code = 0
    except OSError as error:
        text = f"{error}".encode()
        with suppress(OSError):
            os.write(status, SIZE.pack(RAISED, len(text)) + text)
    finally:
        if not nested:
            rooms.remove(scratch)
        os._exit(code)


def _work(job: Mapping[str, Any], walls: Walls, nested: bool, scratch: str, data: int) -> None:
    """The worker: walls itself in, calls the function and answers, or lets it converse; does not return."""
    os.setpgid(0, 0)
    os.closerange(3, data)
    os.closerange(data + 1, _MOST_DESCRIPTORS)
    channel = socket.socket(fileno=data)
    own_walls.is_inside = True
    try:
        os.environ.update(HOME=scratch, TMPDIR=f"{scratch}/tmp", FORETELL_CACHE=f"{scratch}/cache")
        tempfile.tempdir = None  # found before, for the server
        os.chdir(scratch)
        writable = (scratch, *(("/dev/shm",) if nested else ()))
        confine(walls.around(writable, alone=nested, own_users=False, own_files=nested), job["limits"])
        module, _, name = job["function"].partition(":")
        function = getattr(importlib.import_module(module), name)
        if job.get("conversation"):
            function(channel)
        else:
            _send(channel, ANSWER, function(_receive(channel)))
    except BaseException as error:
        if job.get("conversation"):
            os._exit(1)  # nobody reads an answer
        _send(channel, RAISED, f"{type(error).__name__}: {error}"[:_TEXT_CHARACTERS].encode(errors="replace"))
    finally:
        os._exit(0)


def _copy(source: str, target: str) -> None:
    """What an earlier job of the same content left, as a start; without it the job only takes longer."""
    with suppress(OSError, shutil.Error):
        shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)


_SMALL_BYTES = 4096  # such files may lie within their inode


def _files(folder: str, wanted: Sequence[str], most_bytes: int) -> Iterator[tuple[str, bytes]]:
    """Plain files below the wanted folders, by their names relative to `folder`, of so many bytes together.

    Links are not followed, those that the job put in the place of one of these folders included: this process may read
    more than the job might.
    """
    left, count = most_bytes, 0
    real = os.path.join(os.path.realpath(os.path.dirname(folder)), os.path.basename(folder))
    for top in wanted:
        if os.path.realpath(os.path.join(folder, top)) != os.path.join(real, top):
            continue
        for path in rooms.files_below(os.path.join(folder, top)):
            content = _plain(path, left)
            count += 1
            if content is None or count > _MOST_FILES:
                continue
            left -= len(content)
            yield os.path.relpath(path, folder), content


def _plain(path: str, most_bytes: int) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        is_whole = found.st_size <= found.st_blocks * 512  # holes would become bytes that nothing was charged for
        small = found.st_size <= most_bytes and (is_whole or found.st_size <= _SMALL_BYTES)
        return file.read(found.st_size) if stat.S_ISREG(found.st_mode) and small else None


def _receive(channel: socket.socket) -> bytes:
    _, size = SIZE.unpack(_exactly(channel, SIZE.size))
    return _exactly(channel, size)


def _exactly(channel: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = channel.recv(min(size, 1 << 20))
        if not part:
            raise EOFError("the sandbox's user is gone")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _send(channel: socket.socket, kind: bytes, content: bytes) -> None:
    channel.sendall(SIZE.pack(kind, len(content)) + content)
