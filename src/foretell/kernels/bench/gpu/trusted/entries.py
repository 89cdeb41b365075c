"""A reference or candidate as a function of its inputs, in a process that may run foreign code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foretell.kernels.languages import built
from foretell.kernels.languages.python_source import Entry, entry_of, load_module
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.tasks.runtime import Runtime


def entry(runtime: Runtime, source: str | None, files: Mapping[str, bytes], device: str) -> Entry:
    """The candidate's entry, or the reference's if there is no source; `files` are what a builder left for it."""
    if source is None:
        return runtime.reference(device)
    built.keep(source, files)
    built.use(source, cache_dir())
    with runtime.modules():
        module: Any = load_module(source)
    return entry_of(module, runtime.init_inputs, device, lambda: runtime.reference(device))
