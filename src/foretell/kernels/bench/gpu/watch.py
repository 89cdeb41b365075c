"""What a candidate is seen doing in the worker: torch operations it calls, functions it replaces, memory it shares."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

# Operations that move, allocate or describe memory without computing anything.
PLUMBING = frozenset(
    (
        "empty", "empty_like", "empty_strided", "new_empty", "new_empty_strided", "zeros", "zeros_like",
        "new_zeros", "ones", "ones_like", "new_ones", "full", "full_like", "new_full", "fill_", "zero_",
        "copy_", "clone", "contiguous", "view", "_unsafe_view", "reshape", "expand", "permute", "transpose",
        "t", "unsqueeze", "squeeze", "slice", "select", "as_strided", "detach", "alias", "_to_copy", "to",
        "split", "split_with_sizes", "chunk", "unbind", "narrow", "arange", "cat", "stack", "lift_fresh",
        "_reshape_alias", "diagonal", "view_as", "resize_", "set_", "record_stream", "is_pinned",
        "_local_scalar_dense", "constant_pad_nd", "pad", "flatten", "unflatten", "movedim", "swapaxes", "T",
        "mT", "conj", "resolve_conj", "repeat", "tensor", "scalar_tensor",
    )
)  # fmt: skip


def too_much_computed(computed: Sequence[tuple[str, int]], largest: int) -> str:
    """What torch computed that was the candidate's work, in words; empty if nothing.

    Torch may compute on small things, such as a vector of partial sums: less than a quarter of the largest input at a
    time, and less than half of it in all.
    """
    for name, size in computed:
        if 4 * size >= largest:
            return f"it lets torch compute: {name} on {size} values"
    total = sum(size for _, size in computed)
    if computed and 2 * total >= largest:
        return f"it lets torch compute: {len(computed)} operations on {total} values"
    return ""


class LaunchWatch:
    """Counts a candidate's own launches in one run and leaves torch alone: a dispatch mode would slow torch.compile."""

    def __init__(self) -> None:
        self.launches = 0

    def __enter__(self) -> LaunchWatch:
        self._unhook = _count_launches(self)
        return self

    def __exit__(self, *details: Any) -> None:
        self._unhook()

    def verdict(self, inputs: Sequence[Any]) -> str:
        """Nothing that may be done here is wrong."""
        return ""


class OperationWatch(TorchDispatchMode):  # type: ignore[misc]
    """Sees every torch operation of one run, and counts the candidate's own launches.

    Where a task asks for kernels of one's own, torch may allocate, view and copy, and compute on small things such as a
    vector of partial sums; computing on the inputs themselves is the reference in disguise.
    """

    def __init__(self) -> None:
        super().__init__()
        self._computed: list[tuple[str, int]] = []
        self.launches = 0

    def __enter__(self) -> OperationWatch:
        self._unhook = _count_launches(self)
        super().__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        super().__exit__(*details)
        self._unhook()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if name not in PLUMBING:
            largest = max((a.numel() for a in _tensors(args)), default=0)
            self._computed.append((str(func), largest))
        return func(*args, **(kwargs or {}))

    def verdict(self, inputs: Sequence[Any]) -> str:
        """What is wrong with what was seen, in words; empty if nothing."""
        if self.launches == 0:
            return "it launched no kernel of its own"
        largest = max((x.numel() for x in inputs if isinstance(x, torch.Tensor)), default=0)
        return too_much_computed(self._computed, largest)


Watch = LaunchWatch | OperationWatch


def watch_for(language: str, library_calls: bool) -> Watch:
    """What looks on while a candidate runs: at every operation only where library calls are forbidden."""
    return LaunchWatch() if library_calls or language not in ("triton", "cuda") else OperationWatch()


def _tensors(args: Any) -> list[Any]:
    found = []
    for a in args:
        if isinstance(a, torch.Tensor):
            found.append(a)
        elif isinstance(a, list | tuple):
            found.extend(_tensors(a))
    return found


