import torch
import triton
import triton.language as tl


# Byte-centric: load each byte once, make both outputs and interleave them in registers so the
# store is one contiguous run.
@triton.jit
def dequant_interleave_kernel(packed_ptr, scales_ptr, out_ptr, half, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    b = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = b < half
    byte = tl.load(packed_ptr + row * half + b, mask=mask, other=0).to(tl.int32)
    s = tl.load(scales_ptr + row * (half // 32) + b // 32, mask=mask, other=0.0)
    lo = ((byte & 15) - 8).to(tl.float16) * s
    hi = ((byte >> 4) - 8).to(tl.float16) * s
    v = tl.interleave(lo, hi)
    j = tl.program_id(1) * (2 * BLOCK) + tl.arange(0, 2 * BLOCK)
    tl.store(out_ptr + row * (2 * half) + j, v, mask=j < 2 * half)


def kernel(packed, scales):
    rows, half = packed.shape
    out = torch.empty((rows, half * 2), dtype=torch.float16, device=packed.device)
    BLOCK = 1024 if half >= 1024 else 512
    grid = (rows, triton.cdiv(half, BLOCK))
    dequant_interleave_kernel[grid](packed, scales, out, half, BLOCK=BLOCK, num_warps=4)
    return out
