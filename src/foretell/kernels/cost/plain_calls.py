"""Library calls written as plain data (operator, arguments; a tensor as shape and dtype) as steps of a Program."""

from __future__ import annotations

from typing import Any

from foretell.kernels.program import LibraryCall, View


def as_call(operator: str, arguments: list[Any]) -> LibraryCall:
    """The call with the views of its results; each tensor is a buffer of its own."""
    import torch

    buffers: list[int] = []

    def view(tensor: torch.Tensor) -> View:
        buffers.append(len(buffers))
        shape, strides = tuple(tensor.shape), tuple(tensor.stride())
        return View(buffers[-1], 0, str(tensor.dtype).removeprefix("torch."), shape, strides)

    def made(value: Any) -> Any:
        if isinstance(value, list):
            return [made(each) for each in value]
        if not isinstance(value, dict):
            return value
        tensor = torch.empty(value["tensor"], dtype=getattr(torch, value["dtype"]), device="meta")
        if value.get("fill") == "permuted":
            order = range(len(value["tensor"]) - 1, -1, -1)
            return torch.empty(value["tensor"][::-1], dtype=tensor.dtype, device="meta").permute(*order)
        strides = value.get("strides")
        return tensor.t().contiguous().t() if strides is not None and strides[0] == 1 else tensor

    def viewed(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return tuple(viewed(each) for each in value)
        return view(value) if isinstance(value, torch.Tensor) else value

    name, _, overload = operator.removeprefix("aten::").partition(".")
    function = getattr(torch.ops.aten, name)
    values = made(arguments)
    if overload == "input":  # recurrent layers would be run step by step
        source, hidden, layers = values[0], values[2][1].shape[1], values[4]
        state = torch.empty([layers, source.shape[0], hidden], dtype=source.dtype, device="meta")
        outcome = [torch.empty([*source.shape[:2], hidden], dtype=source.dtype, device="meta"), state]
    elif name == "scaled_dot_product_attention":
        outcome = torch.empty([*values[0].shape[:-1], values[2].shape[-1]], dtype=values[0].dtype, device="meta")
    else:
        outcome = (getattr(function, overload) if overload else function)(*values)
    results = outcome if isinstance(outcome, list | tuple) else [outcome]
    full = operator if "." in operator else f"{operator}.default"
    return LibraryCall(full, viewed(values), (), tuple(view(each) for each in results if each is not None))