def _count_launches(watch: Watch) -> Any:
    """Hook Triton's and our own launches; returns what unhooks them."""
    from foretell.cuda import Program

    original_cuda = Program._launch

    def counted_cuda(self: Any, *arguments: Any) -> None:
        watch.launches += 1
        original_cuda(self, *arguments)

    Program._launch = counted_cuda  # type: ignore[method-assign,assignment]
    originals = [(owner, owner.run) for owner in _triton_functions()]

    def counted(original: Any) -> Any:
        def run(self: Any, *arguments: Any, **options: Any) -> Any:
            watch.launches += 1
            return original(self, *arguments, **options)

        return run

    for owner, original in originals:
        owner.run = counted(original)

    def unhook() -> None:
        Program._launch = original_cuda  # type: ignore[method-assign]
        for owner, original in originals:
            owner.run = original

    return unhook


def _triton_functions() -> list[Any]:
    """Triton's classes of kernels: compiled, and (once it has been imported) interpreted."""
    try:
        from triton.runtime import jit
    except ImportError:
        return []
    interpreter = sys.modules.get("triton.runtime.interpreter")
    return [jit.JITFunction, *([interpreter.InterpretedFunction] if interpreter else [])]


class Snapshot:
    """Identities of the functions that a cheat would replace, taken before any candidate is loaded."""

    _WATCHED = (
        (torch, ("empty", "empty_like", "zeros", "softmax", "matmul", "allclose", "equal")),
        (
            torch.cuda,
            ("synchronize", "Event", "Stream", "stream", "current_stream", "CUDAGraph", "graph", "empty_cache"),
        ),
        (torch.cuda.Event, ("record", "elapsed_time", "synchronize", "wait", "query")),
        (torch.cuda.Stream, ("synchronize", "wait_stream", "wait_event")),
        (torch.cuda.CUDAGraph, ("replay", "capture_begin", "capture_end")),
        (torch.Tensor, ("copy_", "fill_", "zero_", "clone", "__getitem__", "data_ptr", "double", "is_floating_point")),
        (time, ("perf_counter", "perf_counter_ns", "monotonic", "time", "time_ns")),
    )

    def __init__(self) -> None:
        self._taken = {(owner, name): getattr(owner, name, None) for owner, names in self._WATCHED for name in names}
        self._threads = threading.active_count()
        self._own = self._harness()

    @staticmethod
    def _harness() -> dict[tuple[int, str], Any]:
        from foretell import cuda
        from foretell.kernels.bench.gpu import driver, platform, session

        watched: list[tuple[Any, str]] = [(driver, "synchronize"), (driver, "call"), (driver, "forbid_persisting_l2")]
        watched += [(driver.Event, n) for n in ("record", "record_in_graph", "elapsed_us")]
        watched += [(session.Timed, n) for n in ("start", "elapsed_us", "erase", "hand_over", "_captured")]
        watched += [(platform.Cuda, n) for n in ("capture", "event", "synchronize", "using", "forbid_persisting_l2")]
        watched += [(session.Session, n) for n in ("load", "check", "pairs", "prepare")] + [(session, "poison")]
        watched += [(cuda.Program, "_launch"), (cuda, "compile")]
        try:
            from triton.runtime import jit

            watched += [(jit.JITFunction, "run"), (jit.KernelInterface, "__getitem__")]
        except ImportError:
            pass  # no Triton here: nothing of it to replace
        return {(id(owner), name): (owner, vars(owner).get(name)) for owner, name in watched}

    def changed(self) -> str:
        """Names what was replaced or started; empty if all is as it was."""
        for (owner, name), value in self._taken.items():
            if getattr(owner, name, None) is not value and not _same_method(getattr(owner, name, None), value):
                return f"{getattr(owner, '__name__', owner)}.{name}"
        for (_, name), (owner, value) in self._own.items():
            if vars(owner).get(name) is not value:
                return f"the bench's own {name}"
        return ""


def _same_method(one: Any, other: Any) -> bool:
    """Builtin methods are made anew at each access; they are the same if they compare equal."""
    return type(one) is type(other) and bool(one == other)


def shares_memory(one: Any, other: Any) -> bool:
    """Whether the memory that two tensors span overlaps."""
    (start, end), (first, last) = _span(one), _span(other)
    return start < last and first < end


def _span(tensor: Any) -> tuple[int, int]:
    """The addresses from a tensor's first byte to behind its last."""
    start = int(tensor.data_ptr())
    if tensor.numel() == 0:
        return start, start
    reach = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    return start, start + (reach + 1) * int(tensor.element_size())
