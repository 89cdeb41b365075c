"""Inside the worker's process: a problem's tensors, one candidate at a time, and the stopwatch.

Everything here shares a process with foreign code. So it holds nothing worth stealing (no expected values, no seeds),
takes its clock from the driver and not from anything Python can patch, and reports; judging is done elsewhere.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Sequence
from typing import Any

import torch

from foretell.kernels.bench.gpu import driver
from foretell.kernels.bench.gpu.problem import Problem, as_list
from foretell.kernels.bench.gpu.watch import OperationWatch, Snapshot, shares_memory
from foretell.kernels.languages.python_source import Entry, entry_of, load_module, unload

FLUSH_BYTES = 160 << 20
FULL_COLLECTION_EVERY = 16  # candidates: a full collection takes as long as a measurement


class Refused(Exception):
    """The candidate broke a rule; `status` is how the judge should take it."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(message)
        self.status = status


class Timed:
    """A program on one set of inputs, ready to be run and timed again and again.

    Captured into a CUDA graph with the cache flush before it and event nodes around it where the program allows it;
    launched as it is, between two events, where not.
    """

    def __init__(
        self,
        run: Callable[[], list[Any]],
        flush: Any,
        stream: Any,
        pool: Any,
        keep: Sequence[Any],
        capture: bool,
        watch: contextlib.AbstractContextManager[Any],
    ) -> None:
        self._run, self._flush, self._stream, self._pool, self._keep = run, flush, stream, pool, keep
        self._watch = watch
        self._start, self._end = driver.Event(), driver.Event()
        self._graph: Any = None
        self.outputs: list[Any] = []
        if capture:
            self._capture()

    def _capture(self) -> None:
        """By hand and not by `torch.cuda.graph`, which empties the allocator's cache before every capture."""
        graph = torch.cuda.CUDAGraph()
        handle = self._stream.cuda_stream
        with torch.cuda.stream(self._stream):
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                self._flush.zero_()
                self._start.record_in_graph(handle)
                with self._watch:
                    self.outputs = self._run()
                self._end.record_in_graph(handle)
                for kept, output in zip(self._keep, self.outputs, strict=False):
                    kept.copy_(output)
            except BaseException:
                self.outputs = []
                with contextlib.suppress(RuntimeError):
                    graph.capture_end()
                raise
            graph.capture_end()
        self._graph = graph

    @property
    def captured(self) -> bool:
        return self._graph is not None

    def start(self) -> None:
        """Queue one timed run behind poisoned outputs and a flushed cache."""
        with torch.cuda.stream(self._stream):
            if self._graph is not None:
                for output in self.outputs:
                    poison(output)
                self._graph.replay()
                return
            for kept in self._keep:
                poison(torch.empty_like(kept))  # so that memory handed out next holds no old result
            self._flush.zero_()
            self._start.record(self._stream.cuda_stream)
            outputs = self._run()
            self._end.record(self._stream.cuda_stream)
            for kept, output in zip(self._keep, outputs, strict=False):
                kept.copy_(output)

    def erase(self) -> None:
        """Overwrite the results, so that nothing can read them from memory later."""
        with torch.cuda.stream(self._stream):
            for output in (*self.outputs, *self._keep):
                poison(output)

    def elapsed_us(self) -> float:
        return self._start.elapsed_us(self._end)

    def close(self) -> None:
        self._graph = None
        self.outputs = []
        self._start.close()
        self._end.close()


