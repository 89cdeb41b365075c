"""seccomp: the system calls that foreign code is refused, whatever else walls it in.

A list of what is denied, because compilers and Python need most of the rest; files are Landlock's and the mounts'
business. Where other processes and files can be named, if not opened, for lack of namespaces, more is denied.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from foretell.kernels.walls.syscalls import (
    MACHINE,
    PR_SET_NO_NEW_PRIVS,
    PR_SET_SECCOMP,
    SECCOMP_MODE_FILTER,
    prctl,
)

MYPY = False
if MYPY:
    from collections.abc import Iterable

# Numbers on x86_64 and on aarch64, None where there is no such call.
_CALLS: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198), "socketpair": (53, 199), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "kcmp": (312, 272), "pidfd_getfd": (438, 438), "pidfd_send_signal": (424, 424),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "open_tree": (428, 428),
    "move_mount": (429, 429), "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432),
    "fspick": (433, 433), "mount_setattr": (442, 442), "open_tree_attr": (467, 467), "unshare": (272, 97),
    "setns": (308, 268), "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60),
    "quotactl_fd": (443, 443), "syslog": (103, 116), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "clock_adjtime": (305, 266), "adjtimex": (159, 171), "sethostname": (170, 161), "setdomainname": (171, 162),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "lookup_dcookie": (212, 18), "vhangup": (153, 58), "nfsservctl": (180, 42),
    "setsid": (112, 157), "setpgid": (109, 154), "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195),
    "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186),
    "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187), "mq_open": (240, 180), "mq_unlink": (241, 181),
    "fanotify_init": (300, 262), "fanotify_mark": (301, 263), "inotify_add_watch": (254, 27),
    "migrate_pages": (256, 238), "move_pages": (279, 239), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "prlimit64": (302, 261), "sched_setaffinity": (203, 122),
    "sched_setscheduler": (144, 119), "sched_setparam": (142, 118), "sched_setattr": (314, 274),
    "setpriority": (141, 140), "ioprio_set": (251, 30), "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "clone": (56, 220), "clone3": (435, 435),
    "chmod": (90, None), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, None), "lchown": (94, None),
    "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None), "futimesat": (261, None),
    "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "setxattrat": (463, 463), "removexattrat": (466, 466), "file_setattr": (469, 469),
    "truncate": (76, 45), "fchmod": (91, 52), "fchown": (93, 55), "fsetxattr": (190, 7), "fremovexattr": (199, 16),
    "fcntl": (72, 25), "ioctl": (16, 29), "connect": (42, 203), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "mmap": (9, 222), "flock": (73, 32), "vmsplice": (278, 75), "tee": (276, 77),
    "landlock_create_ruleset": (444, 444), "landlock_add_rule": (445, 445), "landlock_restrict_self": (446, 446),
    "io_setup": (206, 0), "inotify_init": (253, None), "inotify_init1": (294, 26),
}  # fmt: skip
_ARCHITECTURES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}

# To processes that are named: without a namespace of processes these may be the user's own.
_SCHEDULING = frozenset({"sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr"})
_SIGNALS = frozenset({"kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo"})
_OF_PROCESSES = _SCHEDULING | _SIGNALS | {"setpriority", "ioprio_set"}
# On files that are named, or opened for reading alone, which Landlock lets pass: their owner may change them. Linkers
# and copying tools want to hear that it went well, so they are told so; not of times, since who hears that those were
# set believes that the file is there.
_TIMES = frozenset({"utime", "utimes", "futimesat", "utimensat"})
_OF_NAMED_FILES = frozenset({
    "chmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchownat", "utime", "utimes", "futimesat", "utimensat",
    "setxattr", "lsetxattr", "removexattr", "lremovexattr", "setxattrat", "removexattrat", "file_setattr", "truncate",
    "fchmod", "fchown", "fsetxattr", "fremovexattr",
})  # fmt: skip

# F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW, and flock: a lock on a file that may only be read keeps others waiting.
_LOCKS = (6, 7, 37, 38)

# Memory that belongs to no process once it is unmapped, so that nobody can count it. CUDA's driver wants some.
_UNCOUNTED = frozenset({"memfd_create", "memfd_secret", "mmap"})

_NEW_NAMESPACES = 0x7E020000
_AF_UNIX, _SOCK_STREAM, _SOCK_SEQPACKET, _SOCKET_KIND = 1, 1, 5, 0xF
_SHARED_AND_ANONYMOUS = 0x21
# F_SETOWN, F_SETSIG, F_SETOWN_EX: a signal to whom one likes; F_SETLEASE: whoever wants to write the file waits.
_OWNERS_AND_LEASES = (8, 10, 15, 1024)
# TIOCSTI, TIOCLINUX, TIOCSCTTY, FIOSETOWN, SIOCSPGRP; then FS_IOC_SETFLAGS, FS_IOC_SETVERSION, FS_IOC_FSSETXATTR and
# FS_IOC_ENABLE_VERITY, with which its owner changes a file that is open for reading alone.
_TERMINAL_OWNERS_AND_FLAGS = (
    0x5412, 0x541C, 0x540E, 0x8901, 0x8902, 0x40086602, 0x40087602, 0x401C5820, 0x40806685,
)  # fmt: skip

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN, _AND = 0x20, 0x15, 0x35, 0x45, 0x06, 0x54
_KILL, _ERRNO, _ALLOW = 0x80000000, 0x00050000, 0x7FFF0000
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_X32 = 0x40000000  # the same machine's other numbering, which would slip past the numbers above

_Line = tuple[int, int, int, int]


def is_supported() -> bool:
    return MACHINE in _ARCHITECTURES


def install(own_files: bool, own_processes: bool, scoped: bool, own_pid: int, gpu: bool = False) -> None:
    """Refuse those calls from now on, to this process and all it starts.

    Args:
        own_files: Whether only files of its own can be named at all.
        own_processes: Whether only processes of its own can be named at all.
        scoped: Whether Landlock lets no signal reach others.
        own_pid: The process that may be signalled if neither holds.
        gpu: Whether CUDA is used: its driver gives up if it cannot make a local socket. Such sockets connect to nobody.
    """
    lines = program(own_files, own_processes, scoped, own_pid, gpu)
    code = b"".join(struct.pack("=HBBI", *line) for line in lines)
    buffer = ctypes.create_string_buffer(code)
    header = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(buffer)))
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(header))


def program(
    own_files: bool, own_processes: bool, scoped: bool, own_pid: int, gpu: bool = False, machine: str = MACHINE
) -> list[_Line]:
    """The filter's lines: operation, jump if true, jump if false, operand."""
    architecture, column = _ARCHITECTURES[machine]
    numbers = {name: both[column] for name, both in _CALLS.items()}
    lines: list[_Line] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    if machine == "x86_64":
        lines += [(_AT_LEAST, 0, 1, _X32), (_RETURN, 0, 0, _KILL)]
    for name, number in numbers.items():
        allowed = (
            (own_processes and name in _OF_PROCESSES)
            or (scoped and name in _SIGNALS)
            or (own_files and name in _OF_NAMED_FILES)
            or (gpu and name in _UNCOUNTED)
        )
        if number is not None and not allowed:
            block = _LOCAL_SOCKETS if gpu and name == "socket" else _block(name, own_pid)
            lines += [(_EQUAL, 0, len(block), number), *block]
    return [*lines, (_RETURN, 0, 0, _ALLOW)]


