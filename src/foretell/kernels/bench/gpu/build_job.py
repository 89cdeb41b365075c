"""One build, in a sandboxed process: the candidate's host code runs on fake tensors, its launches are compiled."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from foretell.kernels.languages import built
from foretell.kernels.languages.diagnostics import diagnostics, plain
from foretell.kernels.languages.extension import is_bare
from foretell.kernels.languages.python_source import NoEntry, entry_of, is_extension, load_module, unload
from foretell.kernels.measurement import Status
from foretell.kernels.protocols import Build
from foretell.kernels.store.locations import cache_dir

if TYPE_CHECKING:
    from foretell.kernels.tasks.runtime import Runtime

MESSAGE_CHARACTERS = 2000
_COMPILERS = ("CompilationError", "CompileError", "PTXASError", "OutOfResources", "UnsupportedLanguageConstruct")


def job(payload: bytes) -> bytes:
    """`build` for the sandbox's server: from and to JSON, with no GPU and caches of its own."""
    told = json.loads(payload)
    capability = int(told["capability"])
    cache = cache_dir()
    os.environ.update(
        CUDA_VISIBLE_DEVICES="",
        TRITON_CACHE_DIR=str(cache / "triton"),
        TORCHINDUCTOR_CACHE_DIR=str(cache / "inductor"),
        TORCH_CUDA_ARCH_LIST=f"{capability // 10}.{capability % 10}",
    )
    built.settle(cache)
    return json.dumps(build(told).to_dict()).encode()


def build(job: dict[str, Any]) -> Build:
    """What building the candidate gives; failures are values."""
    from foretell.kernels.record.tracing import fake_mode, launch_features, trace
    from foretell.kernels.tasks import BadTask, from_spec
    from foretell.kernels.tasks.runtime import runtime_of

    source, capability = job["source"], job["capability"]
    task = from_spec(job["spec"])
    try:
        runtime = runtime_of(task)
    except BadTask as error:
        return Build(Status.OK, plain(f"not traced: {error}", 300), {})  # the judge says so, where the user sees it
    if job["language"] == "torch":
        return _build_torch(source, runtime)
    counts: list[int] = []

    def run() -> None:
        with runtime.modules():
            module = load_module(source)
        try:
            with fake_mode():
                entry = entry_of(module, runtime.init_inputs, reference=runtime.traced_reference)
                for workload in (*task.workloads, *task.extra):
                    entry(*runtime.traced_inputs(workload))
                    counts.append(1)
        finally:
            unload(module)

    try:
        launches = trace(run, capability, job["launcher"], job["multiprocessors"])
    except (SyntaxError, NoEntry) as error:
        return Build(Status.COMPILE_ERROR, plain(f"{type(error).__name__}: {error}", MESSAGE_CHARACTERS))
    except Exception as error:
        kind, text = type(error).__name__, str(error)
        if kind in _COMPILERS or "PassManager" in text:
            return Build(Status.COMPILE_ERROR, f"{kind}: {diagnostics(text, source)}")
        if kind == "NameError":
            return Build(Status.COMPILE_ERROR, plain(f"{kind}: {text}", MESSAGE_CHARACTERS))
        # Host code that fake tensors cannot follow (reading values, raw pointers) is left to the worker.
        return Build(Status.OK, plain(f"not traced: {kind}: {text}", 300), {})
    features = launch_features(launches[: max(1, len(launches) // max(1, len(counts)))], capability)
    return Build(Status.OK, "", features)


def _build_torch(source: str, runtime: Runtime) -> Build:
    """Plain torch programs have nothing to compile beforehand; extensions are built here, for the worker to find."""
    try:
        if not is_bare(source):
            compile(source, "candidate.py", "exec")
        if is_extension(source):
            with runtime.modules():
                unload(load_module(source))
    except (SyntaxError, ValueError, ImportError, RuntimeError, OSError) as error:
        text = f"{type(error).__name__}: {error}"
        if is_extension(source):
            return Build(Status.COMPILE_ERROR, diagnostics(text, source))
        return Build(Status.COMPILE_ERROR, plain(text, MESSAGE_CHARACTERS))
    return Build(Status.OK, "", {})
