"""All probes in one sandbox, with what they did to the decoys: for `foretell doctor` and for tests."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from foretell.kernels.limits import PROBE_LIMITS
from foretell.kernels.sandbox.command import run_in
from foretell.kernels.sandbox.forkserver import ForkServer
from foretell.kernels.sandbox.jobs import JobFailed
from foretell.kernels.sandbox.kinds import Kind
from foretell.kernels.sandbox.probes.decoys import Decoys
from foretell.kernels.sandbox.probes.limits import LIMITS

_JOB = "foretell.kernels.walls.probes.probe:job"
# The folder that the package lies in is not to be listed inside, so the package is found by its own file.
_PROGRAM = """
import importlib.util, sys
place = sys.argv[2]
find = importlib.util.spec_from_file_location
spec = find("foretell", place + "/__init__.py", submodule_search_locations=[place])
sys.modules["foretell"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["foretell"])
from foretell.kernels.walls.probes.probe import main
main()
"""
_PACKAGE = str(Path(__file__).resolve().parents[3])


@dataclass(frozen=True)
class Verdict:
    """How many probes there were, and those that got through, in words."""

    attempts: int
    breaches: tuple[str, ...]

    @property
    def held(self) -> int:
        return self.attempts - len(self.breaches)


def probe_server(kind: Kind, home: Path | None = None, gpu: bool = False) -> Verdict:
    """The sandbox of builders and of the code of tasks; with `gpu`, of what only runs on one."""
    with Decoys(home) as decoys:
        server = ForkServer(("foretell.kernels.walls.probes.probe",), kind=kind, gpu=gpu)
        target = json.dumps({**decoys.target.to_dict(), "gpu": gpu}).encode()
        try:
            outcome = _read(server.call(_JOB, target, PROBE_LIMITS))
            bounded = {name: limit.holds(server) for name, limit in LIMITS.items()}
        except JobFailed as failure:
            return Verdict(1, (f"the probes could not be run: {failure}",))
        finally:
            server.close()
        return _verdict(outcome | bounded, decoys)


def probe_command(kind: Kind, home: Path | None = None) -> Verdict:
    """The sandbox of compilers."""
    with Decoys(home) as decoys:
        command = [sys.executable, "-I", "-S", "-B", "-c", _PROGRAM, json.dumps(decoys.target.to_dict()), _PACKAGE]
        finished = run_in(kind, command, limits=PROBE_LIMITS)
        if finished.returncode != 0:
            return Verdict(1, (f"the probes could not be run: {finished.broken or finished.stderr[-300:]}",))
        return _verdict(_read(finished.stdout.encode()), decoys)


def _read(answer: bytes) -> dict[str, bool]:
    return {str(name): bool(held) for name, held in json.loads(answer).items()}


def _verdict(outcome: dict[str, bool], decoys: Decoys) -> Verdict:
    damage = decoys.damage()
    breaches = [f"it could {name}" for name, held in outcome.items() if not held]
    return Verdict(len(outcome) + 1, (*breaches, *damage))
