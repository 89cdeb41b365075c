"""Triton candidates run on small inputs on the CPU, in Triton's interpreter: do they agree with the reference?

No GPU is needed. The interpreter runs one program of a launch after another, so that no race is lost, and a candidate
that is right only at the sizes it was written for may fail at small ones. So `agrees` says much, `differs` little.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from foretell.kernels.languages.diagnostics import plain
from foretell.kernels.profiles import BUILDER_LIMITS
from foretell.kernels.sandbox import ForkServer, JobFailed

if TYPE_CHECKING:
    from foretell.kernels.task import Task

AGREES, DIFFERS, NOT_RUN = "agrees", "differs", "not run"
SENTENCE_CHARACTERS = 300
SEED = 0
LIMITS = replace(BUILDER_LIMITS, wall_s=240.0, cpu_s=30.0)  # the machine may be busy
_PRELOAD = "foretell.kernels.record.preload_interpreter"
_JOB = "foretell.kernels.record.interpret:serve"
_MULTIPROCESSORS = 132


@dataclass(frozen=True)
class Interpreted:
    """How a candidate did: `agrees`, `differs` or `not run`, and what was wrong."""

    verdict: str
    sentence: str = ""


@cache
def _server() -> ForkServer:
    return ForkServer((_PRELOAD,))


def interpret_apart(task: Task, source: str) -> Interpreted:
    """Run a candidate of a task of small sizes in the sandbox. Raises NoSandbox if foreign code cannot be walled in."""
    asked = json.dumps({"spec": task.spec, "source": source}).encode()
    try:
        reply = json.loads(_server().call(_JOB, asked, LIMITS))
        verdict, sentence = str(reply["verdict"]), str(reply["sentence"])
    except JobFailed as failure:
        verdict, sentence = NOT_RUN, f"its process {failure.ending}"
    except (ValueError, TypeError, LookupError, RecursionError):
        verdict, sentence = NOT_RUN, "its process answered in its own way"
    known = verdict if verdict in (AGREES, DIFFERS) else NOT_RUN
    return Interpreted(known, plain(sentence, SENTENCE_CHARACTERS))


def serve(payload: bytes) -> bytes:
    """Answer a question of `interpret_apart`, in a sandboxed process."""
    from foretell.kernels.tasks import from_spec

    asked: Mapping[str, Any] = json.loads(payload)
    try:
        found = interpret(from_spec(asked["spec"]), asked["source"])
    except Exception as error:
        found = Interpreted(NOT_RUN, f"{type(error).__name__}: {error}")
    return json.dumps({"verdict": found.verdict, "sentence": found.sentence}).encode()


def interpret(task: Task, source: str) -> Interpreted:
    """Run a candidate in this process, which has Triton's interpreter, and compare it with the reference.

    Raises whatever the candidate raises.
    """
    import torch

    from foretell.kernels.bench.gpu.compare import mismatch
    from foretell.kernels.languages.python_source import entry_of, load_module
    from foretell.kernels.tasks.runtime import runtime_of
    from foretell.kernels.tasks.trees import leaves

    runtime, workload = runtime_of(task), task.workloads[0]
    expected = [each.clone() for each in runtime.expected(runtime.inputs(workload, SEED, "cpu"), "cpu")]
    with _as_if_on_gpu():
        entry = entry_of(load_module(source), runtime.init_inputs, "cpu")
        outputs = leaves(entry(*runtime.inputs(workload, SEED, "cpu")))
    if [tuple(each.shape) for each in outputs] != [tuple(each.shape) for each in expected]:
        shapes = ", ".join(str(tuple(each.shape)) for each in outputs)
        return Interpreted(DIFFERS, f"its outputs have the shapes {shapes}")
    for output, want in zip(outputs, expected, strict=True):
        wrong = mismatch(torch, output, want, task.tolerance)
        if wrong:
            return Interpreted(DIFFERS, wrong)
    return Interpreted(AGREES)


@contextlib.contextmanager
def _as_if_on_gpu() -> Iterator[None]:
    """Tensors of the CPU that say they are on a GPU, for this process, and an autotuner that takes what comes first."""
    import torch
    from torch.overrides import TorchFunctionMode
    from triton.runtime.autotuner import Autotuner

    class OnHost(TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = dict(kwargs or {})
            if "cuda" in str(kwargs.get("device", "")):
                kwargs["device"] = "cpu"
            if function in (torch.Tensor.to, torch.Tensor.cuda):
                args = tuple(each for each in args if isinstance(each, torch.Tensor) or "cuda" not in str(each))
                if function is torch.Tensor.cuda or (len(args) == 1 and not kwargs):
                    return args[0]
            return function(*args, **kwargs)

    device = SimpleNamespace(multi_processor_count=_MULTIPROCESSORS, major=9, minor=0, name="NVIDIA H200")
    torch.Tensor.is_cuda = True
    torch.cuda.get_device_properties = lambda *_: device
    torch.cuda.current_device = lambda: 0
    torch.cuda.get_device_capability = lambda *_: (9, 0)
    torch.cuda.device = lambda *_: contextlib.nullcontext()
    Autotuner._bench = lambda *_, **__: 0.0
    with OnHost():
        yield
