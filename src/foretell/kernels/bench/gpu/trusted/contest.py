"""Reference and candidate timed side by side on fresh data: by replay with events, or live from outside."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Any

import torch

from foretell.kernels.bench.gpu.handle import WorkerFailed
from foretell.kernels.bench.gpu.trusted.known import ALTERED, Known
from foretell.kernels.bench.gpu.trusted.process import Process
from foretell.kernels.bench.gpu.trusted.scene import LiveAlone, Scene
from foretell.kernels.bench.gpu.trusted.stage import Stage
from foretell.kernels.bench.gpu.trusted.variants import Moving, independent
from foretell.kernels.bench.gpu.trusted.verdict import (
    at_most,
    clock_fault,
    least_batch_us,
    overhead_us,
    seconds_each,
    unexplained_us,
)
from foretell.kernels.bench.statistics import ranks_below, surely_below, tight_enough, timing
from foretell.kernels.candidate import Candidate
from foretell.kernels.device import Device
from foretell.kernels.languages import built
from foretell.kernels.measurement import Measurement, Status, Timing
from foretell.kernels.profiles import GpuEffort
from foretell.kernels.program import Program
from foretell.kernels.task import Task

_CHOICE_RUNS = 3
_VERIFY_ONE_IN = 4
_PAIRS_ELSEWHERE, _PAIRS_IN_DOUBT = 3, 32  # on each other distribution
_PICKING = frozenset({"bool", "int16", "int32", "int64"})  # types that may say which parts of other inputs are read
_ALONE, _HELD_UP = 6, 1.1  # batches of a live reference by itself; how much longer it may take beside a candidate
_TIMED_ELSEWHERE = 4  # other distributions, of which nobody can tell before
_GAIN_KEPT = 0.9  # the share of the gain that is enough there
_HOW = {
    "graph": "Programs replayed as CUDA graphs",
    "eager": "Program replayed step by step, because it or the reference cannot be captured, the reference as a graph "
    "if it can be,",
}

Samples = tuple[list[float], list[float]]  # microseconds of the reference and of the candidate, pair by pair


class ReplayContest:
    """A candidate's Programs against the reference's, each in a process of its own, timed by their events.

    Every pair of runs has inputs of its own, drawn after the runs before have ended. Outputs are looked at at moments
    that cannot be foreseen, and batches of runs are timed by the judge's clock to see whether the events were right.
    """

    def __init__(self, scene: Scene, candidate: Process, effort: GpuEffort) -> None:
        self._scene, self._candidate, self._effort = scene, candidate, effort
        self.slowest_on = ""  # the distribution that the times are of, if not as drawn
        self.weights = ""  # which weights it was checked with, if the reference has parameters
        self.unexplained_us: list[float] = []
        self._drawn: tuple[int, int] | None = None  # the workload and set that hold new data already
        self._moving: dict[int, Moving] = {}

    def choose(self, index: int, programs: Sequence[Program]) -> None:
        """Load the fastest of a kernel's configurations; one that fails is passed over if another works."""
        scene, process = self._scene, self._candidate
        if len(programs) == 1:
            scene.load(process, scene.sides[1], index, programs[0])
            return
        times: list[tuple[float, int]] = []
        failure: WorkerFailed | None = None
        for number, program in enumerate(programs):
            try:
                scene.load(process, scene.sides[1], index, program)
                scene.put(index, 0, scene.known[index][0].inputs)
                process.ask("prepare", self._effort.run_timeout_s, workload=index, captured=True)
                limit_s = self._effort.run_timeout_s
                times.append((min(process.run_us(limit_s, index, 0) for _ in range(_CHOICE_RUNS)), number))
            except WorkerFailed as failed:
                failure = failed
                if not process.alive:
                    raise
        if not times:
            assert failure is not None
            raise failure
        scene.load(process, scene.sides[1], index, programs[min(times)[1]])

    def prepare(self, index: int) -> str:
        """Have both made ready to be timed; says how the candidate is.

        The reference is a graph whenever it can be, whatever the candidate does: else a candidate that cannot be
        captured would have it launched at the speed of the host.
        """
        effort, reference = self._effort, self._scene.reference
        if index not in self._scene.methods:
            self._scene.methods[index] = self._prepared(reference, index, captured=True)
            reference.run_us(effort.run_timeout_s, index, 0)  # the first run after a capture uploads the graph
        method = self._prepared(self._candidate, index, captured=self._scene.methods[index] == "graph")
        self._candidate.run_us(effort.run_timeout_s, index, 0)
        return method

    def _prepared(self, process: Process, index: int, captured: bool) -> str:
        answer = process.ask("prepare", self._effort.load_timeout_s, workload=index, captured=captured)
        if answer.get("method") not in _HOW:
            process.stop()
            raise WorkerFailed(Status.CHEAT, "says that it is timed in a way that there is not")
        return str(answer["method"])

    def pairs(self, index: int, hopeless_below: float | None, hurry: bool) -> tuple[Timing, bool] | Measurement:
        """Pairs until the interval is narrow."""
        effort, stage = self._effort, self._scene.stages[index]
        samples: Samples = ([], [])
        deadline = time.perf_counter() + effort.workload_cap_s
        number, surely = secrets.randbelow(stage.sets), secrets.randbelow(effort.chunk_pairs)
        enough = False
        while not enough:
            number = (number + 1) % stage.sets
            is_looked_at = len(samples[0]) == surely or secrets.randbelow(_VERIFY_ONE_IN) == 0
            self._pair(index, number, samples, is_looked_at)
            enough, hurry = _enough(samples, effort, hopeless_below, hurry, deadline)
            fault = self._scene.verify(index, number) if is_looked_at else None
            if fault:
                return fault
        fault = self._clock_fault(index, samples)
        if fault:
            return fault
        slowest = self._slowest(index, samples)
        return slowest if isinstance(slowest, Measurement) else (timing(stage.workload.name, *slowest), hurry)

    def _slowest(self, index: int, samples: Samples) -> Samples | Measurement:
        """The samples, or those on another distribution if the candidate gains clearly less there; a fault if wrong.

        Otherwise one that is quick where numbers look as drawn, and right elsewhere, would be timed at its best alone.
        """
        drawn, *others = self._scene.known[index]
        for known in _some(others):
            few = self._timed_on(index, [known], _PAIRS_ELSEWHERE)
            if isinstance(few, Measurement):
                return few
            if _gain(few[0]) >= _GAIN_KEPT * _gain(samples):
                continue
            more = self._timed_on(index, [known, drawn], _PAIRS_IN_DOUBT)
            if isinstance(more, Measurement):
                return more
            there, here = more
            if _gain(there) < _GAIN_KEPT * _gain(samples) and ranks_below(_gains(there), _gains(here)):
                self.slowest_on, samples = known.distribution, there
        return samples

    def _timed_on(self, index: int, known: Sequence[Known], count: int) -> list[Samples] | Measurement:
        """So many pairs on numbers like these, in turn; each pair has them in other places than the pair before.

        Outputs of one pair on each are looked at, of which nobody can tell before.
        """
        samples: list[Samples] = [([], []) for _ in known]
        looked_at = [secrets.randbelow(count) for _ in known]
        if index not in self._moving:  # as drawn: numbers of another spread may not look independent
            self._moving[index] = Moving(independent(torch, self._scene.known[index][0].inputs))
        limit_s = self._effort.run_timeout_s
        for number in range(count):
            for each, look, (references, candidates) in zip(known, looked_at, samples, strict=True):
                self._scene.put(index, 0, self._moving[index].step(each.inputs))
                references.append(self._scene.reference.run_us(limit_s, index, 0, keep=number == look))
                candidates.append(self._candidate.run_us(limit_s, index, 0))
                fault = self._scene.verify(index, 0, like=each) if number == look else None
                if fault:
                    return fault
        return samples

    def _pair(self, index: int, number: int, samples: Samples, keep: bool) -> None:
        """One run of both on new data. The reference's outputs are kept if they are looked at.

        Whether they are makes no difference to what the candidate's process is asked, or what its kernels can read.
        """
        scene, limit_s = self._scene, self._effort.run_timeout_s
        sets, first = scene.stages[index].sets, secrets.randbelow(2)
        drawing = {} if self._drawn == (index, number) else scene.seeded(index, [number])
        self._drawn = None
        if first == 0:
            samples[0].append(scene.reference.run_us(limit_s, index, number, keep=keep, before=drawing))
            scene.drawn(index, drawing)
            samples[1].append(self._candidate.run_us(limit_s, index, number))
            return
        self._draw(index, drawing)
        samples[1].append(self._candidate.run_us(limit_s, index, number))
        is_ahead, following = sets > 1 and scene.draws_by_reference, (number + 1) % sets
        drawing = scene.seeded(index, [following]) if is_ahead else {}  # the candidate's run has ended
        samples[0].append(scene.reference.run_us(limit_s, index, number, keep=keep, after=drawing))
        scene.drawn(index, drawing)
        self._drawn = (index, following) if is_ahead else None

    def _draw(self, index: int, drawing: dict[str, Any]) -> None:
        """Have the reference's process draw, unless the judge has filled the sets."""
        if drawing:
            self._scene.reference.ask("draw", self._effort.run_timeout_s, workload=index, before=drawing)
            self._scene.drawn(index, drawing)

    def _clock_fault(self, index: int, samples: Samples) -> Measurement | None:
        """Whether runs back to back, each on new data, take as long by the judge's clock as the events say.

        A busy machine lengthens batches, so they are repeated until one fits, and that one's outputs are looked at.
        """
        effort, scene = self._effort, self._scene
        order, limit_s = list(range(scene.stages[index].sets)), effort.run_timeout_s
        looked_at = secrets.choice(order)
        slack = (effort.replay_clock_slack, effort.replay_clock_slack_us)
        clocks: list[Samples] = [scene.batches.setdefault(index, ([], [])), ([], [])]
        words, left_open_us = "", 0.0
        for _ in range(effort.replay_batches):
            self._draw(index, scene.seeded(index, order))
            for (whole_s, null_s), process in zip(clocks, (scene.reference, self._candidate), strict=True):
                null_s.append(process.batch_s(limit_s, index, []))
                whole_s.append(process.batch_s(limit_s, index, order))
            batch_us = [[least_batch_us(*clock)] for clock in clocks]
            extra_us = overhead_us(samples[0], batch_us[0], len(order))
            left_open_us = unexplained_us(samples[1], batch_us[1], len(order), extra_us)
            words = clock_fault(samples[1], batch_us[1], len(order), extra_us, *slack)
            if not words:
                break
        self.unexplained_us.append(left_open_us)
        return Measurement(Status.CHEAT, words) if words else scene.verify(index, looked_at)

    @staticmethod
    def words(methods: Iterable[str]) -> str:
        """How it was timed, for a measurement's `method`."""
        how = "/".join(_HOW[one] for one in sorted(methods))
        return (
            f"{how} timed by driver events in a process without the candidate's host code; L2 flushed before every "
            "run; new inputs in every pair; reference and candidate in processes of their own, interleaved; median of "
            "paired ratios"
        )


