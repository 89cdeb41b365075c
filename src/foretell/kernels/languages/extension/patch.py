"""`torch.utils.cpp_extension.load_inline` and `load`, built by this package instead of torch's own builder."""

from __future__ import annotations

import functools
import inspect
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from foretell.kernels.languages.extension.builder import build
from foretell.kernels.languages.extension.errors import ExtensionError, Reason
from foretell.kernels.languages.extension.loader import load
from foretell.kernels.languages.extension.sources import (
    ExtensionSources,
    cuda_options,
    from_files,
    functions_of,
    host_options,
    texts_of,
)
from foretell.kernels.multiprocessor import USUAL_CAPABILITY

_REMARKS = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_OWN_HEADER = re.compile(r"#\s*include\s*\"")  # it may declare anything


@dataclass(frozen=True)
class Built:
    """One extension that a candidate asked for: where it is, or why it could not be built here."""

    name: str
    path: Path | None
    error: ExtensionError | None
    seconds: float


@dataclass
class Builds:
    """What was built while `patched` was in force, in order. Candidates may swallow a failure; it is here."""

    built: list[Built] = field(default_factory=list)

    @property
    def failures(self) -> list[ExtensionError]:
        """Failures that torch's own builder might not have had."""
        return [each.error for each in self.built if each.error and each.error.reason is not Reason.INVALID]


def usual_arch() -> str:
    """The architecture to build for: what torch's builder would take it from, a GPU that is here, or an H200's."""
    named = re.search(r"(\d+)\.(\d)", os.environ.get("TORCH_CUDA_ARCH_LIST", ""))
    capability = int(named[1]) * 10 + int(named[2]) if named else USUAL_CAPABILITY
    if not named:
        import torch

        if torch.cuda.is_available():
            major, minor = torch.cuda.get_device_capability()
            capability = major * 10 + minor
    return f"sm_{capability}{'a' if capability >= 90 else ''}"


@contextmanager
def patched(arch: str | None = None, fallback: bool = False) -> Iterator[Builds]:
    """Make torch's JIT builders use this package.

    A module that is executed meanwhile keeps the functions it imported, so that an extension which is only built when
    the model is made is built here too.

    Args:
        arch: Architecture to build for, such as `sm_90a`; this machine's by default.
        fallback: Hand to torch's own builder what cannot be built here, which takes a minute or more.
    """
    import torch.utils.cpp_extension as torch_builder

    builds = Builds()
    originals = {"load_inline": torch_builder.load_inline, "load": torch_builder.load}
    readers = {"load_inline": _inline_sources, "load": _file_sources}
    for name, original in originals.items():
        setattr(torch_builder, name, _replacement(original, readers[name], builds, arch, fallback))
    try:
        yield builds
    finally:
        for name, original in originals.items():
            setattr(torch_builder, name, original)


def _replacement(
    original: Callable[..., Any],
    read: Callable[[dict[str, Any]], ExtensionSources],
    builds: Builds,
    arch: str | None,
    fallback: bool,
) -> Callable[..., Any]:
    signature = inspect.signature(original)

    @functools.wraps(original)  # with its signature, for one replacement may stand before another
    def build_and_load(*positional: Any, **named: Any) -> ModuleType:
        bound = signature.bind(*positional, **named)
        bound.apply_defaults()
        started, name = time.perf_counter(), str(bound.arguments["name"])
        try:
            if not bound.arguments.get("is_python_module", True):
                raise ExtensionError(Reason.UNSUPPORTED, "an extension that is not a Python module is not offered here")
            path = build(read(bound.arguments), arch or usual_arch())
            module = load(path)
        except ExtensionError as error:
            builds.built.append(Built(name, None, error, time.perf_counter() - started))
            if fallback and error.reason is not Reason.INVALID:
                made: ModuleType = original(*positional, **named)
                return made
            raise
        builds.built.append(Built(name, path, None, time.perf_counter() - started))
        return module

    return build_and_load


def _inline_sources(given: dict[str, Any]) -> ExtensionSources:
    """Raises ExtensionError if a function is bound that the C++ texts do not declare: torch binds in those alone."""
    sources = ExtensionSources(
        name=given["name"],
        cpp=texts_of(given["cpp_sources"]),
        cuda=texts_of(given["cuda_sources"]),
        functions=functions_of(given["functions"]),
        cuda_options=cuda_options(given["extra_cuda_cflags"]),
        host_options=host_options(given["extra_cflags"]),
    )
    text = _REMARKS.sub(" ", "\n".join(sources.cpp))
    for name, _ in sources.functions if sources.cuda and not _OWN_HEADER.search(text) else ():
        if not re.search(rf"\b{re.escape(name)}\b", text):
            raise ExtensionError(Reason.INVALID, f"`functions` names {name}, which cpp_sources do not declare")
    return sources


def _file_sources(given: dict[str, Any]) -> ExtensionSources:
    return from_files(
        given["name"],
        texts_of(given["sources"]),
        cuda_options=cuda_options(given["extra_cuda_cflags"]),
        host_options=host_options(given["extra_cflags"]),
    )
