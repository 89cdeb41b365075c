"""References and candidates of a task as host code to record."""

from __future__ import annotations

from typing import Any

from foretell.kernels.device import Device
from foretell.kernels.languages.extension.bare import bound_entry, is_bare
from foretell.kernels.languages.python_source import Entry, entry_of, is_extension, load_module
from foretell.kernels.multiprocessor import capability_of
from foretell.kernels.record.launches import arch_of
from foretell.kernels.record.recorder import Host


def candidate_host(runtime: Any, workload: Any, source: str, language: str, device: Device) -> Host:
    """A candidate's source; its module is executed once, and a model in it is built anew for every entry.

    Bare CUDA files are called with the inputs, then with the parameters of the reference's model.
    """
    loaded: list[Any] = []
    bare = is_bare(source)

    def entry() -> Entry:
        if not loaded:
            with runtime.modules():
                loaded.append(_bare_module(source, device) if bare else load_module(source))
        if not bare:
            return entry_of(loaded[0], runtime.init_inputs)
        model = getattr(runtime.traced_reference(), "model", None)
        kernel: Any = bound_entry(loaded[0], source, model.state_dict() if model else {}, runtime.init_inputs)
        kernel.model = model
        return kernel  # type: ignore[no-any-return]

    extension = bare or is_extension(source)
    return Host(entry, lambda: runtime.traced_inputs(workload), workload.name, language, extension)


def _bare_module(source: str, device: Device) -> Any:
    from foretell.kernels.languages import extension

    return extension.load(extension.build(extension.bare_sources(source), arch_of(capability_of(device))))


def reference_host(runtime: Any, workload: Any) -> Host:
    """The task's reference."""
    return Host(runtime.traced_reference, lambda: runtime.traced_inputs(workload), workload.name, "torch")
