"""Namespaces of one's own: users, processes, mounts, network, IPC, host name, control groups.

What bubblewrap does, for where it is not installed: the file system is a new one in memory with the allowed paths bound
into it, read-only but for those that may be written.
"""

from __future__ import annotations

import os

from foretell.kernels.walls import syscalls as sys_

MYPY = False
if MYPY:
    from collections.abc import Iterable

_ALL = (
    sys_.CLONE_NEWNS
    | sys_.CLONE_NEWPID
    | sys_.CLONE_NEWNET
    | sys_.CLONE_NEWIPC
    | sys_.CLONE_NEWUTS
    | sys_.CLONE_NEWCGROUP
)
_READ_ONLY = sys_.MS_RDONLY | sys_.MS_NOSUID | sys_.MS_NODEV
_DEVICES = ("/dev/null", "/dev/full", "/dev/random", "/dev/urandom")
_ZERO = "/dev/zero"  # mapped by several it is memory that belongs to nobody: only for CUDA's driver
_LINKS = {"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}
# Where a job has its own folder in memory: a place at which nobody keeps files, since it hides what lies below it.
JOB_SCRATCH = "/foretell-scratch"
_BASES = ("/tmp", "/run", "/mnt")
MOST_FILES = 1 << 17  # in a folder in memory: the kernel's own records of them count for no limit on its size


def enter() -> None:
    """Leave the caller's namespaces; the next process that is forked is the first one of the new process namespace.

    Raises OSError if neither a user namespace nor, as root, the others alone may be made.
    """
    user, group = os.getuid(), os.getgid()
    try:
        sys_.unshare(_ALL | sys_.CLONE_NEWUSER)
    except OSError:
        sys_.unshare(_ALL)  # root may do without
        return
    map_user(user, group)


def map_user(user: int, group: int) -> None:
    """Be the same user in the new user namespace as outside, and nobody else."""
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")


def devices(gpus: Iterable[str]) -> tuple[str, ...]:
    """The devices that may be used beside these GPUs."""
    return (*_DEVICES, _ZERO) if tuple(gpus) else _DEVICES


def build_root(readable: Iterable[str], writable: Iterable[str], gpus: Iterable[str], scratch_bytes: int) -> None:
    """Make a file system of these paths and change into it. Call in the first process of the new namespaces.

    `/tmp` and `/dev/shm` are empty ones of at most `scratch_bytes` each; there are the harmless devices and `gpus`, and
    `/proc` shows the new namespace alone where the kernel lets it be mounted.
    """
    sys_.mount(None, "/", None, sys_.MS_REC | sys_.MS_PRIVATE)
    base = next(path for path in _BASES if os.path.isdir(path))
    sys_.mount("tmpfs", base, "tmpfs", sys_.MS_NOSUID | sys_.MS_NODEV, "mode=0755")
    os.mkdir(f"{base}/old")
    os.mkdir(f"{base}/new")
    sys_.pivot_root(base, f"{base}/old")
    os.chdir("/")
    sys_.mount("/new", "/new", None, sys_.MS_BIND)
    os.makedirs("/new" + JOB_SCRATCH)
    for path in ("/tmp", "/dev/shm"):
        os.makedirs("/new" + path)
        mount_scratch("/new" + path, scratch_bytes)
    for path in dict.fromkeys(readable):
        _bind(path, _READ_ONLY)
    for path in writable:
        _bind(path, sys_.MS_NOSUID | sys_.MS_NODEV)
    _make_devices((*devices(gpus), *gpus))
    _make_accounts()
    os.makedirs("/new/proc", exist_ok=True)
    mount_proc("/new/proc")
    os.chdir("/new")
    sys_.pivot_root(".", ".")
    sys_.unmount(".")  # the base, which lies over the new root
    os.chdir("/")
    sys_.restrict_mount("/", _READ_ONLY, recursive=False)


def mount_scratch(target: str, most_bytes: int) -> None:
    """An empty folder in memory, of limited size."""
    options = f"mode=0700,size={most_bytes},nr_inodes={MOST_FILES}"
    sys_.mount("tmpfs", target, "tmpfs", sys_.MS_NOSUID | sys_.MS_NODEV, options)


def mount_proc(target: str, writable: bool = False) -> bool:
    """A `/proc` of this process namespace; False where the kernel does not allow one.

    Read-only matters, unless Landlock sees to it: files below `/proc/sys` are writable to user 0 even without powers.
    """
    flags = sys_.MS_NOSUID | sys_.MS_NODEV | sys_.MS_NOEXEC
    try:
        sys_.mount("proc", target, "proc", flags)
    except OSError:
        return False
    if not writable:
        sys_.restrict_mount(target, sys_.MS_RDONLY | flags)
    return True


def _bind(path: str, attributes: int) -> None:
    """Show a path of the old root at its place in the new one; links on the way and at its end are made again."""
    source = "/old" + path
    if os.path.islink(source):
        _link(path, os.readlink(source))
        return
    target = "/new" + path
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif os.path.exists(source):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o444))
    else:
        return
    sys_.mount(source, target, None, sys_.MS_BIND | sys_.MS_REC)
    sys_.restrict_mount(target, attributes)


def _link(path: str, target: str) -> None:
    os.makedirs(os.path.dirname("/new" + path), exist_ok=True)
    if not os.path.lexists("/new" + path):
        os.symlink(target, "/new" + path)


def _make_devices(devices: Iterable[str]) -> None:
    for path in devices:
        if os.path.exists("/old" + path):
            os.makedirs(os.path.dirname("/new" + path), exist_ok=True)
            os.close(os.open("/new" + path, os.O_CREAT | os.O_WRONLY, 0o666))
            sys_.mount("/old" + path, "/new" + path, None, sys_.MS_BIND)
    for name, target in _LINKS.items():
        _link(f"/dev/{name}", target)


def _make_accounts() -> None:
    """One account, so that programs which ask for their own name get an answer."""
    os.makedirs("/new/etc", exist_ok=True)
    user, group = os.getuid(), os.getgid()
    _write("/new/etc/passwd", f"foretell:x:{user}:{group}::/tmp:/bin/sh\n")
    _write("/new/etc/group", f"foretell:x:{group}:\n")


def _write(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
