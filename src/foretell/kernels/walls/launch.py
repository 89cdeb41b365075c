"""The sandbox's first program: builds the walls that its specification asks for, then runs a command or a fork server.

    python -I -S launch.py DESCRIPTOR

It reads a marshalled object from DESCRIPTOR (see `foretell.kernels.sandbox.specification`), trusts it, and runs nothing
foreign itself.
"""

from __future__ import annotations

import marshal
import os
import sys
from _frozen_importlib import module_from_spec  # importlib.util takes longer to import than all of this
from _frozen_importlib_external import spec_from_file_location

if __name__ == "__main__":
    # The package by its own file: the folder that it lies in may not be listed, if this is a sandbox within another.
    _place = __file__.rpartition("/kernels/")[0]
    _found = spec_from_file_location("foretell", f"{_place}/__init__.py", submodule_search_locations=[_place])
    assert _found is not None and _found.loader is not None
    sys.modules["foretell"] = module_from_spec(_found)
    _found.loader.exec_module(sys.modules["foretell"])

from foretell.kernels.walls import namespaces
from foretell.kernels.walls.confine import Walls, confine
from foretell.kernels.walls.supervise import supervise
from foretell.kernels.walls.syscalls import PR_SET_PDEATHSIG, prctl

MYPY = False
if MYPY:
    from typing import Any

_KILL = 9
MOST_DESCRIPTORS = (1 << 31) - 1
FAILED = 125  # the walls could not be built; the report says why
COULD_NOT_RUN = 127


def main(descriptor: int) -> None:
    with os.fdopen(descriptor, "rb") as file:
        specification: dict[str, Any] = marshal.load(file)
    try:
        if specification["make_namespaces"]:
            _enter_namespaces(specification)
    except OSError as error:
        _report(specification, {"failed": f"{error.strerror}: {error.filename or ''}".rstrip(": ")})
        os._exit(FAILED)
    if specification["server"]:
        from foretell.kernels.walls.serve import serve

        serve(specification)
    else:
        _run(specification)


def _enter_namespaces(specification: dict[str, Any]) -> None:
    """Return in the first process of new namespaces; the one outside waits for it and ends as it does."""
    namespaces.enter()
    child = os.fork()
    if child:
        for held in (specification["report"], specification["control"]):
            if held is not None:
                os.close(held)
        os._exit(_shell_status(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))
    prctl(PR_SET_PDEATHSIG, _KILL)
    walls = specification["walls"]
    readable = (*walls["readable"], *specification["supervised"])
    namespaces.build_root(readable, walls["writable"], walls["gpus"], specification["limits"]["scratch_bytes"])


def _run(specification: dict[str, Any]) -> None:
    """Run the command in a child behind all walls, and say how it ended."""
    limits, first = specification["limits"], os.getpid() == 1
    walls = Walls(specification["walls"])
    scratch = ("/tmp", "/dev/shm") if walls.namespaces else ()
    walls = walls.around(scratch, alone=first, own_users=walls.own_users, own_files=walls.namespaces)
    child = os.fork()
    if not child:
        _exec(specification, walls)
    ended = supervise(child, limits["processes"], limits["memory_bytes"], first, (specification["report"],))
    _report(specification, ended)
    os._exit(_shell_status(ended["status"]))


def _exec(specification: dict[str, Any], walls: Walls) -> None:
    command = specification["command"]
    try:
        os.setpgid(0, 0)
        os.chdir(specification["directory"])
        confine(walls, specification["limits"])
        os.closerange(3, MOST_DESCRIPTORS)
        os.execvpe(command[0], command, specification["environment"])
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
    os._exit(COULD_NOT_RUN)


def _report(specification: dict[str, Any], found: dict[str, Any]) -> None:
    if specification["report"] is not None:
        os.write(specification["report"], marshal.dumps(found))


def _shell_status(status: int) -> int:
    return 128 - status if status < 0 else status


if __name__ == "__main__":
    main(int(sys.argv[1]))
