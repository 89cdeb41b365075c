"""Attention for writing many answers at once: which of torch's kernels, and in which shape."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

FOLDED = "foretell_folded"
_FOLDABLE = "sdpa"


def unplanned() -> AbstractContextManager[None]:
    """Attention without cuDNN's, which plans for every new shape.

    Answers grow by a token a step, so every step has a new shape: on an H200 (torch 2.11) planning takes longer than
    the step itself.
    """
    attention: Any = importlib.import_module("torch.nn.attention")
    backend = attention.SDPBackend
    found: AbstractContextManager[None] = attention.sdpa_kernel(
        [backend.FLASH_ATTENTION, backend.EFFICIENT_ATTENTION, backend.MATH]
    )
    return found


@contextmanager
def folded(decoder: Any) -> Iterator[None]:
    """Few queries against many keys, where a mask of four dimensions is given.

    Query heads that share keys stand as further queries of one head: keys and values are read once, and are not copied
    for each head as they are with a mask otherwise. Decoders that do not use torch's attention are left as they are.
    """
    before = getattr(decoder.config, "_attn_implementation", None)
    if before != _FOLDABLE:
        yield
        return
    transformers: Any = importlib.import_module("transformers")
    transformers.AttentionInterface.register(FOLDED, attend)
    decoder.config._attn_implementation = FOLDED
    try:
        yield
    finally:
        decoder.config._attn_implementation = before


def attend(
    module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: float | None = None, **_: Any
) -> tuple[Any, None]:
    """As `transformers` calls it: query (rows, heads, queries, size), key and value with fewer heads."""
    torch: Any = importlib.import_module("torch")
    rows, heads, queries, size = query.shape
    sharing = heads // key.shape[1]
    asked = query.reshape(rows, key.shape[1], sharing * queries, size)
    mask = attention_mask[..., : key.shape[2]].repeat(1, 1, sharing, 1)
    found = torch.nn.functional.scaled_dot_product_attention(asked, key, value, attn_mask=mask, scale=scaling)
    return found.reshape(rows, heads, queries, size).transpose(1, 2).contiguous(), None
