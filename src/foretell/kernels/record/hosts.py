"""References and candidates of a task as host code to record."""

from __future__ import annotations

from typing import Any

from foretell.kernels.languages.python_source import Entry, entry_of, load_module
from foretell.kernels.record.recorder import Host


def candidate_host(runtime: Any, workload: Any, source: str, language: str) -> Host:
    """A candidate's source; its module is executed once, and a model in it is built anew for every entry."""
    loaded: list[Any] = []

    def entry() -> Entry:
        if not loaded:
            with runtime.modules():
                loaded.append(load_module(source))
        return entry_of(loaded[0], runtime.init_inputs, traced=True)

    return Host(entry, lambda: runtime.traced_inputs(workload), workload.name, language)


def reference_host(runtime: Any, workload: Any) -> Host:
    """The task's reference."""
    return Host(runtime.traced_reference, lambda: runtime.traced_inputs(workload), workload.name, "torch")
