"""Recording a reference or candidate: its host code runs on fake CUDA tensors, and what it does becomes a Program.

Runs foreign host code in this process: call it in a sandbox (`job.serve` is its entry). No GPU is needed or touched.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from foretell.kernels.languages.diagnostics import ends
from foretell.kernels.languages.python_source import Entry
from foretell.kernels.limits import RECORD
from foretell.kernels.multiprocessor import capability_of
from foretell.kernels.program import Program, Role, View, Weight, buffers_written, views_in
from foretell.kernels.program_check import InvalidProgram, check
from foretell.kernels.record.launches import StubDriver, cuda_intercepted, triton_intercepted
from foretell.kernels.record.refusal import Reason, Recording, Refusal, Refused
from foretell.kernels.tasks.refusal import BadTask

if TYPE_CHECKING:
    from foretell.kernels.device import Device
    from foretell.kernels.record.assemble import Draft
    from foretell.kernels.record.configurations import Configurations
    from foretell.kernels.record.session import Session
    from foretell.kernels.record.setup import Call

MESSAGE_CHARACTERS = 500
_NOT_BUILT = frozenset({"CompilationError", "CompileError", "CompileTimeAssertionFailure", "ExtensionError", "NoEntry",
                        "OutOfResources", "PTXASError", "SyntaxError", "UnsupportedLanguageConstruct"})  # fmt: skip


_OWN_MISTAKE = re.compile(
    r"error: '\w+' was not declared in this scope\n.*\bm\.def\("
    r"|the sources have a PYBIND11_MODULE, and `functions` asks"
)


@dataclass(frozen=True)
class Host:
    """Host code to record.

    `entry` makes a fresh callable with fresh weights each time (a model has an attribute `model`); `inputs` draws fresh
    arguments each time. Both are called with fake tensors in force. `extension` says that it may build C++ or CUDA.
    """

    entry: Callable[[], Entry]
    inputs: Callable[[], Sequence[Any]]
    workload: str = ""
    language: str = "torch"
    extension: bool = False


def record_host(host: Host, device: Device) -> Recording:
    """Record host code for a GPU that need not be there. Never raises for what the host code does."""
    started = time.perf_counter()
    from foretell.kernels.record.session import Session

    session = Session(capability_of(device))
    try:
        with _recording(host, session, device) as configurations:
            recorder = _Recorder(host, session, configurations)
            program = recorder.program()
            alternatives = recorder.alternatives(program)
    except Exception as error:
        refusal = session.refusal or _refusal(error)
        return Recording(refusal=refusal, seconds=time.perf_counter() - started)
    if session.refusal is not None:  # host code swallowed it
        return Recording(refusal=session.refusal, seconds=time.perf_counter() - started)
    return Recording(program, None, alternatives, time.perf_counter() - started)


def _refusal(error: BaseException) -> Refusal:
    if isinstance(error, Refused):
        return error.refusal
    kind = type(error).__name__
    text = ends(f"{kind}: {error}", MESSAGE_CHARACTERS)
    if kind in ("DataDependentOutputException", "DynamicOutputShapeException", "GuardOnDataDependentSymNode"):
        return Refusal(Reason.DEPENDS_ON_DATA, text)
    if kind in ("UnsupportedOperatorException", "UnsupportedFakeTensorException"):
        return Refusal(Reason.OPERATOR, text)
    if isinstance(error, BadTask):
        return Refusal(Reason.TASK, error.sentence[:MESSAGE_CHARACTERS])
    if isinstance(error, InvalidProgram):
        return Refusal(Reason.TOO_LARGE if error.fault == "too large" else Reason.LAUNCH, str(error))
    if kind == "NotRecordable":
        return Refusal(Reason.HOST_DATA if "values of a tensor" in text else Reason.LAUNCH, str(error))
    if kind in _NOT_BUILT or "PassManager" in text:
        return Refusal(Reason.BUILD, text)
    return Refusal(Reason.FAILED, text)


@contextmanager
def _recording(host: Host, session: Session, device: Device) -> Iterator[Configurations]:
    """Everything that host code could reach a device by leads to the session."""
    import torch

    from foretell.kernels.record.backward import backward_walked
    from foretell.kernels.record.configurations import Configurations, autotuner_decided
    from foretell.kernels.record.dispatch import Fakes, RecordMode
    from foretell.kernels.record.extensions import extensions_intercepted
    from foretell.kernels.record.functions import FunctionMode
    from foretell.kernels.record.host import STAND_INS, torch_sees

    capability, multiprocessors = capability_of(device), device.cores
    configurations, mode = Configurations(), RecordMode(session)

    with ExitStack() as stack:
        stack.enter_context(STAND_INS)
        streams = stack.enter_context(torch_sees(capability, multiprocessors, session, device.name))
        builds = stack.enter_context(extensions_intercepted(session, streams, device)) if host.extension else None
        if "triton" in sys.modules or _has_triton():
            driver = StubDriver(capability, multiprocessors)
            stack.enter_context(triton_intercepted(session.launch, driver, session.address_of))
            stack.enter_context(autotuner_decided(configurations))
        stack.enter_context(cuda_intercepted(session.launch, capability))
        stack.enter_context(Fakes(session, allow_non_fake_inputs=True))
        stack.enter_context(mode)
        stack.enter_context(FunctionMode(session, mode))
        stack.enter_context(backward_walked())
        stack.enter_context(torch.no_grad())
        yield configurations
        for failure in builds.failures if builds is not None else ():  # host code may have swallowed it
            if _ours(failure):
                raise failure


def _ours(failure: Exception) -> bool:
    """Whether an extension may have failed to build for want of something in our headers.

    A function that is bound and never declared, or a second binding of the module, fails with torch's own builder as
    well; host code that goes another way then is recorded on that way.
    """
    return _OWN_MISTAKE.search(str(failure)) is None


def _has_triton() -> bool:
    from importlib.util import find_spec

    return find_spec("triton") is not None


class _Recorder:
    """Calls the host code and turns the session's log into Programs."""

    def __init__(self, host: Host, session: Session, configurations: Configurations) -> None:
        self._host, self._session, self._configurations = host, session, configurations
        self._earlier: set[int] = set()
        self._entry: Entry | None = None
        self._weights: tuple[Weight, ...] = ()
        self._roots: frozenset[int] = frozenset()

    def program(self) -> Program:
        """The Program, after a warm-up, recorded twice with other inputs, weights and addresses."""
        self._new_entry()
        first = self._draft(self._call())
        if self._weights:
            self._earlier |= {weight.view.buffer for weight in self._weights}
            self._new_entry()
        second = self._draft(self._call())
        return self._resolved(first, second)

    def alternatives(self, program: Program) -> tuple[Program, ...]:
        """Programs of the autotuner's further configurations; one that does not compile has none."""
        found = []
        for changed in self._configurations.alternatives()[: RECORD.alternatives]:
            self._configurations.changed = changed
            try:
                first, second = self._draft(self._call()), self._draft(self._call())
                found.append(self._resolved(first, second))
            except Exception as error:
                if _refusal(error).reason is not Reason.BUILD:
                    raise
        return tuple(found)

    def _new_entry(self) -> None:
        """A fresh entry, called once to warm up; what it keeps then is state."""
        start = len(self._session.steps)
        self._entry = self._host.entry()
        self._session.join_all()
        model = getattr(self._entry, "model", None)
        self._roots = roots_of(self._session, model, start)
        self._call(warm_up=True)
        self._weights = weights_of(self._session, model)

    def _call(self, warm_up: bool = False) -> Call:
        """Call the entry on fresh inputs. In a warm-up, tensors may still be moved to the device."""
        from foretell.kernels.record.setup import Call

        session, entry = self._session, self._entry
        with session.muted():
            inputs = self._host.inputs()
            views = tuple(session.view(tensor) for tensor in tensors_in(inputs))
        start = len(session.steps)
        session.in_run = not warm_up
        outputs = entry(*inputs) if entry else None
        session.in_run = False
        session.join_all()
        if session.refusal is not None:
            raise Refused(session.refusal.reason, session.refusal.sentence)
        call = Call(
            start,
            len(session.steps),
            views,
            self._outputs(outputs),
            frozenset(self._earlier),
            self._weights,
            self._roots,
        )
        self._earlier |= {view.buffer for view in views}
        return call

    def _outputs(self, outputs: Any) -> tuple[View, ...]:
        import torch
        from torch.utils._pytree import tree_flatten

        leaves = [leaf for leaf in tree_flatten(outputs)[0] if leaf is not None]
        if not leaves or not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
            kinds = ", ".join(sorted({type(leaf).__name__ for leaf in leaves})) or "nothing"
            raise Refused(Reason.OUTPUTS, f"it returns {kinds}")
        if any(leaf.device.type == "cpu" for leaf in leaves):
            raise Refused(Reason.OUTPUTS, "it returns a tensor on the host")
        return tuple(self._session.view(leaf) for leaf in leaves)

    def _draft(self, call: Call) -> Draft:
        from foretell.kernels.record.assemble import assemble

        return assemble(self._session, call)

    def _resolved(self, first: Draft, second: Draft) -> Program:
        from foretell.kernels.record.assemble import finished
        from foretell.kernels.record.resolve import resolved

        setup, run = resolved(self._session, first, second)
        program = finished(first, setup, run, self._session.images, self._host.workload, toolchain(), {})
        facts = facts_of(program, self._host.language)
        if first.unverified:
            facts["unverified_state"] = list(first.unverified)
        if self._session.assumptions:
            facts["assumptions"] = sorted(set(self._session.assumptions))
        if self._configurations.used:
            facts["configurations"] = dict(self._configurations.used)
        return check(finished(first, setup, run, self._session.images, self._host.workload, toolchain(), facts))


