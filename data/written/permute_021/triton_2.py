import torch
import triton
import triton.language as tl


@triton.jit
def transpose_tile(x_ptr, out_ptr, R, C, BR: tl.constexpr, BC: tl.constexpr):
    b = tl.program_id(2).to(tl.int64)
    ri = tl.program_id(0) * BR + tl.arange(0, BR)
    ci = tl.program_id(1) * BC + tl.arange(0, BC)
    x_ptr += b * R * C
    out_ptr += b * R * C
    tile = tl.load(x_ptr + ri[:, None] * C + ci[None, :], mask=(ri[:, None] < R) & (ci[None, :] < C), other=0.0)
    # store through the transposed layout; Triton converts the layout through shared memory
    tile_t = tl.trans(tile)
    tl.store(out_ptr + ci[:, None] * R + ri[None, :], tile_t, mask=(ci[:, None] < C) & (ri[None, :] < R))


def kernel(x):
    x = x.contiguous()
    batch, R, C = x.shape
    out = torch.empty((batch, C, R), device=x.device, dtype=x.dtype)
    BR, BC = 64, 64
    transpose_tile[(triton.cdiv(R, BR), triton.cdiv(C, BC), batch)](x, out, R, C, BR=BR, BC=BC, num_warps=4)
    return out
