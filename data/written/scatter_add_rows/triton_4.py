import torch
import triton
import triton.language as tl


# Counting sort of the indices, then a segmented sum:
#   1. rank[i] = position of i within its row's bucket, counts[row] (int atomics)
#   2. exclusive scan of counts (one program)
#   3. order[start[row] + rank[i]] = i
#   4. out[row] = base[row] + sum of x[order[start:end]]


@triton.jit
def rank_kernel(index_ptr, counts_ptr, rank_ptr, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < count
    row = tl.load(index_ptr + i, mask=m, other=0)
    one = tl.full((BLOCK,), 1, tl.int32)
    tl.store(rank_ptr + i, tl.atomic_add(counts_ptr + row, one, mask=m), mask=m)


@triton.jit
def scan_kernel(counts_ptr, start_ptr, vocab, BLOCK: tl.constexpr):
    carry = 0
    for k in range(0, vocab, BLOCK):
        i = k + tl.arange(0, BLOCK)
        m = i < vocab
        c = tl.load(counts_ptr + i, mask=m, other=0)
        inclusive = tl.cumsum(c, axis=0)
        tl.store(start_ptr + i, carry + inclusive - c, mask=m)
        carry += tl.sum(c, axis=0)


@triton.jit
def place_kernel(index_ptr, start_ptr, rank_ptr, order_ptr, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < count
    row = tl.load(index_ptr + i, mask=m, other=0)
    pos = tl.load(start_ptr + row, mask=m, other=0) + tl.load(rank_ptr + i, mask=m, other=0)
    tl.store(order_ptr + pos, i, mask=m)


@triton.jit
def segment_kernel(base_ptr, x_ptr, start_ptr, counts_ptr, order_ptr, out_ptr, dim, BLOCK: tl.constexpr):
    v = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    m = c < dim
    n = tl.load(counts_ptr + v)
    s = tl.load(start_ptr + v)
    acc = tl.load(base_ptr + v * dim + c, mask=m, other=0.0)
    for k in range(0, n):
        src = tl.load(order_ptr + s + k)
        acc += tl.load(x_ptr + src * dim + c, mask=m, other=0.0)
    tl.store(out_ptr + v * dim + c, acc, mask=m)


def kernel(base, x, index):
    vocab, dim = base.shape
    count = x.shape[0]
    dev = base.device
    out = torch.empty_like(base)
    counts = torch.zeros(vocab, dtype=torch.int32, device=dev)
    start = torch.empty(vocab, dtype=torch.int32, device=dev)
    rank = torch.empty(count, dtype=torch.int32, device=dev)
    order = torch.empty(count, dtype=torch.int32, device=dev)
    blocks = (triton.cdiv(count, 512),)
    rank_kernel[blocks](index, counts, rank, count, BLOCK=512)
    scan_kernel[(1,)](counts, start, vocab, BLOCK=8192, num_warps=32)
    place_kernel[blocks](index, start, rank, order, count, BLOCK=512)
    BLOCK = triton.next_power_of_2(dim)
    segment_kernel[(vocab,)](base, x, start, counts, order, out, dim, BLOCK=BLOCK, num_warps=4 if BLOCK > 256 else 1)
    return out
