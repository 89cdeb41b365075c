"""Landlock: files by allow-list for this process and all it starts, by the rights that this kernel knows."""

from __future__ import annotations

import os
import stat
import struct

from foretell.kernels.walls.syscalls import PR_SET_NO_NEW_PRIVS, prctl, syscall

MYPY = False
if MYPY:
    from collections.abc import Iterable

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK, _REFER, _TRUNCATE, _IOCTL_DEV = 1 << 6, 1 << 11, 1 << 13, 1 << 14, 1 << 15
_FIRST_RIGHTS = (1 << 13) - 1
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_TCP, _SCOPES = 0b11, 0b11  # binding and connecting; abstract sockets and signals
SCOPES_SIGNALS = 6  # the version since which signals reach no process outside


def version() -> int:
    """The kernel's version of Landlock; 0 where there is none."""
    try:
        return syscall(_CREATE, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def restrict(
    readable: Iterable[str], writable: Iterable[str], devices: Iterable[str], gpus: Iterable[str] = ()
) -> None:
    """Allow reading and running below `readable`, everything but making devices below `writable`, reading and writing
    the `devices`, and controlling the `gpus` too; nothing else, and no TCP. Paths that are not there are passed over.
    """
    abi = version()
    handled = _FIRST_RIGHTS
    for since, right in ((2, _REFER), (3, _TRUNCATE), (5, _IOCTL_DEV)):
        handled |= right if abi >= since else 0
    attributes = struct.pack("=QQQ", handled, _TCP, _SCOPES)[: 8 if abi < 4 else 16 if abi < SCOPES_SIGNALS else 24]
    ruleset = syscall(_CREATE, attributes, len(attributes), 0)
    try:
        write = handled & ~(_MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV)
        use = _READ_FILE | _WRITE_FILE
        for paths, rights in ((readable, _READ), (writable, write), (devices, use), (gpus, use | _IOCTL_DEV)):
            for path in paths:
                _allow(ruleset, path, rights & handled)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        syscall(_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _OF_FILES
        syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)
