"""Candidates that are Python modules: from source text to a callable `kernel(*inputs)`.

Four forms are taken as they are: our own (`kernel(*inputs)`), KernelBench (`class ModelNew`), GPU MODE
(`custom_kernel(data)`) and FlashInfer-Bench (`run(*inputs)`). A bare CUDA file is a fifth: it is built, and its last
host function that returns a tensor is the entry. Extensions that a module asks for (`load_inline`, `load`) are built by
`languages/extension`, and by torch only if that cannot.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from foretell.kernels.candidate import PYTHON_LANGUAGES
from foretell.kernels.languages import extension
from foretell.kernels.store.locations import cache_dir
from foretell.kernels.task import Task

Entry = Callable[..., Any]
_KEY_CHARACTERS = 40


class NoEntry(Exception):
    """The module defines none of the entries that a candidate may have."""


def load_module(source: str, folder: Path | None = None) -> ModuleType:
    """Execute source as a module from a file of its own, because Triton reads kernels back from their file."""
    if extension.is_bare(source):
        return _bare_module(source)
    key = hashlib.sha256(source.encode()).hexdigest()[:_KEY_CHARACTERS]
    place = folder or cache_dir() / "python" / key[:2]
    path = place / f"candidate_{key}.py"
    if not path.exists() or path.read_bytes() != source.encode():
        place.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{hash(id(source))}")
        partial.write_text(source, encoding="utf-8")
        partial.replace(path)
    # What torch builds for a candidate is kept under the candidate's own key: equal names do not push each other out.
    os.environ["TORCH_EXTENSIONS_DIR"] = str(cache_dir() / "extensions" / key)
    name = f"foretell_candidate_{key}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise NoEntry("the source cannot be loaded as a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and torch.compile look their module up
    try:
        with extension.patched(fallback=True) if is_extension(source) else contextlib.nullcontext():
            # Not by the loader, which would take bytecode that another candidate may have put beside the file.
            exec(compile(source, str(path), "exec"), module.__dict__)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _bare_module(source: str) -> ModuleType:
    """A bare CUDA file, built and loaded; `entry_of` finds its source in it."""
    module = extension.load(extension.build(extension.bare_sources(source), extension.usual_arch()))
    module.foretell_source = source  # type: ignore[attr-defined]
    return module


def language_of(source: str) -> str:
    """Which language a Python candidate counts as: `triton` or `cuda` where it has kernels of its own, else `torch`."""
    if "triton.jit" in source or "@jit" in source:
        return "triton"
    return "cuda" if "foretell.cuda" in source else "torch"


def language_in_run(source: str, language: str, task: Task) -> str:
    """The language of a program in a run of `language`: a problem of one's own takes kernels of any kind in Python."""
    return language_of(source) if language in PYTHON_LANGUAGES and task.kind != "library" else language


def is_extension(source: str) -> bool:
    """Whether a candidate has C++ or CUDA to be built as an extension: `load_inline`, `load` or a bare CUDA file."""
    return "cpp_extension" in source or extension.is_bare(source)


def unload(module: ModuleType) -> None:
    sys.modules.pop(module.__name__, None)


def entry_of(
    module: ModuleType,
    init_inputs: Sequence[Any] = (),
    device: str = "cuda",
    reference: Callable[[], Entry] | None = None,
) -> Entry:
    """The module's entry as a function of the inputs; NoEntry where it has none.

    A `ModelNew` is built here, with the same seed the problem's `Model` is built with, so that both draw equal weights.
    A bare CUDA file is given the parameters of the `reference`'s model, in the order of its `state_dict`.
    """
    if (source := getattr(module, "foretell_source", None)) is not None:
        model = getattr(reference(), "model", None) if reference is not None else None
        weights = {} if model is None else {name: one.detach().clone() for name, one in model.state_dict().items()}
        return extension.bound_entry(module, source, weights, init_inputs)
    if hasattr(module, "ModelNew"):
        return build_model(module.ModelNew, init_inputs, device)
    if callable(getattr(module, "custom_kernel", None)):
        custom = module.custom_kernel

        def kernel_of_data(*inputs: Any) -> Any:
            return custom(inputs if len(inputs) > 1 else inputs[0])

        return kernel_of_data
    for name in ("kernel", "run"):
        entry: Any = getattr(module, name, None)
        if callable(entry) and not hasattr(entry, "arg_names"):  # a Triton kernel is not the function that launches it
            function: Entry = entry
            return function
    raise NoEntry("the module defines none of class ModelNew, custom_kernel(data), kernel(*inputs), run(*inputs)")


def on_device(value: Any, device: str) -> Any:
    """The value there; as it is if it is there already, which asks nothing of a torch without CUDA."""
    if not hasattr(value, "element_size") or value.device.type == device:
        return value
    return value.to(device)


def build_model(model: Callable[..., Any], init_inputs: Sequence[Any], device: str) -> Entry:
    """A torch module on the device with the fixed seed of model weights, without gradients.

    It is made on the CPU and then moved, as KernelBench does.
    """
    import torch

    torch.manual_seed(0)
    with torch.no_grad():
        built = model(*init_inputs).to(device)

    def forward(*inputs: Any) -> Any:
        with torch.no_grad():
            return built(*inputs)

    forward.model = built  # type: ignore[attr-defined]
    return forward
