import torch
import triton
import triton.language as tl


@triton.jit
def quantize_block_kernel(x_ptr, q_ptr, s_ptr, BLOCK: tl.constexpr):
    # one program per block of 128 numbers
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs).to(tl.float32)
    amax = tl.max(tl.abs(x), axis=0)
    # frexp: amax = f * 2^e with f in [0.5, 1)  ->  e = biased exponent - 126 (and 0 for a zero)
    bits = amax.to(tl.int32, bitcast=True)
    e = tl.where(amax == 0.0, 0, (bits >> 23) - 126)
    scale = tl.exp2((e - 7).to(tl.float32))
    q = tl.floor(x / scale + 0.5)
    q = tl.minimum(q, 127.0)
    tl.store(q_ptr + offs, q.to(tl.int8))
    tl.store(s_ptr + pid, scale)


def kernel(x):
    rows, cols = x.shape
    levels = torch.empty((rows, cols), device=x.device, dtype=torch.int8)
    scales = torch.empty((rows, cols // 128), device=x.device, dtype=torch.float32)
    quantize_block_kernel[(rows * cols // 128,)](x, levels, scales, BLOCK=128, num_warps=1)
    return levels, scales
