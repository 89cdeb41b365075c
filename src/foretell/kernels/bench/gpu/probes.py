"""Probes of the GPU bench's processes, for `foretell doctor`: a candidate and a problem that try to get out.

They run as all others do, the one in a worker and the other in a judge, and say what they could do in what they raise.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

from foretell.kernels.bench.gpu.apart import JudgeApart
from foretell.kernels.bench.gpu.handle import DeviceLost, WorkerHandle
from foretell.kernels.bench.gpu.judge import Judge
from foretell.kernels.bench.gpu.platform import Platform, name_of
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.library import get
from foretell.kernels.profiles import GPU_BENCH
from foretell.kernels.sandbox.probes.decoys import Decoys
from foretell.kernels.sandbox.probes.verdict import Verdict
from foretell.kernels.task import Workload
from foretell.kernels.tasks import BadTask, kernelbench

_BREAK_OUT = """
import json, torch, torch.nn as nn
from foretell.kernels.walls.probes.probe import job
def break_out():
    held = json.loads(job(TARGET))
    raise RuntimeError("probes:" + str(len(held)) + ":" + "/".join(name for name in held if not held[name]) + ":end")
"""
_CANDIDATE = """
def kernel(x):
    break_out()
"""
_PROBLEM = """
class Model(nn.Module):
    def forward(self, x):
        return x
def get_inputs():
    break_out()
def get_init_inputs():
    return []
"""
_OUTCOME = re.compile(r"probes:(\d+):(.*?)(?::end|$)", re.DOTALL)
_EFFORT = replace(GPU_BENCH, run_timeout_s=120.0, load_timeout_s=120.0)  # each probe may take seconds


def probe_worker(platform: Platform, device: Device, home: Path | None = None) -> Verdict:
    """What a candidate can do in a worker."""
    task = replace(get("softmax", "gpu"), workloads=(Workload({"rows": 8, "cols": 128}),), extra=())
    with Decoys(home) as decoys:
        worker = WorkerHandle(name_of(platform))
        try:
            candidate = Candidate(task.key, "torch", _hostile(decoys) + _CANDIDATE)
            words = Judge(task, worker, device, _EFFORT, platform).judge(candidate).message
        except DeviceLost as lost:
            words = str(lost)
        finally:
            worker.close()
        return _verdict(words, decoys)


def probe_judge(platform: Platform, device: Device, home: Path | None = None) -> Verdict:
    """What the code of a problem can do in a judge."""
    with Decoys(home) as decoys:
        worker = WorkerHandle(name_of(platform))
        try:
            task = kernelbench.from_text(_hostile(decoys) + _PROBLEM, "probes")
            JudgeApart(task, worker, device, _EFFORT, name_of(platform)).close()
            words = "its code was not run"
        except (BadTask, DeviceLost) as error:
            words = str(error)
        finally:
            worker.close()
        return _verdict(words, decoys)


def _hostile(decoys: Decoys) -> str:
    target = json.dumps({**decoys.target.to_dict(), "gpu": True})
    return _BREAK_OUT.replace("TARGET", repr(target.encode()))


def _verdict(words: str, decoys: Decoys) -> Verdict:
    damage = decoys.damage()
    outcome = _OUTCOME.search(words)
    if outcome is None:
        return Verdict(1, (f"the probes could not be run: {words[:300]}", *damage))
    breaches = [f"it could {name}" for name in outcome[2].split("/") if name]
    return Verdict(int(outcome[1]) + 1, (*breaches, *damage))
