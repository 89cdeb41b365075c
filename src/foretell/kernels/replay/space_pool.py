"""A tuning space as a pool of candidates, so that the driver of a search can be replayed on it."""

from __future__ import annotations

import json

import numpy as np

from foretell.kernels.candidate import Candidate, Origin
from foretell.kernels.device import Device
from foretell.kernels.evaluate.pools import Pool
from foretell.kernels.measurement import Measurement, Status
from foretell.kernels.protocols import Build, Subject
from foretell.kernels.replay.spaces import Space
from foretell.kernels.task import Task, Tensor, Tolerance, Workload

LANGUAGE = "cpp"  # a configuration is text of no language; this one's identity costs least


def space_pool(space: Space) -> Pool:
    """The space's configurations as candidates, in order; speedups are over the median of those that work.

    A failed compilation is a failed build, as on a real bench. The task and the device are names only: the space
    says nothing of the kernel's arguments, nor of what the device could do.
    """
    task, device = _task(space), _device(space)
    typical_ms = float(np.nanmedian(space.time_ms))
    subjects, outcomes, ranks = [], [], []
    for index, status in enumerate(space.status):
        config = space.config(index)
        source = json.dumps(config)
        candidate = Candidate(task.key, LANGUAGE, source, Origin("template", {"knobs": config}))
        compiled = status is not Status.COMPILE_ERROR
        subjects.append(Subject(candidate, Build(Status.OK if compiled else status)))
        speedup = typical_ms / float(space.time_ms[index]) if status is Status.OK else None
        outcomes.append(Measurement(status, speedup=speedup, low=speedup, high=speedup, device=device.id))
        ranks.append(float(np.log2(speedup)) if speedup else -np.inf)
    ids = tuple(subject.candidate.id for subject in subjects)
    return Pool(space.name, space.kernel, task, device, ids, tuple(subjects), tuple(outcomes), tuple(ranks))


def _task(space: Space) -> Task:
    tensor, workload = Tensor("x", "float32", ("n",)), Workload({"n": 1})
    return Task(
        name=space.kernel,
        family="tuning",
        summary=f"the kernel of the tuning space {space.name}",
        sizes=("n",),
        inputs=(tensor,),
        outputs=(tensor,),
        workloads=(workload,),
        extra=(),
        tolerance=Tolerance(0.0, 0.0, "recorded"),
        flops=lambda sizes: 0.0,
        oracle=None,
        references={LANGUAGE: f"// {space.kernel} as recorded\nreference"},
        kind="table",
    )


def _device(space: Space) -> Device:
    return Device(space.device, "gpu", 1, 1.0, 1.0, {"float32": 1.0}, 1, 1, 1, (LANGUAGE,), "recorded")
