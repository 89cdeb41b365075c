"""Backend settings that change what a library call computes or how fast."""

from __future__ import annotations

_FAMILIES = frozenset({"matmul", "convolution", "attention", "recurrent", "normalisation"})


def flags_in_force(family: str) -> tuple[tuple[str, str | bool], ...]:
    """The settings that differ from torch's defaults, for families of operators that heed them."""
    if family not in _FAMILIES:
        return ()
    import torch

    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    found: list[tuple[str, str | bool]] = []
    precision = torch.get_float32_matmul_precision()
    if precision != "highest":
        found.append(("matmul_precision", precision))
    for name, value, usual in (
        ("cudnn_tf32", bool(cudnn.allow_tf32), True),
        ("cudnn_benchmark", bool(cudnn.benchmark), False),
        ("cudnn_enabled", bool(cudnn.enabled), True),
        ("deterministic", bool(torch.are_deterministic_algorithms_enabled()), False),
        ("fp16_reduction", bool(matmul.allow_fp16_reduced_precision_reduction), True),
        ("bf16_reduction", bool(matmul.allow_bf16_reduced_precision_reduction), True),
    ):
        if value is not usual:
            found.append((name, value))
    return tuple(found)
