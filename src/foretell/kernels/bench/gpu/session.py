"""Inside the worker's process: a task's tensors, one candidate at a time, and the stopwatch.

Everything here shares a process with foreign code. So it holds nothing worth stealing (no expected values, no seeds),
takes its clock from the driver and not from anything Python can patch, and reports; judging is done elsewhere.
"""

from __future__ import annotations

import contextlib
import gc
import secrets
from collections.abc import Callable, Sequence
from typing import Any

import torch

from foretell.kernels.bench.gpu import settings
from foretell.kernels.bench.gpu.platform import Platform
from foretell.kernels.bench.gpu.watch import Snapshot, Watch, shares_memory, watch_for
from foretell.kernels.languages import extension
from foretell.kernels.languages.python_source import Entry, entry_of, load_module, unload
from foretell.kernels.task import Task
from foretell.kernels.tasks.runtime import runtime_of
from foretell.kernels.tasks.trees import leaves

FULL_COLLECTION_EVERY = 16  # candidates: a full collection takes as long as a measurement
REPEATS_WITHIN = 0.01  # of the largest value: how far a replayed graph may be from the run it was made of


class Refused(Exception):
    """The candidate broke a rule; `status` is how the judge should take it."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


class Timed:
    """A program on one set of inputs, ready to be run and timed again and again.

    Its outputs go to `keep`; `blank` are inputs for results, which hold none when it starts. With a `watch` it is
    captured into a CUDA graph on the stream, with the cache flush before it and event nodes around it; RuntimeError if
    that is not possible. Without one it is launched as it is, between two events.
    """

    def __init__(
        self,
        platform: Platform,
        run: Callable[[], list[Any]],
        flush: Any,
        stream: Any,
        pool: Any,
        keep: Sequence[Any],
        blank: Sequence[Any],
        watch: contextlib.AbstractContextManager[Any] | None,
    ) -> None:
        self._platform, self._run, self._flush, self._stream, self._keep = platform, run, flush, stream, keep
        self._blank = blank
        self._start, self._end = platform.event(), platform.event()
        self._replay: Callable[[], None] | None = None
        self.outputs: list[Any] = []
        if watch is not None:
            self._replay = self._captured(pool, watch)

    def _captured(self, pool: Any, watch: contextlib.AbstractContextManager[Any]) -> Callable[[], None]:
        def work(handle: int) -> None:
            self._flush.zero_()
            self._start.record_in_graph(handle)
            with watch, extension.standing_in(handle):
                self.outputs = self._run()
            self._end.record_in_graph(handle)

        try:
            return self._platform.capture(self._stream, pool, work)
        except BaseException:
            self.close()
            raise

    @property
    def captured(self) -> bool:
        return self._replay is not None

    def start(self) -> None:
        """Queue one timed run behind poisoned outputs and a flushed cache.

        What a graph has written stays for `hand_over`: nothing of it can still be under way on another stream. What was
        launched otherwise is taken at once, before work that nobody waited for could be done.
        """
        with self._platform.using(self._stream):
            for room in self._blank:
                poison(room)
            if self._replay is not None:
                for output in self.outputs if self._keep else ():
                    poison(output)
                self._replay()
                return
            handle = self._platform.handle(self._stream)
            for kept in self._keep:
                poison(torch.empty_like(kept))  # so that memory handed out next holds no old result
            self._flush.zero_()
            self._start.record(handle)
            outputs = self._run()
            self._end.record(handle)
            for kept, output in zip(self._keep, outputs, strict=False):
                kept.copy_(output)

    def hand_over(self) -> None:
        """Put the outputs of the last run where the judge looks."""
        with self._platform.using(self._stream):
            for kept, output in zip(self._keep, self.outputs, strict=False):
                kept.copy_(output)

    def erase(self) -> None:
        """Overwrite the results, so that nothing can read them from memory later."""
        with self._platform.using(self._stream):
            for output in (*self.outputs, *self._keep):
                poison(output)

    def elapsed_us(self) -> float:
        return float(self._start.elapsed_us(self._end))

    def close(self) -> None:
        self._replay = None
        self.outputs = []
        self._start.close()
        self._end.close()


class Session:
    """A task on the device, shared with the judge, and the candidate that is being measured on it.

    `inputs[workload][set]` and `rings[workload][set]` lie in the judge's memory: it fills the first and reads the
    second. `checked[workload]` and `timed[workload]` are the sets that a workload is checked and timed on, and
    `destinations[workload]` the inputs, by their place among the leaves, that results may be written to.
    """

    def __init__(
        self,
        platform: Platform,
        task: Task,
        inputs: list[list[list[Any]]],
        rings: list[list[list[Any]]],
        checked: list[list[int]],
        timed: list[list[int]],
        destinations: list[list[int]],
    ) -> None:
        self._destinations = destinations
        self._platform, self._task, self._inputs, self._rings = platform, task, inputs, rings
        self._settings_before = settings.current()
        self._runtime = runtime_of(task)
        self._checked, self._timed_sets = checked, timed
        self._flush = torch.empty(platform.flush_bytes // 4, dtype=torch.int32, device=platform.device)
        self._stream = platform.stream()
        self._pool = platform.graph_pool()
        self._references: dict[tuple[int, bool], list[Timed]] = {}
        self._candidates: dict[int, list[Timed]] = {}
        self._paired: list[Timed] = []
        self._entry: Entry | None = None
        self._module: Any = None
        self._unloads = 0
        self._language = ""
        # Our references are exact in float32; other people's problems run with the settings torch comes with.
        torch.backends.cudnn.allow_tf32 = task.kind != "library"
        self.reference_entry = self._runtime.reference(platform.device)
        self._usual_settings = settings.current()
        self._has_own_settings = False

    def load(self, source: str, language: str, snapshot: Snapshot) -> dict[str, Any]:
        """Load a candidate and run it on every checked set, its outputs going into the rings."""
        self._language = language
        with self._runtime.modules():
            self._module = load_module(source)
        made_of = (self._runtime.init_inputs, self._platform.device)
        self._entry = entry_of(self._module, *made_of, reference=lambda: self.reference_entry)
        watch = self._watch()
        for index in range(len(self._checked)):
            self._run_checks(index, watch if index == 0 else None)
        self._platform.synchronize()
        self._look_around(snapshot)
        self._has_own_settings = settings.current() != self._usual_settings
        return {"launches": watch.launches}

    def check(self, index: int, snapshot: Snapshot) -> None:
        """Run the candidate on one workload's checked sets again: the judge has put new data there."""
        self._run_checks(index, None)
        self._platform.synchronize()
        self._look_around(snapshot)

    def _watch(self) -> Watch:
        return watch_for(self._language, self._task.library_calls)

    def _run_checks(self, index: int, watch: Watch | None) -> None:
        """On the default stream, where everybody's launches go who names no other."""
        for number in self._checked[index]:
            outputs = self._checked_run(watch, self._inputs[index][number], index)
            for kept, output in zip(self._rings[index][number], outputs, strict=True):
                kept.copy_(output)
            watch = None

    def _look_around(self, snapshot: Snapshot) -> None:
        changed = snapshot.changed()
        if changed:
            raise Refused("cheat", f"it replaced {changed}")
        if self._platform.persisting_l2_bytes() > 0:
            raise Refused("cheat", "it set L2 aside for data that survives a flush")

    def _checked_run(self, watch: Watch | None, inputs: list[Any], index: int) -> list[Any]:
        assert self._entry is not None
        room = self._room(inputs, index)
        for leaf in room:
            poison(leaf)
        if watch is None:
            outputs = leaves(self._entry(*inputs))
        else:
            with watch:
                outputs = leaves(self._entry(*inputs))
            fault = watch.verdict(inputs)
            if fault:
                raise Refused("cheat", fault)
        wanted = self._rings[index][0]
        if len(outputs) != len(wanted):
            raise Refused("wrong", f"returned {len(outputs)} outputs, expected {len(wanted)}")
        for number, (output, kept) in enumerate(zip(outputs, wanted, strict=True)):
            if type(output) is not torch.Tensor:
                raise Refused("cheat", f"output {number} is a {type(output).__name__}, not a plain tensor")
            if output.shape != kept.shape or output.dtype != kept.dtype or output.device != kept.device:
                got = f"{tuple(output.shape)} {output.dtype} on {output.device}"
                raise Refused("wrong", f"output {number} is {got}, expected {tuple(kept.shape)} {kept.dtype}")
            others = [x for x in leaves(inputs) if isinstance(x, torch.Tensor) and all(x is not leaf for leaf in room)]
            if any(shares_memory(output, x) for x in others):
                raise Refused("cheat", f"output {number} lies in the memory of an input")
        return outputs

    def _room(self, inputs: list[Any], index: int) -> list[Any]:
        """The inputs that results may be written to."""
        flat = leaves(inputs)
        return [flat[position] for position in self._destinations[index]]

    def prepare(self, index: int) -> str:
        """Make the timed forms of reference and candidate for one workload; says how both are timed.

        `graph` where both can be captured, else `eager`: a graph would spare one of them the time that launches take.
        """
        self._platform.forbid_persisting_l2()
        assert self._entry is not None
        candidates = self._graphs(self._entry, index, candidate=True)
        graphs = bool(candidates and self._references_of(index, graphs=True))
        if candidates and not graphs:
            for timed in candidates:
                timed.close()
        numbers = self._timed_sets[index]
        self._candidates[index] = (
            candidates if graphs else [self._eager(self._entry, index, n, self._rings[index][n]) for n in numbers]
        )
        self._paired = self._references_of(index, graphs)
        return "graph" if graphs else "eager"

    def _references_of(self, index: int, graphs: bool) -> list[Timed]:
        """The reference on each timed set, made once; empty if it is to be captured and cannot be."""
        if (index, graphs) not in self._references:
            numbers = self._timed_sets[index]
            self._references[index, graphs] = (
                self._graphs(self.reference_entry, index, candidate=False)
                if graphs
                else [self._eager(self.reference_entry, index, n, []) for n in numbers]
            )
        return self._references[index, graphs]

    def _graphs(self, entry: Entry, index: int, candidate: bool) -> list[Timed]:
        """A program on each timed set as a graph; empty if one of them cannot be captured whole."""
        made: list[Timed] = []
        for number in self._timed_sets[index]:
            timed = self._captured(entry, index, number, candidate)
            if timed is None:
                for other in made:
                    other.close()
                return []
            made.append(timed)
        return made

    def _run_of(self, entry: Entry, index: int, number: int) -> Callable[[], list[Any]]:
        """A program on one set of inputs; the reference never under what a candidate has set."""
        inputs = self._inputs[index][number]

        def reference() -> list[Any]:
            if not self._has_own_settings:
                return leaves(entry(*inputs))
            with settings.under(self._usual_settings):
                return leaves(entry(*inputs))

        return reference if entry is self.reference_entry else lambda: leaves(entry(*inputs))

    def _eager(self, entry: Entry, index: int, number: int, keep: Sequence[Any]) -> Timed:
        """A program that is launched each time as its author would, on the default stream."""
        run, stream = self._run_of(entry, index, number), self._platform.default_stream()
        with self._platform.using(stream):
            run()
        self._platform.synchronize()
        room = self._room(self._inputs[index][number], index)
        return Timed(self._platform, run, self._flush, stream, self._pool, keep, room, None)

    def _captured(self, entry: Entry, index: int, number: int, candidate: bool) -> Timed | None:
        """A program as a graph; None if it cannot be captured whole. A candidate is watched as when it was checked.

        It runs on the very inputs before, as it would in use: what it then remembers of them is no longer work. What it
        launches on another stream than the current one is not in the graph: then a replay does not repeat that run.
        """
        run = self._run_of(entry, index, number)
        keep = self._rings[index][number] if candidate else []
        watch = self._watch() if candidate else None
        with self._platform.using(self._stream):
            run()
        self._platform.synchronize()
        expected = [output.clone() for output in run()] if candidate else []
        self._platform.synchronize()
        try:
            room = self._room(self._inputs[index][number], index)
            looking = watch or contextlib.nullcontext()
            timed = Timed(self._platform, run, self._flush, self._stream, self._pool, keep, room, looking)
        except RuntimeError as error:  # a CudaError is one too
            if is_sticky(error):
                raise
            self._platform.synchronize()
            return None
        fault = watch.verdict(self._inputs[index][number]) if watch is not None else ""
        if fault:
            raise Refused("cheat", f"{fault}, where it is timed")
        if candidate and not self._repeats(timed, expected):
            timed.close()
            return None
        return timed

    def _repeats(self, timed: Timed, expected: Sequence[Any]) -> bool:
        """Whether a replay gives what the run gave, but for sums in another order."""
        timed.start()
        self._platform.synchronize()
        return len(timed.outputs) == len(expected) and all(map(_alike, timed.outputs, expected))

    def pairs(self, index: int, order: Sequence[int], snapshot: Snapshot) -> dict[str, Any]:
        """One interleaved pair for each timed set that `order` names, in alternating order."""
        references, candidates = self._paired, self._candidates[index]
        samples: dict[str, list[float]] = {"reference_us": [], "candidate_us": []}
        waiting: list[int] = []
        last = {k: turn for turn, k in enumerate(order)}

        def collect() -> None:
            self._platform.synchronize()
            for k in waiting:
                samples["reference_us"].append(references[k].elapsed_us())
                samples["candidate_us"].append(candidates[k].elapsed_us())
            waiting.clear()

        for turn, k in enumerate(order):
            if k in waiting:
                collect()  # its events are about to be used again
            first, second = (references[k], candidates[k]) if turn % 2 else (candidates[k], references[k])
            for timed in (first, second):
                timed.start()
                if timed is candidates[k] and turn == last[k]:
                    timed.hand_over()  # at once: graphs share memory, and the next may write over it
            references[k].erase()
            waiting.append(k)
        collect()
        self._look_around(snapshot)
        return samples

    def unload(self) -> None:
        for group in self._candidates.values():
            for timed in group:
                timed.close()
        self._candidates.clear()
        self._paired = []
        self._entry = None
        if self._module is not None:
            unload(self._module)
            self._module = None
        self._unloads += 1
        gc.collect(2 if self._unloads % FULL_COLLECTION_EVERY == 0 else 0)
        self._has_own_settings = False
        _restore(self._usual_settings)

    def close(self) -> None:
        self.unload()
        for group in self._references.values():
            for timed in group:
                timed.close()
        self._references.clear()
        _restore(self._settings_before)


