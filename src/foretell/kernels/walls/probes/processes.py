"""Probes of processes: seeing, reading, signalling and slowing down those that are not the candidate's."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import struct
from collections.abc import Callable

from foretell.kernels.walls.probes.probe import Target, probe

_libc = ctypes.CDLL(None, use_errno=True)
_PTRACE_SEIZE, _PR_SET_NAME = 0x4206, 15
_PIDFD_GETFD, _PIDFD_SEND_SIGNAL = 438, 424


def _outside(target: Target) -> bool:
    """Whether the number of the decoy names that very process here, and not one of the sandbox's own."""
    with open(f"/proc/{target.decoy_pid}/cmdline", "rb") as file:
        return target.marker.encode() in file.read()


@probe("find a secret in its own environment")
def _(target: Target) -> bool:
    with open("/proc/self/environ", "rb") as file:
        own = file.read()
    return target.secret in str(dict(os.environ)) or target.secret.encode() in own


@probe("read the environment of another process")
def _(target: Target) -> bool:
    for name in (*filter(str.isdecimal, os.listdir("/proc")), str(target.decoy_pid), str(os.getppid())):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if target.secret.encode() in file.read():
                    return True
        except OSError:
            continue
    return False


@probe("read the environment of a process by its number")
def _(target: Target) -> bool:
    with open(f"/proc/{target.decoy_pid}/environ", "rb") as file:
        return target.secret.encode() in file.read()


@probe("see the processes of others")
def _(target: Target) -> bool:
    return _outside(target)


@probe("read the memory of another process")
def _(target: Target) -> bool:
    with open(f"/proc/{target.decoy_pid}/mem", "rb"):
        return _outside(target)


@probe("copy from the memory of another process")
def _(target: Target) -> bool:
    buffer = ctypes.create_string_buffer(16)
    local = struct.pack("@PN", ctypes.addressof(buffer), 16)
    remote = struct.pack("@PN", ctypes.addressof(buffer), 16)
    copied = _libc.process_vm_readv(target.decoy_pid, local, ctypes.c_ulong(1), remote, ctypes.c_ulong(1), 0)
    return bool(copied > 0) or ctypes.get_errno() == 14  # EFAULT: allowed, and that address is not mapped there


@probe("trace another process")
def _(target: Target) -> bool:
    return any(
        _libc.ptrace(ctypes.c_long(_PTRACE_SEIZE), ctypes.c_long(pid), None, None) == 0
        for pid in (target.decoy_pid, os.getppid())
    )


@probe("trace a child of its own")
def _(target: Target) -> bool:
    """Debuggers aside nobody needs it, and it is a way around filters on older kernels."""
    child = os.fork()
    if child == 0:
        signal.pause()
    seized = _libc.ptrace(ctypes.c_long(_PTRACE_SEIZE), ctypes.c_long(child), None, None) == 0
    os.kill(child, signal.SIGKILL)
    return bool(seized)


@probe("signal another process")
def _(target: Target) -> bool:
    os.kill(target.decoy_pid, 0)
    return True


@probe("signal the sandbox's supervisor")
def _(target: Target) -> bool:
    """Its parent is this probe's starter; above that is trusted code, which a signal must not end."""
    with open("/proc/self/stat") as file:
        own = int(file.read().rpartition(")")[2].split()[1])
    with open(f"/proc/{own}/stat") as file:
        above = int(file.read().rpartition(")")[2].split()[1])
    if above <= 1:
        return False  # the first process of a namespace takes no signals from within
    os.kill(above, 0)
    return True


@probe("signal a whole user's processes")
def _(target: Target) -> bool:
    """All that can be reached with -1 must be the sandbox's own; signal 0 shows whether there is anybody."""
    os.kill(target.decoy_pid, signal.SIGCONT)
    return True


@probe("have the kernel signal another process")
def _(target: Target) -> bool:
    reading, _ = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETOWN, target.decoy_pid)
    fcntl.fcntl(reading, 10, signal.SIGTERM)  # F_SETSIG
    return fcntl.fcntl(reading, fcntl.F_GETOWN) == target.decoy_pid


@probe("take a descriptor from another process")
def _(target: Target) -> bool:
    handle = os.pidfd_open(target.decoy_pid)
    return bool(_libc.syscall(ctypes.c_long(_PIDFD_GETFD), handle, 0, 0) >= 0)


@probe("signal another process by its handle")
def _(target: Target) -> bool:
    handle = os.pidfd_open(target.decoy_pid)
    return bool(_libc.syscall(ctypes.c_long(_PIDFD_SEND_SIGNAL), handle, signal.SIGCONT, None, 0) == 0)


@probe("bind another process to one core")
def _(target: Target) -> bool:
    os.sched_setaffinity(target.decoy_pid, {0})
    return True


@probe("set limits of another process")
def _(target: Target) -> bool:
    resource.prlimit(target.decoy_pid, resource.RLIMIT_NOFILE)
    return True


@probe("slow down another process")
def _(target: Target) -> bool:
    os.setpriority(os.PRIO_PROCESS, target.decoy_pid, 19)
    return True


@probe("raise its own limits")
def _(target: Target) -> bool:
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return True


@probe("attach shared memory of another process")
def _(target: Target) -> bool:
    _libc.shmat.restype = ctypes.c_void_p
    place = _libc.shmat(target.segment, None, 0o10000)
    return place not in (None, ctypes.c_void_p(-1).value) and ctypes.string_at(place, 64).startswith(
        target.secret.encode()
    )


@probe("open a message queue")
def _(target: Target) -> bool:
    return bool(_libc.msgget(0x464F5245, 0o1666) >= 0)


@probe("leave its session, to outlive the sandbox")
def _(target: Target) -> bool:
    """A daemon: two forks and a session of its own. That it is gone afterwards, the decoys' side sees."""
    _stay(target, lambda: signal.pause())
    return False


@probe("start a program that outlives the sandbox")
def _(target: Target) -> bool:
    """As above, and as another program."""
    _stay(target, lambda: os.execv("/bin/sh", ["sh", "-c", "while :; do sleep 60; done", target.marker]))
    return False


def _stay(target: Target, go_on: Callable[[], object]) -> None:
    if os.fork() != 0:
        return
    try:
        os.setsid()
        if os.fork() == 0:
            signal.alarm(0)
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            _libc.prctl(_PR_SET_NAME, target.process_name.encode(), 0, 0, 0)
            while True:
                go_on()
    finally:
        os._exit(0)
