"""System calls that Python has no function for, by way of the C library; OSError where the kernel refuses."""

from __future__ import annotations

import ctypes
import os
import struct

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 0x1, 0x2, 0x4, 0x8
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MNT_DETACH = 2
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_SET_NO_NEW_PRIVS = 1, 22, 24, 28, 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
SECCOMP_MODE_FILTER = 2

MACHINE = os.uname().machine
_NUMBERS = {"x86_64": {"pivot_root": 155, "capset": 126}, "aarch64": {"pivot_root": 41, "capset": 91}}
_MOUNT_SETATTR, _AT_FDCWD, _AT_RECURSIVE = 442, -100, 0x8000
_CAPABILITY_VERSION = 0x20080522
_CAPABILITIES = 64
_NO_ROOT = 0xEF  # user 0 has no powers of its own, and nothing can be raised again; all of it locked

_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def syscall(number: int, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Any system call by number; integers are passed as longs, bytes and buffers by address."""
    passed = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    return _checked(_libc.syscall(ctypes.c_long(number), *passed))


def unshare(flags: int) -> None:
    _checked(_libc.unshare(ctypes.c_int(flags)))


def setns(descriptor: int, kind: int) -> None:
    _checked(_libc.setns(descriptor, kind))


def mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _checked(_libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]))


def restrict_mount(target: str, attributes: int, recursive: bool = True) -> None:
    """Add attributes (the MS_ constants of read-only, no set-user-id, no devices, no execution) to mounts."""
    flags = _AT_RECURSIVE if recursive else 0
    settings = struct.pack("=QQQQ", attributes, 0, 0, 0)
    syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(target), flags, settings, len(settings))


def unmount(target: str) -> None:
    _checked(_libc.umount2(os.fsencode(target), MNT_DETACH))


def pivot_root(new: str, old: str) -> None:
    syscall(_NUMBERS[MACHINE]["pivot_root"], os.fsencode(new), os.fsencode(old))


def prctl(option: int, *arguments: int) -> int:
    padded = [ctypes.c_ulong(each) for each in (*arguments, 0, 0, 0, 0)[:4]]
    return _checked(_libc.prctl(ctypes.c_int(option), *padded))


def drop_capabilities() -> None:
    """Give up every capability for good, and with it the powers of user 0."""
    for capability in range(_CAPABILITIES):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break  # past the last one, or without the right to: then none is held
    for option, value in ((PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL), (PR_SET_SECUREBITS, _NO_ROOT)):
        try:
            prctl(option, value)
        except OSError:
            continue  # only a process with powers may lock them away
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    syscall(_NUMBERS[MACHINE]["capset"], header, bytes(24))
