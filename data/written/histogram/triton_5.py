import torch
import triton
import triton.language as tl


# Tensor-core histogram: split every value into (hi, lo) nibbles.  With one-hot
# matrices H[k, hi] and L[k, lo], counts[hi, lo] = H^T @ L, a 16 x 16 output with
# K = number of elements.  No atomics in the inner loop at all, and no bank
# conflicts that depend on the data.  fp16 ones with fp32 accumulation are exact
# up to 2^24 per program, far above what a program sees.
@triton.jit
def histogram_dot_kernel(values_ptr, counts_ptr, n, BLOCK_K: tl.constexpr):
    pid = tl.program_id(0)
    num_programs = tl.num_programs(0)
    nib = tl.arange(0, 16)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros((16, 16), dtype=tl.float32)

    for tile in range(pid, tl.cdiv(n, BLOCK_K), num_programs):
        offs = tile * BLOCK_K + k
        # -1 for padding: its hi nibble is -1 and matches nothing
        v = tl.load(values_ptr + offs, mask=offs < n, other=-1)
        hi = v >> 4
        lo = v & 15
        h = (nib[:, None] == hi[None, :]).to(tl.float16)  # [16, K]
        l = (lo[:, None] == nib[None, :]).to(tl.float16)  # [K, 16]
        acc = tl.dot(h, l, acc)

    out = acc.to(tl.int32)
    ptrs = counts_ptr + nib[:, None] * 16 + nib[None, :]
    tl.atomic_add(ptrs, out, mask=out > 0, sem="relaxed")


def kernel(values):
    n = values.numel()
    counts = torch.zeros(256, dtype=torch.int32, device=values.device)
    BLOCK_K = 512
    grid = (min(132 * 8, triton.cdiv(n, BLOCK_K)),)
    histogram_dot_kernel[grid](values, counts, n, BLOCK_K=BLOCK_K, num_warps=4, num_stages=2)
    return counts