class Session:
    """A problem on the device, shared with the judge, and the candidate that is being measured on it.

    `inputs[case][set]` and `rings[case][set]` lie in the judge's memory: it fills the first and reads the second.
    """

    def __init__(
        self, problem: Problem, inputs: list[list[list[Any]]], rings: list[list[list[Any]]], check_sets: int
    ) -> None:
        self._problem, self._inputs, self._rings, self._check_sets = problem, inputs, rings, check_sets
        self._flush = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")
        self._stream = torch.cuda.Stream()
        self._pool = torch.cuda.graph_pool_handle()
        self._references: dict[int, list[Timed]] = {}
        self._candidates: dict[int, list[Timed]] = {}
        self._entry: Entry | None = None
        self._module: Any = None
        self._unloads = 0
        self._language = ""
        self.reference_entry = problem.reference("cuda")

    def load(self, source: str, language: str, snapshot: Snapshot) -> dict[str, Any]:
        """Load a candidate and run it on every checked set, its outputs going into the rings."""
        self._language = language
        self._module = load_module(source)
        self._entry = entry_of(self._module, self._problem.init_inputs)
        watch = OperationWatch(language)
        launches = 0
        for index, case in enumerate(self._problem.cases):
            for number in range(self._check_sets if case.timed else 1):
                inputs = self._inputs[index][number]
                first = index == 0 and number == 0
                with torch.cuda.stream(self._stream):
                    outputs = self._checked_run(watch if first else None, inputs, index)
                    for kept, output in zip(self._rings[index][number], outputs, strict=True):
                        kept.copy_(output)
                if first:
                    launches = watch.launches
        driver.synchronize()
        self._look_around(snapshot)
        return {"launches": launches}

    def _look_around(self, snapshot: Snapshot) -> None:
        changed = snapshot.changed()
        if changed:
            raise Refused("cheat", f"it replaced {changed}")
        if driver.persisting_l2_bytes() > 0:
            raise Refused("cheat", "it set L2 aside for data that survives a flush")

    def _checked_run(self, watch: OperationWatch | None, inputs: list[Any], index: int) -> list[Any]:
        assert self._entry is not None
        if watch is None:
            outputs = as_list(self._entry(*inputs))
        else:
            with watch:
                outputs = as_list(self._entry(*inputs))
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
            if any(isinstance(x, torch.Tensor) and shares_memory(output, x) for x in inputs):
                raise Refused("cheat", f"output {number} lies in the memory of an input")
        return outputs

    def prepare(self, index: int) -> str:
        """Make the timed forms of reference and candidate for one case; says how the candidate is timed."""
        numbers = range(self._check_sets, len(self._inputs[index]))
        if index not in self._references:
            self._references[index] = [self._timed(self.reference_entry, index, n, [], None) for n in numbers]
        assert self._entry is not None
        driver.forbid_persisting_l2()
        self._candidates[index] = [
            self._timed(self._entry, index, n, self._rings[index][n], OperationWatch(self._language)) for n in numbers
        ]
        return "graph" if all(timed.captured for timed in self._candidates[index]) else "events"

    def _timed(self, entry: Entry, index: int, number: int, keep: Sequence[Any], watch: OperationWatch | None) -> Timed:
        """A program ready to be timed; a candidate is watched while it is captured, as it was when it was checked."""
        inputs = self._inputs[index][number]
        parts = (self._flush, self._stream, self._pool, keep)

        def run() -> list[Any]:
            return as_list(entry(*inputs))

        with torch.cuda.stream(self._stream):
            run()
        driver.synchronize()
        try:
            captured = Timed(run, *parts, True, watch or contextlib.nullcontext())
        except (RuntimeError, driver.CudaError) as error:
            if is_sticky(error):
                raise
            driver.synchronize()
            return Timed(run, *parts, False, contextlib.nullcontext())
        fault = watch.verdict(inputs) if watch is not None else ""
        if fault:
            raise Refused("cheat", f"{fault}, where it is timed")
        return captured

    def pairs(self, index: int, count: int, snapshot: Snapshot) -> dict[str, Any]:
        """`count` interleaved pairs over the timed sets, in alternating order."""
        references, candidates = self._references[index], self._candidates[index]
        samples: dict[str, list[float]] = {"reference_us": [], "candidate_us": []}
        done = 0
        while done < count:
            group = range(min(len(candidates), count - done))
            for k in group:
                first, second = (references[k], candidates[k]) if (done + k) % 2 else (candidates[k], references[k])
                first.start()
                second.start()
                references[k].erase()
            driver.synchronize()
            for k in group:
                samples["reference_us"].append(references[k].elapsed_us())
                samples["candidate_us"].append(candidates[k].elapsed_us())
            done += len(group)
        self._look_around(snapshot)
        return samples

    def unload(self) -> None:
        for group in self._candidates.values():
            for timed in group:
                timed.close()
        self._candidates.clear()
        self._entry = None
        if self._module is not None:
            unload(self._module)
            self._module = None
        self._unloads += 1
        gc.collect(2 if self._unloads % FULL_COLLECTION_EVERY == 0 else 0)

    def close(self) -> None:
        self.unload()
        for group in self._references.values():
            for timed in group:
                timed.close()
        self._references.clear()


def poison(tensor: Any) -> None:
    """Fill with NaN (or the smallest integer): what no right answer holds."""
    with torch.inference_mode(tensor.is_inference()):
        if tensor.is_floating_point():
            tensor.fill_(float("nan"))
        else:
            tensor.fill_(-113 if tensor.dtype is not torch.bool else True)


def is_sticky(error: BaseException) -> bool:
    """True for device errors after which the context can do nothing more."""
    text = str(error)
    signs = ("illegal memory access", "misaligned address", "assert triggered", "unspecified launch failure")
    more = ("CUDA error 7", "illegal instruction", "hardware stack error", "invalid program counter", "ILLEGAL_ADDRESS")
    return any(sign in text for sign in (*signs, *more))
