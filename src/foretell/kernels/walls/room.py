"""How much room the files of a confined process take where nothing else bounds it, and their removal.

The folder is in the hands of foreign code: names may be of any depth and length, files may have lost their names, and
folders may not be meant to be listed. So it is walked by descriptors, and nothing here recurses.
"""

from __future__ import annotations

import os
import stat

from foretell.kernels.walls.namespaces import MOST_FILES

MYPY = False
if MYPY:
    from collections.abc import Iterable, Iterator

_BLOCK_BYTES = 512  # of `st_blocks`
MOST_DEPTH = 64  # of folders within folders; each takes a descriptor while it is walked
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DELETED = b" (deleted)"


def fits(folder: str, most_bytes: int, pids: Iterable[int] = ()) -> bool:
    """Whether the files below a folder, and those without a name that processes hold, take no more than that.

    What cannot be listed, is too deep, or is too many files does not fit.
    """
    count, size_bytes = 0, sum(_nameless_bytes(pid) for pid in pids)
    try:
        top = os.open(folder, _FOLDER)
    except OSError:
        return size_bytes <= most_bytes
    waiting = [(top, iter(os.listdir(top)))]
    try:
        while waiting:
            descriptor, names = waiting[-1]
            name = next(names, None)
            if name is None:
                os.close(waiting.pop()[0])
                continue
            try:
                found = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            except FileNotFoundError:
                continue  # it went away meanwhile
            count += 1
            size_bytes += found.st_blocks * _BLOCK_BYTES
            if count > MOST_FILES or size_bytes > most_bytes:
                return False
            if stat.S_ISDIR(found.st_mode):
                inner = _opened(name, descriptor)
                if inner is None:
                    continue
                waiting.append((inner, iter(os.listdir(inner))))
                if len(waiting) > MOST_DEPTH:
                    return False
        return size_bytes <= most_bytes
    except OSError:
        return False  # a folder that may not be listed
    finally:
        for descriptor, _ in waiting:
            os.close(descriptor)


def _opened(name: str, above: int) -> int | None:
    """A descriptor of a folder; None if it went away meanwhile. Raises OSError if it may not be listed."""
    try:
        return os.open(name, _FOLDER, dir_fd=above)
    except (FileNotFoundError, NotADirectoryError):
        return None


def _nameless_bytes(pid: int) -> int:
    """What files that have lost their names take, as far as the process has them open or mapped; each counts once."""
    found: dict[tuple[int, int], int] = {}
    try:
        for number in os.listdir(f"/proc/{pid}/fd"):
            try:
                file = os.stat(f"/proc/{pid}/fd/{number}")
            except OSError:
                continue  # closed meanwhile
            if stat.S_ISREG(file.st_mode) and file.st_nlink == 0:
                found[file.st_dev, file.st_ino] = file.st_blocks * _BLOCK_BYTES
        with open(f"/proc/{pid}/maps", "rb") as maps:
            for line in maps:
                fields = line.split(None, 5)
                if len(fields) == 6 and fields[5].rstrip(b"\n").endswith(_DELETED):
                    major, minor = (int(part, 16) for part in fields[3].split(b":"))
                    start, end = (int(part, 16) for part in fields[0].split(b"-"))
                    key = (os.makedev(major, minor), int(fields[4]))
                    found[key] = max(found.get(key, 0), int(fields[2], 16) + end - start)
    except OSError:
        return sum(found.values())  # it ended meanwhile
    return sum(found.values())


def files_below(folder: str, most_depth: int = MOST_DEPTH) -> Iterator[str]:
    """Paths of what is not a folder, no deeper than that; links to folders are not followed."""
    waiting = [(folder, 0)]
    while waiting:
        parent, depth = waiting.pop()
        try:
            with os.scandir(parent) as entries:
                for entry in entries:
                    if not entry.is_dir(follow_symlinks=False):
                        yield entry.path
                    elif depth < most_depth:
                        waiting.append((entry.path, depth + 1))
        except OSError:
            continue


def remove(folder: str) -> None:
    """Remove a folder with all that is in it, of any depth; what cannot be removed stays.

    Folders within folders are moved up before they are emptied, so that two descriptors suffice.
    """
    try:
        top = os.open(folder, _FOLDER)
    except OSError:
        return
    try:
        number = 0
        while names := _listed(top):
            before = number
            for name in names:
                number = _emptied(top, name, number)
            if number == before and len(_listed(top)) == len(names):
                break  # nothing can be removed
    finally:
        os.close(top)
    try:
        os.rmdir(folder)
    except OSError:
        return


def _listed(descriptor: int) -> list[str]:
    try:
        return os.listdir(descriptor)
    except OSError:
        return []


def _emptied(top: int, name: str, number: int) -> int:
    """Remove an entry of `top`; folders in it are moved beside it, by numbers from `number` on. Returns the next."""
    try:
        os.unlink(name, dir_fd=top)
        return number
    except FileNotFoundError:
        return number
    except OSError:
        pass  # a folder
    try:
        if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
            return number
        os.chmod(name, 0o700, dir_fd=top)
        inner = os.open(name, _FOLDER, dir_fd=top)
    except OSError:
        return number
    try:
        for each in _listed(inner):
            try:
                os.unlink(each, dir_fd=inner)
            except OSError:
                number = _moved_up(inner, each, top, number)
    finally:
        os.close(inner)
    try:
        os.rmdir(name, dir_fd=top)
    except OSError:
        return number
    return number


def _moved_up(inner: int, name: str, top: int, number: int) -> int:
    try:
        os.chmod(name, 0o700, dir_fd=inner)  # to move a folder is to write it
    except OSError:
        return number
    while True:
        try:
            os.mkdir(f".removed-{number}", dir_fd=top)
            os.rename(name, f".removed-{number}", src_dir_fd=inner, dst_dir_fd=top)
            return number + 1
        except FileExistsError:
            number += 1
        except OSError:
            return number
