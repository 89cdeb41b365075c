"""References and candidates of a task as host code to record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foretell.kernels.languages.extension import bound_entry, is_bare
from foretell.kernels.languages.python_source import Entry, entry_of, is_extension, load_module
from foretell.kernels.record.recorder import Host

if TYPE_CHECKING:
    from foretell.kernels.task import Workload
    from foretell.kernels.tasks.runtime import Runtime


def candidate_host(runtime: Runtime, workload: Workload, source: str, language: str) -> Host:
    """A candidate's source; its module is executed once, and a model in it is built anew for every entry."""
    loaded: list[Any] = []

    def entry() -> Entry:
        if not loaded:
            with runtime.modules():
                loaded.append(load_module(source))
        if is_bare(source):
            return _bare_entry(runtime, loaded[0], source)
        return entry_of(loaded[0], runtime.init_inputs)

    return Host(entry, lambda: runtime.traced_inputs(workload), workload.name, language, is_extension(source))


def _bare_entry(runtime: Runtime, module: Any, source: str) -> Entry:
    """A bare CUDA file on the inputs and then the parameters of the reference's model, which are its weights."""
    model = getattr(runtime.traced_reference(), "model", None)
    kernel = bound_entry(module, source, model.state_dict() if model else {}, runtime.init_inputs)
    kernel.model = model  # type: ignore[attr-defined]
    return kernel


def reference_host(runtime: Runtime, workload: Workload) -> Host:
    """The task's reference."""
    return Host(runtime.traced_reference, lambda: runtime.traced_inputs(workload), workload.name, "torch")
