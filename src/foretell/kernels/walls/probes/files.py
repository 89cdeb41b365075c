"""Probes of files: reading what is the user's, changing what is not the candidate's."""

from __future__ import annotations

import ctypes
import glob
import os
import stat
import sys
import tempfile

import foretell
from foretell.kernels.walls import syscalls
from foretell.kernels.walls.probes.probe import Target, probe


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(1 << 20)


def _has_secret(path: str, target: Target) -> bool:
    return target.secret.encode() in _read(path)


@probe("read a file of the home folder")
def _(target: Target) -> bool:
    return _has_secret(target.secret_file, target)


@probe("list the home folder")
def _(target: Target) -> bool:
    return bool(os.listdir(target.home))


@probe("read the system's accounts")
def _(target: Target) -> bool:
    return target.account.encode() in _read("/etc/passwd")


@probe("read the system's passwords")
def _(target: Target) -> bool:
    return bool(_read("/etc/shadow"))


@probe("read another user's home")
def _(target: Target) -> bool:
    known = {sys.prefix, sys.base_prefix}
    return any(
        os.path.isfile(path) and bool(_read(path))
        for path in glob.glob("/home/*/.*") + glob.glob("/root/.*")
        if not any(prefix.startswith(path) for prefix in known)
    )


@probe("read Foretell's own records of measurements")
def _(target: Target) -> bool:
    return any(bool(_read(path)) for path in (f"{target.cache}/catalogue.sqlite", f"{target.cache}/secret"))


@probe("list the user's working folder")
def _(target: Target) -> bool:
    return target.directory_entry in os.listdir(target.directory)


@probe("follow a symbolic link out")
def _(target: Target) -> bool:
    link = f"{tempfile.mkdtemp()}/link"
    os.symlink(target.secret_file, link)
    return _has_secret(link, target)


@probe("make a hard link to a file outside")
def _(target: Target) -> bool:
    link = f"{tempfile.mkdtemp()}/link"
    os.link(target.secret_file, link)
    return _has_secret(link, target)


@probe("go up from an inherited folder")
def _(target: Target) -> bool:
    up = os.open("../" * 40 + target.secret_file, os.O_RDONLY)
    return target.secret.encode() in os.read(up, 1 << 16)


@probe("read through the root of another process")
def _(target: Target) -> bool:
    for pid in (target.decoy_pid, os.getppid(), 1):
        try:
            if _has_secret(f"/proc/{pid}/root{target.secret_file}", target):
                return True
        except OSError:
            continue
    return False


@probe("open a file by its handle")
def _(target: Target) -> bool:
    libc = ctypes.CDLL(None, use_errno=True)
    handle, mount = ctypes.create_string_buffer(256), ctypes.c_int()
    ctypes.cast(handle, ctypes.POINTER(ctypes.c_uint))[0] = 128
    known = libc.name_to_handle_at(-100, os.fsencode(target.secret_file), handle, ctypes.byref(mount), 0)
    return bool(known == 0)


@probe("append to a file of the home folder")
def _(target: Target) -> bool:
    with open(target.secret_file, "ab") as file:
        file.write(b"changed")
    return True


@probe("make a file in the home folder")
def _(target: Target) -> bool:
    with open(f"{target.home}/{target.marker}", "w") as file:
        file.write("made")
    return True


@probe("remove a file of the home folder")
def _(target: Target) -> bool:
    os.unlink(target.secret_file)
    return True


@probe("rename a file of the home folder")
def _(target: Target) -> bool:
    os.rename(target.secret_file, f"{target.home}/{target.marker}")
    return True


@probe("change the rights of a file of the home folder")
def _(target: Target) -> bool:
    os.chmod(target.secret_file, 0o777)
    return stat.S_IMODE(os.stat(target.secret_file).st_mode) == 0o777


@probe("change the times of a file of the home folder")
def _(target: Target) -> bool:
    os.utime(target.secret_file, (1, 1))
    return os.stat(target.secret_file).st_mtime == 1


@probe("cut a file of the home folder short")
def _(target: Target) -> bool:
    os.truncate(target.secret_file, 0)
    return os.stat(target.secret_file).st_size == 0


@probe("set an attribute of a file of the home folder")
def _(target: Target) -> bool:
    os.setxattr(target.secret_file, "user.foretell", b"1")
    return os.getxattr(target.secret_file, "user.foretell") == b"1"


@probe("change Foretell's own code")
def _(target: Target) -> bool:
    with open(str(foretell.__file__), "ab"):
        return True


@probe("add a package to this Python")
def _(target: Target) -> bool:
    folders = [path for path in sys.path if os.path.isdir(path) and not path.startswith(tempfile.gettempdir())]
    for folder in folders:
        try:
            with open(f"{folder}/{target.marker}.py", "x"):
                os.unlink(f"{folder}/{target.marker}.py")
                return True
        except OSError:
            continue
    return False


@probe("change what Foretell trusts in its cache")
def _(target: Target) -> bool:
    folder = os.environ.get("FORETELL_TRUSTED", f"{target.cache}/trusted")
    with open(f"{folder}/{target.marker}", "x"):
        os.unlink(f"{folder}/{target.marker}")
        return True


@probe("leave a file in the temporary folders of all")
def _(target: Target) -> bool:
    """In the sandbox these are its own, or cannot be written; which of them the decoys' side sees."""
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run"):
        try:
            with open(f"{folder}/{target.marker}", "x") as file:
                file.write("left")
        except OSError:
            continue
    return False


@probe("change a setting of the kernel")
def _(target: Target) -> bool:
    for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/sys/kernel/uevent_helper"):
        try:
            with open(path, "r+b"):
                return True
        except OSError:
            continue
    return False


@probe("open the machine's memory or disks")
def _(target: Target) -> bool:
    devices = ("/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/nvme0n1", "/dev/kvm", "/dev/fuse")
    for path in devices:
        try:
            os.close(os.open(path, os.O_RDONLY))
            return True
        except OSError:
            continue
    return False


@probe("open a GPU that it was not given")
def _(target: Target) -> bool:
    if target.gpu:
        return False
    for path in glob.glob("/dev/nvidia*"):
        if not os.path.isdir(path):
            os.close(os.open(path, os.O_RDONLY))
            return True
    return False


@probe("make a device")
def _(target: Target) -> bool:
    path = f"{tempfile.mkdtemp()}/zero"
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 1))
    os.close(os.open(path, os.O_RDONLY))
    return True


@probe("mount a file system")
def _(target: Target) -> bool:
    place = tempfile.mkdtemp()
    syscalls.mount("tmpfs", place, "tmpfs", 0)
    syscalls.unmount(place)
    return True


@probe("leave the root folder")
def _(target: Target) -> bool:
    os.chroot(tempfile.mkdtemp())
    return True
