"""Attacks by code that runs in the sandbox: programs that set `breach` if they got through.

Each is run with `T` (a `probes.Target`: decoys in a home, a process, sockets), `DATAGRAMS` (a service that takes
datagrams), `TOOL` (a file that may be read) and `OTHERS` (a folder that the supervisor may read and the job may not).
"""

# ruff: noqa: E501 - one line per program
from __future__ import annotations

PROGRAMS: dict[str, tuple[str, str]] = {
    # name: (class, program)
    "read a file in the home": ("read", "breach = T.secret in open(T.secret_file).read()"),
    "read it through /proc/PID/root": (
        "read",
        "breach = T.secret in open(f'/proc/{T.decoy_pid}/root{T.secret_file}').read()",
    ),
    "read another process's environment": (
        "read",
        "breach = T.secret.encode() in open(f'/proc/{T.decoy_pid}/environ', 'rb').read()",
    ),
    "read the parent's environment": (
        "read",
        "breach = b'FAKE_SECRET' in open(f'/proc/{os.getppid()}/environ', 'rb').read()",
    ),
    "find the caller's variables in memory": ("read", "breach = b'FAKE_SECRET' in open('/proc/self/environ', 'rb').read()"),
    "list the home": ("read", "breach = bool(os.listdir(T.home))"),
    "open a descriptor again for writing": ("write", "fd = os.open(TOOL, os.O_RDONLY); breach = os.open(f'/proc/self/fd/{fd}', os.O_RDWR) > 0"),
    "append to a file in the home": ("write", "open(T.secret_file, 'a').write('x'); breach = True"),
    "make a file in the home": ("write", "open(T.home + '/made', 'w'); breach = True"),
    "hard link to a readable file, then write": ("write", "os.link(TOOL, 'link'); open('link', 'a').write('x'); breach = True"),
    "fchmod of a file open for reading": ("write", "fd = os.open(TOOL, os.O_RDONLY); os.fchmod(fd, 0o666); breach = os.fstat(fd).st_mode & 0o777 == 0o666"),
    "fsetxattr of a file open for reading": ("write", "fd = os.open(TOOL, os.O_RDONLY); os.setxattr(fd, 'user.x', b'1'); breach = bool(os.listxattr(fd))"),
    "FS_IOC_SETFLAGS of a file open for reading": (
        "write",
        "fd = os.open(TOOL, os.O_RDONLY)\nflags = struct.unpack('l', fcntl.ioctl(fd, 0x80086601, bytes(8)))[0]\n"
        "fcntl.ioctl(fd, 0x40086602, struct.pack('l', flags | 0x80)); breach = True",
    ),
    "futimens of a file open for reading": ("write", "fd = os.open(TOOL, os.O_RDONLY); os.utime(fd, (1, 1)); breach = os.fstat(fd).st_mtime == 1"),
    "lease of a file, so that writers wait": ("write", "fd = os.open(TOOL, os.O_RDONLY); fcntl.fcntl(fd, 1024, fcntl.F_RDLCK); breach = True"),
    "a setting of the kernel": ("write", "open('/proc/sys/kernel/core_pattern', 'r+b'); breach = True"),
    "TCP": ("network", "s = socket.socket(); s.connect(('127.0.0.1', T.tcp_port)); breach = True"),
    "UDP": ("network", "s = socket.socket(type=socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', T.udp_port)); breach = True"),
    "a service by its file": ("network", "s = socket.socket(socket.AF_UNIX); s.connect(T.unix_path); breach = True"),
    "a service by an abstract name": ("network", "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + T.abstract_name); breach = True"),
    "datagram from one of a pair of sockets": ("network", "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); breach = a.sendto(b'x', DATAGRAMS) > 0"),
    "the same by SOCK_RAW": ("network", "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW); breach = a.sendto(b'x', DATAGRAMS) > 0"),
    "the same with a descriptor in it": (
        "network",
        "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack('i', 0))]\nbreach = a.sendmsg([b'x'], rights, 0, DATAGRAMS) > 0",
    ),
    "netlink": ("network", "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW); breach = True"),
    "io_uring": ("kernel", "breach = libc.syscall(425, 1, 0) >= 0"),
    "new user namespace": ("kernel", "breach = libc.unshare(0x10000000) == 0"),
    "ptrace the parent": ("kernel", "breach = libc.ptrace(16, os.getppid(), 0, 0) == 0"),
    "signal a process outside": ("processes", "os.kill(T.decoy_pid, 0); breach = True"),
    "signal the supervisor": ("processes", "os.kill(os.getppid(), 9); breach = True"),
    "slow a process outside down": ("processes", "os.setpriority(os.PRIO_PROCESS, T.decoy_pid, 19); breach = True"),
    "leave a process by a double fork": (
        "processes",
        "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.execv('/bin/sleep', [T.marker, '30'])\n"
        "    os._exit(0)\ntime.sleep(0.2); breach = False",
    ),
    "leave a stopped process": (
        "processes",
        "if os.fork() == 0:\n    libc.prctl(15, T.process_name.encode(), 0, 0, 0)\n    os.kill(os.getpid(), 19)\ntime.sleep(0.2); breach = False",
    ),
    "leave a file in shared folders": (
        "write",
        "for folder in ('/tmp', '/var/tmp', '/dev/shm', '/run'):\n    try:\n        open(f'{folder}/{T.marker}', 'x')\n"
        "    except OSError:\n        pass\nbreach = False",
    ),
}  # fmt: skip

# Twelve times 32 MiB where 128 MiB are allowed; 96 MB of files where 64 MiB are; too many processes.
EXCESS: dict[str, str] = {
    "memory of its own": "kept = [bytearray(b'x' * (32 << 20)) for _ in range(12)]",
    "shared anonymous memory": "kept = []\nfor _ in range(12):\n    kept.append(mmap.mmap(-1, 32 << 20))\n    kept[-1].write(b'x' * (32 << 20))",
    "memory of files without a name": "for n in range(12):\n    os.write(os.memfd_create('x'), b'x' * (32 << 20))",
    "shared mapping of /dev/zero": (
        "kept = []\nfd = os.open('/dev/zero', os.O_RDWR)\nfor _ in range(12):\n    kept.append(mmap.mmap(fd, 32 << 20))\n"
        "    kept[-1].write(b'x' * (32 << 20))"
    ),
    "many small files": "for n in range(48):\n    open(f'tmp/{n}', 'wb').write(bytes(2 << 20))",
    "more processes than allowed": "for n in range(60):\n    if os.fork() == 0:\n        time.sleep(9)\n        os._exit(0)",
}  # fmt: skip
