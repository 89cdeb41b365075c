import torch
import triton
import triton.language as tl


@triton.jit
def transpose_block_ptr(x_ptr, out_ptr, R, C, BR: tl.constexpr, BC: tl.constexpr):
    tiles_c = tl.cdiv(C, BC)
    pid = tl.program_id(0)
    r0 = (pid // tiles_c) * BR
    c0 = (pid % tiles_c) * BC
    base = tl.program_id(1).to(tl.int64) * R * C
    src = tl.make_block_ptr(x_ptr + base, shape=(R, C), strides=(C, 1), offsets=(r0, c0), block_shape=(BR, BC), order=(1, 0))
    dst = tl.make_block_ptr(out_ptr + base, shape=(C, R), strides=(R, 1), offsets=(c0, r0), block_shape=(BC, BR), order=(1, 0))
    tile = tl.load(src, boundary_check=(0, 1))
    tl.store(dst, tl.trans(tile), boundary_check=(0, 1))


def kernel(x):
    x = x.contiguous()
    batch, R, C = x.shape
    out = torch.empty((batch, C, R), device=x.device, dtype=x.dtype)
    # long runs on both sides: 128 rows -> 256-byte output segments
    BR = 128
    BC = 32 if C <= 128 else 64
    grid = (triton.cdiv(R, BR) * triton.cdiv(C, BC), batch)
    transpose_block_ptr[grid](x, out, R, C, BR=BR, BC=BC, num_warps=8)
    return out