def facts_of(program: Program, language: str) -> dict[str, Any]:
    """Findings about a Program for people and forecasters."""
    written = {number for step in program.run for number in buffers_written(step)}
    roles = {program.buffers[number].role for number in written}
    weights = {weight.view.buffer for weight in program.weights}
    folded = any(view.buffer in weights for step in program.setup for view in _read_views(step))
    folded = folded or any(p.buffer in weights for step in program.setup for p in getattr(step, "pointers", ()))
    return {
        "language": language,
        "launches": len(program.launches()),
        "library_calls": len(program.library_calls()),
        "folds_weights": folded,
        "writes_inputs": Role.INPUT in roles and any(
            program.buffers[view.buffer].role is Role.INPUT
            for call in program.library_calls() for view in call.mutated
        ),
    }  # fmt: skip


def _read_views(step: Any) -> Iterator[View]:
    yield from views_in(getattr(step, "arguments", ()) if not hasattr(step, "entry") else ())


def roots_of(session: Session, model: Any, start: int) -> frozenset[int]:
    """Allocations of a model's parameters and buffers, which are weights whatever made them.

    Buffers that were computed from parameters while the model was built are not among them: setup computes them anew.
    """
    import torch

    if not isinstance(model, torch.nn.Module):
        return frozenset()
    on_device = [each for each in model.parameters() if each.device.type != "cpu"]
    roots = {session.number_of(each) for each in on_device}
    derived = _derived(session, roots, start)
    return frozenset(roots | {session.number_of(b) for b in model.buffers() if b.device.type != "cpu"} - derived)


