import torch
import triton
import triton.language as tl


@triton.jit
def triangle_naive(a_ptr, b_ptr, out_ptr, side, channels, BI: tl.constexpr, BJ: tl.constexpr, BC: tl.constexpr):
    # channels are the fastest axis, so treat them as the vector lanes and accumulate outer products over k
    i = tl.program_id(0) * BI + tl.arange(0, BI)
    j = tl.program_id(1) * BJ + tl.arange(0, BJ)
    c = tl.program_id(2) * BC + tl.arange(0, BC)
    a_mask = (i[:, None] < side) & (c[None, :] < channels)
    b_mask = (j[:, None] < side) & (c[None, :] < channels)
    a_ptrs = a_ptr + i[:, None] * side * channels + c[None, :]
    b_ptrs = b_ptr + j[:, None] * side * channels + c[None, :]
    acc = tl.zeros([BI, BJ, BC], tl.float32)
    for k in range(0, side):
        a = tl.load(a_ptrs + k * channels, mask=a_mask, other=0.0).to(tl.float32)
        b = tl.load(b_ptrs + k * channels, mask=b_mask, other=0.0).to(tl.float32)
        acc += a[:, None, :] * b[None, :, :]
    offs = i[:, None, None] * side * channels + j[None, :, None] * channels + c[None, None, :]
    mask = (i[:, None, None] < side) & (j[None, :, None] < side) & (c[None, None, :] < channels)
    tl.store(out_ptr + offs, acc.to(tl.float16), mask=mask)


def kernel(a, b):
    side, _, channels = a.shape
    out = torch.empty_like(a)
    BI, BJ, BC = 8, 8, 32
    grid = (triton.cdiv(side, BI), triton.cdiv(side, BJ), triton.cdiv(channels, BC))
    triangle_naive[grid](a, b, out, side, channels, BI=BI, BJ=BJ, BC=BC, num_warps=4)
    return out
