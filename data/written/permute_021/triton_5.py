import torch
import triton
import triton.language as tl


@triton.jit
def transpose_mma(x_ptr, out_ptr, R, C, BR: tl.constexpr, BC: tl.constexpr):
    # X^T = X^T @ I on the tensor cores: one nonzero product per output, so the bf16 values survive exactly in fp32.
    # The idea is that the MMA operand path does the transposition (wgmma takes a transposed A from shared memory).
    b = tl.program_id(1).to(tl.int64)
    tiles_c = tl.cdiv(C, BC)
    pid = tl.program_id(0)
    ri = (pid // tiles_c) * BR + tl.arange(0, BR)
    ci = (pid % tiles_c) * BC + tl.arange(0, BC)
    x = tl.load(x_ptr + b * R * C + ri[:, None] * C + ci[None, :], mask=(ri < R)[:, None] & (ci < C)[None, :], other=0.0)
    k = tl.arange(0, BR)
    eye = (k[:, None] == k[None, :]).to(tl.bfloat16)
    y = tl.dot(tl.trans(x), eye)                  # (BC, BR) fp32
    ptr = out_ptr + b * R * C + ci[:, None] * R + ri[None, :]
    tl.store(ptr, y.to(tl.bfloat16), mask=(ci < C)[:, None] & (ri < R)[None, :])


def kernel(x):
    x = x.contiguous()
    B, R, C = x.shape
    out = torch.empty((B, C, R), device=x.device, dtype=x.dtype)
    BR, BC = 64, 64
    transpose_mma[(triton.cdiv(R, BR) * triton.cdiv(C, BC), B)](x, out, R, C, BR=BR, BC=BC, num_warps=4)
    return out
