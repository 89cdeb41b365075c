import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_dot(x_ptr, gamma_ptr, out_ptr, rows, cols, eps, R: tl.constexpr, K: tl.constexpr):
    # Tensor-core flavoured: the diagonal of X X^T is the sum of squares of each of the R rows.
    # Wasteful in flops (16x) but the tensor cores are idle anyway in a memory bound kernel, and the
    # products of bf16 are exact with fp32 accumulation.
    r = tl.program_id(0) * R + tl.arange(0, R)
    rmask = r < rows
    base = r[:, None].to(tl.int64) * cols
    k = tl.arange(0, K)
    acc = tl.zeros((R, R), dtype=tl.float32)
    for start in range(0, cols, K):
        c = start + k
        x = tl.load(x_ptr + base + c[None, :], mask=rmask[:, None] & (c < cols)[None, :], other=0.0)
        acc = tl.dot(x, tl.trans(x), acc)
    i = tl.arange(0, R)
    diag = tl.sum(tl.where(i[:, None] == i[None, :], acc, 0.0), axis=1)
    inv = tl.rsqrt(diag / cols + eps)
    for start in range(0, cols, K):
        c = start + k
        m = rmask[:, None] & (c < cols)[None, :]
        x = tl.load(x_ptr + base + c[None, :], mask=m, other=0.0).to(tl.float32)
        g = tl.load(gamma_ptr + c, mask=c < cols, other=0.0).to(tl.float32)
        tl.store(out_ptr + base + c[None, :], (x * inv[:, None] * g[None, :]).to(tl.bfloat16), mask=m)


def kernel(x, gamma):
    rows, cols = x.shape
    out = torch.empty_like(x)
    R, K = 16, 256
    rmsnorm_dot[(triton.cdiv(rows, R),)](x, gamma, out, rows, cols, 1e-5, R=R, K=K, num_warps=4, num_stages=3)
    return out
