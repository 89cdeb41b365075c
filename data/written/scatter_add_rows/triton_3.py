import torch
import triton
import triton.language as tl


@triton.jit
def link_kernel(index_ptr, head_ptr, next_ptr, count, BLOCK: tl.constexpr):
    """Build one linked list per vocabulary row: next[i] = exchange(head[index[i]], i)."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < count
    row = tl.load(index_ptr + i, mask=mask, other=0)
    prev = tl.atomic_xchg(head_ptr + row, i, mask=mask)
    tl.store(next_ptr + i, prev, mask=mask)


@triton.jit
def walk_kernel(base_ptr, x_ptr, head_ptr, next_ptr, out_ptr, dim, BLOCK: tl.constexpr):
    """One program per output row: sums its list in registers and writes the row exactly once. No float atomics, and
    base is copied on the way."""
    v = tl.program_id(0)
    c = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = c < dim
    row = v.to(tl.int64) * dim
    acc = tl.load(base_ptr + row + c, mask=mask, other=0.0)
    cur = tl.load(head_ptr + v)
    while cur >= 0:
        nxt = tl.load(next_ptr + cur)
        acc += tl.load(x_ptr + cur.to(tl.int64) * dim + c, mask=mask, other=0.0)
        cur = nxt
    tl.store(out_ptr + row + c, acc, mask=mask)


def kernel(base, x, index):
    vocab, dim = base.shape
    count = x.shape[0]
    out = torch.empty_like(base)
    head = torch.full((vocab,), -1, dtype=torch.int32, device=base.device)
    nxt = torch.empty((count,), dtype=torch.int32, device=base.device)
    link_kernel[(triton.cdiv(count, 256),)](index, head, nxt, count, BLOCK=256)
    BLOCK = min(512, triton.next_power_of_2(dim))
    walk_kernel[(vocab, triton.cdiv(dim, BLOCK))](
        base, x, head, nxt, out, dim, BLOCK=BLOCK, num_warps=4 if BLOCK >= 512 else 1
    )
    return out
