import torch
import triton
import triton.language as tl


@triton.jit
def rotary_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, heads, half, BLOCK: tl.constexpr):
    # one program per (token, head)
    token = tl.program_id(0)
    head = tl.program_id(1)
    i = tl.arange(0, BLOCK)
    mask = i < half
    c = tl.load(cos_ptr + token * half + i, mask=mask, other=0.0).to(tl.float32)
    s = tl.load(sin_ptr + token * half + i, mask=mask, other=0.0).to(tl.float32)
    base = (token * heads + head) * half * 2
    a = tl.load(x_ptr + base + i, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + base + half + i, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + base + i, (a * c - b * s).to(tl.float16), mask=mask)
    tl.store(out_ptr + base + half + i, (b * c + a * s).to(tl.float16), mask=mask)


def kernel(x, cos, sin):
    tokens, heads, dim = x.shape
    out = torch.empty_like(x)
    half = dim // 2
    rotary_kernel[(tokens, heads)](x, cos, sin, out, heads, half, BLOCK=triton.next_power_of_2(half), num_warps=1)
    return out
