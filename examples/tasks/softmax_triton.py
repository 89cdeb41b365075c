"""A candidate for the task softmax of the library: each row is read twice and written once, by one program."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * columns
    top = tl.full((BLOCK,), float("-inf"), tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + i, mask=i < columns, other=float("-inf"))
        higher = tl.maximum(top, v)
        total = tl.where(higher == float("-inf"), 0.0, total * tl.exp(top - higher) + tl.exp(v - higher))
        top = higher
    highest = tl.max(top, 0)
    whole = tl.sum(tl.where(top == float("-inf"), 0.0, total * tl.exp(top - highest)), 0)
    for start in range(0, columns, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row + i, mask=i < columns)
        tl.store(out + row + i, tl.exp(v - highest) / whole, mask=i < columns)


def kernel(x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row."""
    out = torch.empty_like(x)
    softmax[(x.shape[0],)](x, out, x.shape[1], BLOCK=1024)
    return out
