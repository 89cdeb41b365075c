"""Probes of the kernel's doors: what gives powers, or reaches code of the kernel that foreign code need not reach."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct
import tempfile

from foretell.kernels.walls import syscalls
from foretell.kernels.walls.probes.probe import Target, probe

_libc = ctypes.CDLL(None, use_errno=True)
_X86, _ARM = {
    "keyctl": 250, "add_key": 248, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323, "init_module": 175,
    "kexec_load": 246, "syslog": 103, "settimeofday": 164, "sethostname": 170, "unshare": 272, "inotify_add_watch": 254,
    "quotactl": 179, "swapon": 167, "acct": 163,
}, {
    "keyctl": 219, "add_key": 217, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282, "init_module": 105,
    "kexec_load": 104, "syslog": 116, "settimeofday": 170, "sethostname": 161, "unshare": 97, "inotify_add_watch": 27,
    "quotactl": 60, "swapon": 224, "acct": 89,
}  # fmt: skip
_NUMBERS = _ARM if platform.machine() == "aarch64" else _X86
_EPERM, _ENOSYS = 1, 38
_IO_URING_SETUP = 425


def _reached(number: int, *arguments: int | bytes) -> bool:
    """Whether a system call got further than the filter: anything but 'not permitted' is an answer of its own code."""
    passed = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    result = _libc.syscall(ctypes.c_long(number), *passed)
    return bool(result >= 0) or ctypes.get_errno() not in (_EPERM, _ENOSYS)


@probe("make namespaces of its own")
def _(target: Target) -> bool:
    syscalls.unshare(syscalls.CLONE_NEWUSER)
    return True


@probe("make namespaces while starting a process")
def _(target: Target) -> bool:
    number = 220 if platform.machine() == "aarch64" else 56
    child = _libc.syscall(ctypes.c_long(number), ctypes.c_long(syscalls.CLONE_NEWUSER | 17), 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    return bool(child > 0)


@probe("enter the namespaces of another process")
def _(target: Target) -> bool:
    for pid in (target.decoy_pid, os.getppid(), 1):
        try:
            syscalls.setns(os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY), 0)
            return True
        except OSError:
            continue
    return False


@probe("use the kernel's keys")
def _(target: Target) -> bool:
    return _reached(_NUMBERS["keyctl"], 0, -3, 0) or _reached(_NUMBERS["add_key"], b"user\0", b"x\0", b"x", 1, -3)


@probe("load a program into the kernel")
def _(target: Target) -> bool:
    return _reached(_NUMBERS["bpf"], 0, bytes(120), 120)


@probe("watch the processors' counters")
def _(target: Target) -> bool:
    return _reached(_NUMBERS["perf_event_open"], struct.pack("=II", 1, 112) + bytes(104), 0, -1, -1, 0)


@probe("handle page faults of the kernel")
def _(target: Target) -> bool:
    return _reached(_NUMBERS["userfaultfd"], 0)


@probe("queue system calls past the filter")
def _(target: Target) -> bool:
    return _reached(_IO_URING_SETUP, 4, bytes(120))


@probe("load a module into the kernel")
def _(target: Target) -> bool:
    return _reached(_NUMBERS["init_module"], b"", 0, b"\0")


@probe("load another kernel")
def _(target: Target) -> bool:
    return _reached(_NUMBERS["kexec_load"], 0, 0, b"", 0xFFFF)


@probe("read the kernel's log")
def _(target: Target) -> bool:
    return _reached(_NUMBERS["syslog"], 3, bytes(64), 64)


@probe("set the clock")
def _(target: Target) -> bool:
    return _reached(_NUMBERS["settimeofday"], struct.pack("=qq", 0, -1), 0)  # no time, so that nothing is set


@probe("rename the machine")
def _(target: Target) -> bool:
    return _reached(_NUMBERS["sethostname"], b"x", -1)  # no name, so that nothing is set


@probe("watch what happens to files")
def _(target: Target) -> bool:
    watcher = _libc.inotify_init()
    return _reached(_NUMBERS["inotify_add_watch"], watcher, os.fsencode(target.home) + b"\0", 2)


@probe("account for processes, swap or set quotas")
def _(target: Target) -> bool:
    return any(_reached(_NUMBERS[name], b"/tmp/x\0", 0, 0, 0) for name in ("acct", "swapon", "quotactl"))


@probe("have powers")
def _(target: Target) -> bool:
    with open("/proc/self/status") as file:
        fields = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
    powers = [int(fields[name], 16) for name in ("CapEff", "CapPrm", "CapInh", "CapAmb")]
    return any(powers) or fields["NoNewPrivs"].strip() != "1" or fields["Seccomp"].strip() != "2"


@probe("become another user")
def _(target: Target) -> bool:
    os.setuid(0 if os.getuid() else 65534)
    return True


@probe("gain powers by a program of root's")
def _(target: Target) -> bool:
    """A set-user-id program runs as its caller: `su` and the like are of no use."""
    place = tempfile.mkdtemp()
    child = os.fork()
    if child == 0:
        os.execv("/bin/mount", ["mount", "-t", "tmpfs", "none", place])
    mounted = os.waitpid(child, 0)[1] == 0
    if mounted:
        syscalls.unmount(place)
    return mounted


@probe("use the 32-bit system calls")
def _(target: Target) -> bool:
    """`int 0x80` with the number of getpid there; the filter must end the process."""
    if platform.machine() != "x86_64":
        return False
    code = bytes.fromhex("b814000000cd80c3")
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    function = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
    return bool(function() > 0)


@probe("use the other numbering of system calls")
def _(target: Target) -> bool:
    if platform.machine() != "x86_64":
        return False
    return bool(_libc.syscall(ctypes.c_long(0x40000000 | 41), 2, 1, 0) >= 0)  # socket, by its x32 number