def _restore(wanted: settings.Settings) -> None:
    """Undo what a candidate has set for the whole process; RuntimeError, which ends the worker, if that fails."""
    settings.apply(wanted)
    if settings.current() != wanted:
        raise RuntimeError("settings that a candidate made for the whole process cannot be undone")


def _alike(one: Any, other: Any) -> bool:
    """Whether two results agree to within a share of the largest value, infinities and NaN in the same places."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point():
        return bool(torch.equal(one, other))
    odd = ~torch.isfinite(other)
    if not torch.equal(odd, ~torch.isfinite(one)):
        return False
    a, b = one.masked_fill(odd, 0).float(), other.masked_fill(odd, 0).float()
    return bool((a - b).abs().max() <= REPEATS_WITHIN * b.abs().max()) if b.numel() else True


def poison(tensor: Any) -> None:
    """Fill with what is no right answer throughout, drawn each time: nobody can leave what is right for it to be so."""
    with torch.inference_mode(tensor.is_inference()):
        if tensor.is_floating_point():
            tensor.fill_(float("nan") if secrets.randbelow(2) else 2.0 + secrets.randbelow(1 << 10) / (1 << 8))
        elif tensor.dtype is not torch.bool:
            tensor.fill_(2 + secrets.randbelow(120))
        elif tensor.is_contiguous():
            first = secrets.randbelow(2)
            tensor.view(-1)[first::2].fill_(True)
            tensor.view(-1)[1 - first :: 2].fill_(False)
        else:
            tensor.fill_(bool(secrets.randbelow(2)))


def is_sticky(error: BaseException) -> bool:
    """True for device errors after which the context can do nothing more."""
    text = str(error)
    signs = ("illegal memory access", "misaligned address", "assert triggered", "unspecified launch failure")
    more = ("CUDA error 7", "illegal instruction", "hardware stack error", "invalid program counter", "ILLEGAL_ADDRESS")
    return any(sign in text for sign in (*signs, *more))
