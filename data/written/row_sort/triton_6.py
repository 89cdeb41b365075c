import torch
import triton
import triton.language as tl


# Two kernels: (1) sort chunks of 128 with the built-in network, a single warp each; (2) k-way
# merge by rank: the final position of an element is its position in its own chunk plus, for
# every other chunk, a binary search (<= for earlier chunks, < for later ones: stable).
# Fewer compare-exchange steps than a full 1024-wide network: 28 + 7*7 searches vs 55.
@triton.jit
def sort_chunks_kernel(x_ptr, tmp_ptr, cols, CHUNK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    c = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK)
    mask = c < cols
    v = tl.load(x_ptr + row * cols + c, mask=mask, other=float("inf"))
    tl.store(tmp_ptr + row * cols + c, tl.sort(v), mask=mask)


@triton.jit
def merge_by_rank_kernel(tmp_ptr, out_ptr, cols, CHUNK: tl.constexpr, LOG: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    base = tmp_ptr + row * cols
    i = tl.arange(0, BLOCK)
    mask = i < cols
    v = tl.load(base + i, mask=mask, other=float("inf"))
    own = i // CHUNK
    rank = i % CHUNK
    n_chunks = tl.cdiv(cols, CHUNK)
    for ch in range(0, n_chunks):
        first = ch * CHUNK
        length = tl.minimum(CHUNK, cols - first)
        lo = tl.zeros((BLOCK,), dtype=tl.int32)
        hi = tl.zeros((BLOCK,), dtype=tl.int32) + length
        for _ in tl.static_range(LOG + 1):
            active = lo < hi
            mid = (lo + hi) // 2
            m = tl.load(base + first + mid, mask=mask & active, other=0.0)
            go_right = (m < v) | ((m == v) & (ch < own))
            lo = tl.where(active & go_right, mid + 1, lo)
            hi = tl.where(active & (go_right == 0), mid, hi)
        rank += tl.where(own == ch, 0, lo)
    tl.store(out_ptr + row * cols + rank, v, mask=mask)


def kernel(x):
    rows, cols = x.shape
    tmp = torch.empty_like(x)
    out = torch.empty_like(x)
    CHUNK = 128
    n_chunks = triton.cdiv(cols, CHUNK)
    sort_chunks_kernel[(rows, n_chunks)](x, tmp, cols, CHUNK=CHUNK, num_warps=1)
    BLOCK = triton.next_power_of_2(cols)
    merge_by_rank_kernel[(rows,)](
        tmp, out, cols, CHUNK=CHUNK, LOG=7, BLOCK=BLOCK, num_warps=max(1, min(8, BLOCK // 128))
    )
    return out
