"""torch's settings for the whole process: a candidate's are its own and go with it; references run without them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import torch

Settings = dict[str, Any]


def _places() -> dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """By name, how each setting is read and made."""

    def attribute(owner: Any, name: str) -> tuple[Callable[[], Any], Callable[[Any], Any]]:
        return lambda: getattr(owner, name), lambda value: setattr(owner, name, value)

    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    places = {
        f"cudnn.{name}": attribute(cudnn, name) for name in ("enabled", "benchmark", "deterministic", "allow_tf32")
    }
    for kind in ("fp16", "bf16"):
        name = f"allow_{kind}_reduced_precision_reduction"
        places[f"matmul.{name}"] = attribute(cuda.matmul, name)
    for kind in ("flash", "mem_efficient", "math", "cudnn"):
        places[f"attention.{kind}"] = getattr(cuda, f"{kind}_sdp_enabled"), getattr(cuda, f"enable_{kind}_sdp")
    places["matmul precision"] = torch.get_float32_matmul_precision, torch.set_float32_matmul_precision
    places["deterministic"] = torch.are_deterministic_algorithms_enabled, torch.use_deterministic_algorithms
    places["default dtype"] = torch.get_default_dtype, torch.set_default_dtype
    places["default device"] = torch.get_default_device, torch.set_default_device
    places["gradients"] = torch.is_grad_enabled, torch.set_grad_enabled
    return places


def current() -> Settings:
    """What is set; a setting that cannot be read (two ways of setting it were mixed) is None."""
    found: Settings = {}
    for name, (read, _) in _places().items():
        found[name] = None
        with suppress(RuntimeError):
            found[name] = read()
    return found


def apply(wanted: Settings) -> None:
    """Set what differs, as far as torch lets it be set."""
    now = current()
    for name, (_, make) in _places().items():
        if now[name] != wanted[name]:
            with suppress(RuntimeError):
                make(wanted[name])


@contextmanager
def under(wanted: Settings) -> Iterator[None]:
    """Other settings for a while."""
    before = current()
    apply(wanted)
    try:
        yield
    finally:
        apply(before)
