"""Probes of the network: any way to say something to anyone outside."""

from __future__ import annotations

import os
import socket

from foretell.kernels.walls.probes.probe import Target, probe

TIMEOUT_S = 1.0


def _connect(family: int, kind: int, address: object) -> bool:
    with socket.socket(family, kind) as channel:
        channel.settimeout(TIMEOUT_S)
        channel.connect(address)  # type: ignore[arg-type]
        channel.sendall(b"reached")
        return True


@probe("connect by TCP")
def _(target: Target) -> bool:
    return _connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", target.tcp_port))


@probe("connect by TCP over IPv6")
def _(target: Target) -> bool:
    return _connect(socket.AF_INET6, socket.SOCK_STREAM, ("::1", target.tcp_port))


@probe("send a datagram")
def _(target: Target) -> bool:
    return _connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", target.udp_port))


@probe("look up a name")
def _(target: Target) -> bool:
    return _connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.53", 53))


@probe("wait for connections")
def _(target: Target) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as channel:
        channel.bind(("127.0.0.1", 0))
        channel.listen()
        return True


@probe("connect to a service by its file")
def _(target: Target) -> bool:
    return _connect(socket.AF_UNIX, socket.SOCK_STREAM, target.unix_path)


@probe("connect to a service by an abstract name")
def _(target: Target) -> bool:
    return _connect(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{target.abstract_name}")


@probe("talk to the kernel's network")
def _(target: Target) -> bool:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW):
        return True


@probe("send raw packets")
def _(target: Target) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP):
        return True


@probe("talk to the host of a virtual machine")
def _(target: Target) -> bool:
    with socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM):
        return True


@probe("use the kernel's cryptography by socket")
def _(target: Target) -> bool:
    with socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET):
        return True


@probe("be handed a descriptor of another process")
def _(target: Target) -> bool:
    """Descriptors that were left open for it: sockets and files beside its own channel."""
    own = {0, 1, 2}
    links = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            links[int(name)] = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue
    sockets = [fd for fd, link in links.items() if link.startswith("socket:")]
    files = [
        link for fd, link in links.items() if fd not in own and link.startswith("/") and not link.startswith("/proc")
    ]
    return len(sockets) > 1 or bool(files)
