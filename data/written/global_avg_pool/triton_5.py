import torch
import triton
import triton.language as tl


# Reduction as matmul: ones[16, P] @ x[P, C] on tensor cores, bf16 in, fp32 accumulate (exact products with 1.0).
# The row count of ones is padded to 16; only row 0 is kept. Pipelined loads straight into shared memory (cp.async).
@triton.jit
def gap_dot(x_ptr, acc_ptr, out_ptr, P, C, CHUNK, inv, SPLIT: tl.constexpr, BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr):
    b = tl.program_id(1).to(tl.int64)
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    start = tl.program_id(2) * CHUNK
    end = tl.minimum(start + CHUNK, P)
    ones = tl.full((16, BLOCK_P), 1.0, dtype=tl.bfloat16)
    acc = tl.zeros((16, BLOCK_C), dtype=tl.float32)
    for p0 in range(start, end, BLOCK_P):
        q = p0 + tl.arange(0, BLOCK_P)
        v = tl.load(
            x_ptr + (b * P + q)[:, None] * C + c[None, :], mask=(q < end)[:, None] & (c < C)[None, :], other=0.0
        )
        acc = tl.dot(ones, v, acc)
    s = tl.sum(acc, axis=0) * (1.0 / 16)
    if SPLIT:
        tl.atomic_add(acc_ptr + b * C + c, s, mask=c < C, sem="relaxed")
    else:
        tl.store(out_ptr + b * C + c, (s * inv).to(tl.bfloat16), mask=c < C)


@triton.jit
def scale(acc_ptr, out_ptr, n, inv, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, (tl.load(acc_ptr + i, mask=i < n) * inv).to(tl.bfloat16), mask=i < n)


def kernel(x):
    B, H, W, C = x.shape
    P = H * W
    out = torch.empty((B, C), device=x.device, dtype=x.dtype)
    cb = triton.cdiv(C, 64)
    splits = 1 if B * cb >= 132 * 4 else max(1, min(P // 256, 132 * 6 // (B * cb)))
    acc = torch.zeros((B, C), device=x.device, dtype=torch.float32) if splits > 1 else out
    gap_dot[(cb, B, splits)](
        x, acc, out, P, C, triton.cdiv(P, splits), 1.0 / P,
        SPLIT=splits > 1, BLOCK_P=64, BLOCK_C=64, num_warps=4, num_stages=4,
    )
    if splits > 1:
        scale[(triton.cdiv(B * C, 1024),)](acc, out, B * C, 1.0 / P, BLOCK=1024)
    return out