class LiveContest:
    """A candidate that is run as it is, against the reference run in the same way, timed by the judge's clock alone."""

    def __init__(self, scene: Scene, reference: Process, candidate: Process, effort: GpuEffort) -> None:
        self._scene, self._effort = scene, effort
        self.slowest_on = self.weights = ""
        self.unexplained_us: list[float] = []  # there are no events that could be explained
        self._processes = (reference, candidate)

    def open(self, task: Task, candidate: Candidate) -> None:
        """Have both loaded, the candidate in a process that nothing else ran in."""
        effort, scene = self._effort, self._scene
        files = built.files_of(candidate.source, built.problem_of(task.spec))
        for side, source in enumerate((None, candidate.source)):
            process = self._processes[side]
            if side == 0 and process.alive:
                continue
            if side == 0:
                scene.live_alone.clear()
            elif not scene.live_alone:
                self._take_alone()
            process.renew()
            process.lend("inputs", scene.inputs, effort.open_timeout_s)
            process.lend("outputs", scene.sides[side].room, effort.open_timeout_s)
            process.ask(
                "source", effort.compile_timeout_s, spec=task.spec, source=source, files=files if source else {},
                language=candidate.language,
                inputs=[stage.inputs for stage in scene.stages], outputs=scene.sides[side].rings,
                cudnn_tf32=scene.cudnn_tf32,
            )  # fmt: skip

    def prepare(self, index: int) -> str:
        for process in self._processes:
            process.batch_s(self._effort.compile_timeout_s, index, [0])
        return "live"

    def _take_alone(self) -> None:
        """Time the reference while no candidate's process is there that could hold it up."""
        for index, stage in enumerate(self._scene.stages):
            order = list(range(stage.sets))
            whole_s, null_s = [], []
            for _ in range(_ALONE if stage.timed else 0):
                for number in order:
                    self._scene.fill(index, number)
                null_s += [self._batch(0, index, [], 0)[0] for _ in range(2)]
                whole_s.append(self._batch(0, index, order, 0)[0])
            if whole_s:
                us = 1e6 * median(seconds_each(whole_s, null_s, len(order)))
                self._scene.live_alone[index] = LiveAlone(us, median(null_s))

    def pairs(self, index: int, hopeless_below: float | None, hurry: bool) -> tuple[Timing, bool] | Measurement:
        """Pairs of batches until the interval is narrow; each batch runs once on every set, all of them new.

        Where the reference takes clearly longer beside the candidate than by itself, its times are scaled down to that:
        a candidate's threads and kernels go on while the reference has its batch.

        Nobody stops a live candidate between its batches, so it is asked first once there is new data: what it does
        before its batch, or after it, is not done while others are timed.
        """
        effort, stage = self._effort, self._scene.stages[index]
        order = list(range(stage.sets))
        samples: Samples = ([], [])
        alone = self._scene.live_alone[index]
        deadline = time.perf_counter() + effort.workload_cap_s
        enough = False
        while not enough:
            looked_at = secrets.choice(order)
            # Empty batches are the reference's, and no longer than without a candidate: it might take its time, or keep
            # the device busy, and whatever they take is subtracted.
            null_s = [min(self._batch(0, index, [], looked_at)[0], _HELD_UP * alone.null_s) for _ in range(2)]
            for number in order:
                self._scene.fill(index, number)
            outputs: list[Any] = []
            for side in (1, 0):
                whole_s, taken = self._batch(side, index, order, looked_at)
                outputs = taken if side == 1 else outputs
                samples[side].extend(1e6 * each for each in seconds_each([whole_s], null_s, len(order)))
            enough, hurry = _enough(samples, effort, hopeless_below, hurry, deadline)
            if enough or secrets.randbelow(_VERIFY_ONE_IN) == 0:
                fault = self._scene.verify(index, looked_at, outputs)
                if fault:
                    return fault
        references = at_most(samples[0], _HELD_UP * alone.us)
        return timing(stage.workload.name, references, samples[1]), hurry

    def _batch(self, side: int, index: int, order: list[int], looked_at: int) -> tuple[float, list[Any]]:
        """Seconds until the judge has the outputs of one set in its own memory, and these outputs.

        Work that a candidate does after saying that it is done is therefore late, or counted.
        """
        started = time.perf_counter()
        self._processes[side].ask("batch", self._effort.run_timeout_s, workload=index, order=order)
        outputs = self._scene.taken(side, index, looked_at)
        return time.perf_counter() - started, outputs

    @staticmethod
    def words(methods: Iterable[str]) -> str:
        return (
            "live: the candidate's host code runs while it is timed; batches of runs on new inputs timed by the "
            "judge's clock from outside, an empty batch of the reference subtracted; reference likewise; median of "
            "paired ratios"
        )


