"""The list of probes, and how they are run: standard library only, for they run inside."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

LONGEST_S = 5
_BREACHED, _HELD = 0, 1


@dataclass(frozen=True)
class Target:
    """What lies outside for probes to reach: a home with a secret, processes, sockets, memory.

    `secret` is in the file `secret_file`, in the environment of the process `decoy_pid` and in the memory segment
    `segment`; `account` is a line of the system's accounts. `gpu`: the sandbox was given the GPUs.
    """

    secret: str
    home: str
    secret_file: str
    account: str
    cache: str
    directory: str
    directory_entry: str
    decoy_pid: int
    tcp_port: int
    udp_port: int
    unix_path: str
    abstract_name: str
    segment: int
    marker: str
    gpu: bool = False

    @property
    def process_name(self) -> str:
        """What processes that are to outlive their sandbox call themselves; the kernel keeps no more characters."""
        return self.marker[-15:]

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Target:
        return Target(**data)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


Probe = Callable[[Target], Any]
PROBES: dict[str, Probe] = {}


def probe(name: str) -> Callable[[Probe], Probe]:
    """Put a function on the list under what it attempts."""

    def listed(function: Probe) -> Probe:
        PROBES[name] = function
        return function

    return listed


def attempt_all(target: Target) -> dict[str, bool]:
    """Whether each probe was held, each tried in a child of its own: some of them end their process."""
    from foretell.kernels.walls.probes import files, kernel, network, processes

    assert PROBES, (files, kernel, network, processes)
    return {name: attempt(function, target) for name, function in PROBES.items()}


def attempt(function: Probe, target: Target) -> bool:
    """True if the wall held."""
    child = os.fork()
    if child == 0:
        signal.alarm(LONGEST_S)
        code = _HELD
        try:
            code = _BREACHED if function(target) else _HELD
        except BaseException:
            code = _HELD  # refused, whatever with
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return not (os.WIFEXITED(status) and os.WEXITSTATUS(status) == _BREACHED)


def job(payload: bytes) -> bytes:
    """All probes, for the sandbox's server."""
    return json.dumps(attempt_all(Target.from_dict(json.loads(payload)))).encode()


def main() -> None:
    """All probes, as a command: target from the first argument, outcome to standard output."""
    import sys

    sys.stdout.write(job(sys.argv[1].encode()).decode())