def weights_of(session: Session, model: Any) -> tuple[Weight, ...]:
    """A model's tensors on the device by name."""
    tensors = tensors_of(model).items()
    return tuple(Weight(name, session.view(tensor)) for name, tensor in tensors if tensor.device.type != "cpu")


def tensors_of(model: Any) -> dict[str, Any]:
    """A model's tensors as recordings name them: parameters, then buffers, then plain attributes of its modules."""
    import torch

    if not isinstance(model, torch.nn.Module):
        return {}
    found = dict(model.named_parameters(remove_duplicate=False))
    for name, tensor in model.named_buffers(remove_duplicate=False):
        found.setdefault(name, tensor)
    for prefix, module in model.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                found.setdefault(f"{prefix}.{name}" if prefix else name, value)
    return found


def _derived(session: Session, roots: set[int], start: int) -> set[int]:
    from foretell.kernels.program import buffers_read

    tainted = set(roots)
    for step in session.steps[start:]:
        if buffers_read(step) & tainted:
            tainted |= buffers_written(step)
    return tainted - roots


def tensors_in(values: Any) -> list[Any]:
    """The tensors in arguments, nested or not, in order."""
    import torch
    from torch.utils._pytree import tree_flatten

    return [leaf for leaf in tree_flatten(list(values))[0] if isinstance(leaf, torch.Tensor)]


def toolchain() -> dict[str, str]:
    """What made the recording."""
    import torch

    found = {"python": ".".join(map(str, sys.version_info[:3])), "torch": str(torch.__version__)}
    triton: Any = sys.modules.get("triton")
    if triton is not None:
        found["triton"] = str(triton.__version__)
    return found


__all__ = ["Host", "facts_of", "record_host", "tensors_in", "tensors_of", "toolchain", "weights_of"]
