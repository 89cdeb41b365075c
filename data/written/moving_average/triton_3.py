import torch
import triton
import triton.language as tl


# Tensor cores: a sliding sum is a product with a banded 0/1 matrix. View a chunk as a [R, 32] matrix X of
# consecutive segments of 32: out[s, j] = sum_{i >= j} X[s, i] + sum_{i < j} X[s+1, i]. So out = X @ L + Xnext @ U with
# L lower triangular ones, U strictly upper. Input precision: ieee keeps float32 accuracy (tf32 would be too coarse).
@triton.jit
def ma_dot(x_ptr, out_ptr, length, out_len, R: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    seg = tl.program_id(0) * R + tl.arange(0, R)
    i = tl.arange(0, 32)
    pos = seg[:, None] * 32 + i[None, :]
    base = x_ptr + row * length
    a = tl.load(base + pos, mask=pos < length, other=0.0)
    b = tl.load(base + pos + 32, mask=pos + 32 < length, other=0.0)
    keep = i[:, None] >= i[None, :]
    low = tl.where(keep, 1.0, 0.0)
    up = tl.where(keep, 0.0, 1.0)
    acc = tl.dot(a, low, input_precision="ieee")
    acc = tl.dot(b, up, acc, input_precision="ieee")
    tl.store(out_ptr + row * out_len + pos, acc * 0.03125, mask=pos < out_len)


def kernel(x):
    rows, length = x.shape
    out_len = length - 31
    out = torch.empty((rows, out_len), device=x.device, dtype=x.dtype)
    R = 32
    grid = (triton.cdiv(out_len, R * 32), rows)
    ma_dot[grid](x, out, length, out_len, R=R, num_warps=4)
    return out
