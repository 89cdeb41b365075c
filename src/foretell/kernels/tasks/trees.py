"""Nested lists, tuples and dicts of tensors: their leaves in a fixed order, and the same nesting around others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def leaves(tree: Any) -> list[Any]:
    """What lies in a tree, from left to right; dicts by the order of their keys. A leaf alone is a tree."""
    if isinstance(tree, dict):
        return [leaf for key in sorted(tree, key=str) for leaf in leaves(tree[key])]
    if isinstance(tree, list | tuple):
        return [leaf for branch in tree for leaf in leaves(branch)]
    return [tree]


def rebuilt(tree: Any, values: Iterator[Any]) -> Any:
    """The nesting of a tree around other leaves, given in the order of `leaves`."""
    if isinstance(tree, dict):
        made = {key: rebuilt(tree[key], values) for key in sorted(tree, key=str)}
        return {key: made[key] for key in tree}
    if isinstance(tree, list | tuple):
        branches = [rebuilt(branch, values) for branch in tree]
        if isinstance(tree, list):
            return branches
        return type(tree)(*branches) if hasattr(tree, "_fields") else tuple(branches)
    return next(values)


def is_tensor(value: Any) -> bool:
    """Whether a leaf is a torch tensor, without importing torch."""
    return hasattr(value, "element_size") and hasattr(value, "data_ptr")


def bits(tensor: Any) -> Any:
    """A tensor's values as whole numbers of the same width: equal where the memory is, NaN among them."""
    import torch

    widths = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.view(widths[tensor.element_size()]) if tensor.element_size() in widths else tensor


def tensor_bytes_of(tree: Any) -> int:
    """Bytes of all tensors in a tree."""
    return sum(leaf.numel() * leaf.element_size() for leaf in leaves(tree) if is_tensor(leaf))