# A socket of the machine itself, alone or a pair, and none of datagrams: those need no connection to reach somebody;
# one of a pair can be sent elsewhere all the same.
_LOCAL_SOCKETS: list[_Line] = [
    (_LOAD, 0, 0, _ARGUMENTS_AT),
    (_EQUAL, 0, 4, _AF_UNIX),
    (_LOAD, 0, 0, _ARGUMENTS_AT + 8),
    (_AND, 0, 0, _SOCKET_KIND),
    (_EQUAL, 2, 0, _SOCK_STREAM),
    (_EQUAL, 1, 0, _SOCK_SEQPACKET),
    (_RETURN, 0, 0, _ERRNO | errno.EACCES),
    (_RETURN, 0, 0, _ALLOW),
]


def _block(name: str, own_pid: int) -> list[_Line]:
    """What happens at that call, ending in a return."""
    match name:
        case "socketpair":
            return _LOCAL_SOCKETS
        case "memfd_create" | "memfd_secret":
            return [_error(errno.ENOSYS)]
        case "mmap":
            return [
                (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * 3),
                (_AND, 0, 0, _SHARED_AND_ANONYMOUS),
                (_EQUAL, 0, 1, _SHARED_AND_ANONYMOUS),
                _error(errno.EPERM),
                _allowed(),
            ]
        case "clone":
            return [(_LOAD, 0, 0, _ARGUMENTS_AT), (_ANY_BIT, 0, 1, _NEW_NAMESPACES), _error(errno.EPERM), _allowed()]
        case "clone3":
            return [_error(errno.ENOSYS)]  # the C library then takes the one whose flags can be read
        case "setsid" | "setpgid":
            return [_error(0)]  # said to be done: all stay in the group that is killed in the end
        case "prlimit64":
            return _only(0, (0,))
        case "fcntl":
            return _but(1, _OWNERS_AND_LEASES, _LOCKS)
        case "flock":
            return [_error(0)]  # said to be done: whoever may see the file is alone with it
        case "ioctl":
            return _but(1, _TERMINAL_OWNERS_AND_FLAGS)
        case "kill" | "tgkill":
            return _only(0, (own_pid, 0) if name == "kill" else (own_pid,))
        case _ if name in _SCHEDULING:
            return _only(0, (0,))
        case _ if name in _OF_NAMED_FILES - _TIMES:
            return [_error(0)]
    return [_error(errno.EACCES if name == "socket" else errno.EPERM)]


def _only(argument: int, values: Iterable[int]) -> list[_Line]:
    """Allowed if the argument (its lower half) is one of the values."""
    chosen = list(values)
    lines: list[_Line] = [(_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument)]
    for left, value in zip(range(len(chosen), 0, -1), chosen, strict=True):
        lines.append((_EQUAL, left, 0, value))
    return [*lines, _error(errno.EPERM), _allowed()]


def _but(argument: int, values: Iterable[int], said_to_be_done: Iterable[int] = ()) -> list[_Line]:
    """Allowed unless the argument (its lower half) is one of the values; some others are only said to be done."""
    refused, feigned = list(values), list(said_to_be_done)
    lines: list[_Line] = [(_LOAD, 0, 0, _ARGUMENTS_AT + 8 * argument)]
    chosen = [*refused, *feigned]
    for left, value in zip(range(len(chosen), 0, -1), chosen, strict=True):
        lines.append((_EQUAL, left if value in refused else left + 1, 0, value))
    return [*lines, _allowed(), _error(errno.EPERM), _error(0)]


def _error(number: int) -> _Line:
    return (_RETURN, 0, 0, _ERRNO | number)


def _allowed() -> _Line:
    return (_RETURN, 0, 0, _ALLOW)
