"""References and candidates of a task as host code to record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foretell.kernels.languages.extension import bound_entry, is_bare
from foretell.kernels.languages.python_source import Entry, entry_of, is_extension, load_module
from foretell.kernels.record.recorder import Host
from foretell.kernels.record.refusal import Reason, Refused
from foretell.kernels.tasks.refusal import BadTask, Refusal
from foretell.kernels.tasks.trees import tensor_bytes_of

if TYPE_CHECKING:
    from foretell.kernels.device import Device
    from foretell.kernels.task import Workload
    from foretell.kernels.tasks.runtime import Runtime


def candidate_host(runtime: Runtime, workload: Workload, source: str, language: str, device: Device) -> Host:
    """A candidate's source; its module is executed once, and a model in it is built anew for every entry."""
    loaded: list[Any] = []

    def entry() -> Entry:
        if not loaded:
            with runtime.modules():
                loaded.append(load_module(source))
        if is_bare(source):
            return _bare_entry(runtime, loaded[0], source)
        return entry_of(loaded[0], runtime.init_inputs)

    return Host(entry, lambda: _inputs(runtime, workload, device), workload.name, language, is_extension(source))


def _inputs(runtime: Runtime, workload: Workload, device: Device) -> list[Any]:
    """Inputs without memory; BadTask if the task's code cannot make them, Refused if no device could hold them."""
    try:
        inputs = runtime.traced_inputs(workload)
        size_bytes = tensor_bytes_of(inputs)
    except (BadTask, Refused):
        raise
    except (Exception, SystemExit) as error:  # foreign code: whatever it raises is its result
        what = f"making its inputs fails at {workload.name}: {type(error).__name__}: {error}"
        raise BadTask(Refusal.DOES_NOT_RUN, what, "code that returns tensors") from error
    if size_bytes > device.memory_bytes:
        raise Refused(Reason.MEMORY, f"its inputs alone take {size_bytes / 1e9:.3g} GB")
    return inputs


def _bare_entry(runtime: Runtime, module: Any, source: str) -> Entry:
    """A bare CUDA file on the inputs and then the parameters of the reference's model, which are its weights."""
    model = getattr(runtime.traced_reference(), "model", None)
    kernel = bound_entry(module, source, model.state_dict() if model else {}, runtime.init_inputs)
    kernel.model = model  # type: ignore[attr-defined]
    return kernel


def reference_host(runtime: Runtime, workload: Workload, device: Device) -> Host:
    """The task's reference."""
    return Host(runtime.traced_reference, lambda: _inputs(runtime, workload, device), workload.name, "torch")
