import torch
import triton
import triton.language as tl


# Prefix sum: a program loads its chunk of a row (BLOCK incl. 32 halo), tl.cumsum, and needs c[j+31] - c[j-1].
# The shifted prefix is not addressable in registers, so write the cumsum to a scratch buffer and read it back after a barrier.
@triton.jit
def ma_cumsum(x_ptr, scratch_ptr, out_ptr, length, out_len, STEP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(1).to(tl.int64)
    chunk = tl.program_id(0)
    start = chunk * STEP
    i = tl.arange(0, BLOCK)
    v = tl.load(x_ptr + row * length + start + i, mask=start + i < length, other=0.0)
    c = tl.cumsum(v, axis=0)
    scr = scratch_ptr + (row * tl.num_programs(0) + chunk) * BLOCK
    tl.store(scr + i, c)
    tl.debug_barrier()
    hi = tl.load(scr + i + 31, mask=i + 31 < BLOCK, other=0.0)
    s = hi - c + v  # c[j+31] - c[j-1]
    tl.store(out_ptr + row * out_len + start + i, s * 0.03125, mask=(i < STEP) & (start + i < out_len))


def kernel(x):
    rows, length = x.shape
    out_len = length - 31
    out = torch.empty((rows, out_len), device=x.device, dtype=x.dtype)
    BLOCK = 1024
    STEP = BLOCK - 32
    chunks = triton.cdiv(out_len, STEP)
    scratch = torch.empty((rows * chunks * BLOCK,), device=x.device, dtype=torch.float32)
    ma_cumsum[(chunks, rows)](x, scratch, out, length, out_len, STEP=STEP, BLOCK=BLOCK, num_warps=4)
    return out