def _some(others: Sequence[Known]) -> list[Known]:
    """The distributions that a candidate is timed on: some drawn at random, and inputs that are otherwise constant."""
    timed = [known for known in others if not known.finite_only]
    chosen = secrets.SystemRandom().sample(timed, min(len(timed), _TIMED_ELSEWHERE))
    return chosen + [known for known in timed if known.distribution == ALTERED and known not in chosen]


def _gain(samples: Samples) -> float:
    return median(samples[0]) / median(samples[1])


def _gains(samples: Samples) -> list[float]:
    return [reference / candidate for reference, candidate in zip(*samples, strict=True)]


def _enough(
    samples: Samples,
    effort: GpuEffort,
    hopeless_below: float | None,
    hurry: bool,
    deadline: float,
) -> tuple[bool, bool]:
    """Whether there are pairs enough, and whether the candidate is hopeless."""
    references, candidates = samples
    if len(candidates) < effort.chunk_pairs:
        return False, hurry
    if hopeless_below is not None and surely_below(references, candidates, hopeless_below):
        hurry = True
    if hurry or len(candidates) >= effort.most_pairs or time.perf_counter() > deadline:
        return True, hurry
    slow = sum(candidates) > effort.slow_ratio * sum(references)
    if slow and len(candidates) >= effort.fewest_pairs_when_slow:
        return True, hurry
    many = len(candidates) >= effort.fewest_pairs
    return many and tight_enough(references, candidates, effort.half_width), hurry


def floor_us(task: Task, stage: Stage, device: Device, effort: GpuEffort) -> float:
    """Time to move what no right implementation can do without, with a margin; less is too fast to be true."""
    if task.kind == "library":
        least = task.certain_bytes(stage.workload.sizes)
    else:
        inputs, outputs = stage.reference.inputs, stage.reference.outputs
        picked = any(view.dtype in _PICKING for view in inputs)
        least = max((view.distinct_bytes for view in (outputs if picked else inputs)), default=0) / 2
    return least / (effort.physics_margin * device.bandwidth_bytes_per_s) * 1e6
