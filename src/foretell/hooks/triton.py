"""A performance model and a pruner for Triton's autotuner: fewer configurations are run, none more is compiled.

    @triton.autotune(
        configs=[...],
        key=["M", "N", "K"],
        prune_configs_by={"perf_model": performance_model(lambda: matmul), "top_k": 4},
    )
    @triton.jit
    def matmul(...): ...

Triton tells a performance model the arguments and one configuration, but not whose they are: hence `lambda: matmul`,
the kernel's own name, looked up when the first call is tuned. A configuration is compiled for the device as the
autotuner would (and is found in Triton's cache when it is run), read, followed in a dry run and forecast.

No GPU is needed where `device` is named: see `expected_ms`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from foretell.hooks.launch import Given, launch_ms
from foretell.kernels.device import Device
from foretell.kernels.multiprocessor import capability_of

__all__ = ["early_config_prune", "expected_ms", "performance_model"]

Kernel = Any  # what `triton.jit`, `triton.heuristics` or `triton.autotune` made, or a function that returns it

WITHIN = 1.25  # keeps half of the configurations and 99 % of the speed (docs/results/hooks.md)
_NOT_BUILT = frozenset(
    (
        "CompilationError",
        "CompileTimeAssertionFailure",
        "OutOfResources",
        "PTXASError",
        "UnsupportedLanguageConstruct",
    )
)


def performance_model(kernel: Kernel, device: Device | str | None = None) -> Callable[..., float]:
    """For `prune_configs_by={"perf_model": ...}`: the expected time of a configuration in milliseconds.

    Infinite for one that does not build or does not fit on the device, which is this machine's GPU unless it is named.
    """

    def model(**call: Any) -> float:
        return _call_ms(kernel, call, _device(device))

    return model


def early_config_prune(
    kernel: Kernel, device: Device | str | None = None, within: float = WITHIN
) -> Callable[..., list[Any]]:
    """For `prune_configs_by={"early_config_prune": ...}`: configurations expected to be nearly as fast as the fastest.

    Kept are those whose expected time is at most `within` times the least, in the order they were given. Unlike a
    performance model it is shown configurations whole, so their own `pre_hook` is run before they are compiled.
    """

    def prune(configs: Sequence[Any], named_args: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        times_ms = expected_ms(kernel, configs, named_args, device=device, **kwargs)
        most = within * min(times_ms)
        return [config for config, ms in zip(configs, times_ms, strict=True) if ms <= most]

    return prune


def expected_ms(
    kernel: Kernel,
    configs: Sequence[Any],
    named_args: Mapping[str, Any],
    *,
    device: Device | str | None = None,
    **kwargs: Any,
) -> list[float]:
    """Expected milliseconds of a kernel with each of some configurations (`triton.Config`); infinite where it fails.

    `named_args` and `kwargs` are the launch's arguments, `kwargs` with its `grid`. Tensors need no data and no GPU:
    those of torch's device `meta` do.
    """
    target = _device(device)
    times_ms = []
    for config in configs:
        call = {**named_args, **kwargs, **config.all_kwargs()}
        if config.pre_hook is not None:
            config.pre_hook(call)
        times_ms.append(_call_ms(kernel, call, target))
    return times_ms


def _call_ms(kernel: Kernel, call: Mapping[str, Any], device: Device) -> float:
    """Compile a launch for the device, read it and say how long it is expected to take."""
    from foretell.kernels.record.tracing import launch_features, trace

    launched, capability = _launched(kernel), capability_of(device)
    try:
        with _left_as_it_was(launched):
            seen = trace(lambda: launched.run(**{**call, "warmup": True}), capability, multiprocessors=device.cores)
    except Exception as error:
        if type(error).__name__ in _NOT_BUILT or "PassManager" in str(error):
            return math.inf
        raise
    return launch_ms([launch_features(seen, capability)], _given(call), device)[0]


def _device(device: Device | str | None) -> Device:
    """The device of that name, or the GPU at hand: its data sheet where there is one, else as it measures itself."""
    from foretell.kernels.bench.gpu.device import detect_gpu
    from foretell.kernels.devices import UnknownDevice, described

    if isinstance(device, Device):
        return device
    if device is not None:
        return described(device)
    import torch

    if torch.cuda.is_available():
        with suppress(UnknownDevice):
            return described(torch.cuda.get_device_name())
    return detect_gpu()


def _launched(kernel: Kernel) -> Any:
    """What the autotuner calls with a configuration: all that is below it, heuristics included."""
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import KernelInterface

    found = kernel if isinstance(kernel, KernelInterface) else kernel()
    layer = found
    while isinstance(getattr(layer, "fn", None), KernelInterface):
        if isinstance(layer, Autotuner):
            found = layer.fn
        layer = layer.fn
    return found


@contextmanager
def _left_as_it_was(kernel: Any) -> Iterator[None]:
    """Of what is compiled within, for whichever device, later launches of the kernel and Triton's driver know nothing.

    Launches find it in Triton's cache on disk where it was made for their own device.
    """
    from triton.runtime import driver

    while not hasattr(kernel, "device_caches"):
        kernel = kernel.fn
    active, caches = driver._active, kernel.device_caches
    kernel.device_caches = defaultdict(kernel.create_binder)
    try:
        yield
    finally:
        kernel.device_caches = caches
        driver._active = active


def _given(call: Mapping[str, Any]) -> list[Given]:
    """The tensors of a call, each once, those behind host-side descriptions included."""
    values = [value.base if hasattr(value, "block_shape") else value for value in call.values()]
    tensors = {id(value): value for value in values if hasattr(value, "element_size")}.values()
    return [Given(tuple(t.shape), str(t.dtype).removeprefix("torch."), t.element_size()) for t in tensors]
