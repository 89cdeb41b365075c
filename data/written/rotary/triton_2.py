import torch
import triton
import triton.language as tl


@triton.jit
def rotary_token_kernel(
    x_ptr, cos_ptr, sin_ptr, out_ptr, heads, half, HEADS: tl.constexpr, HALF: tl.constexpr
):
    """One program per token: cos/sin are read once and broadcast over all heads."""
    token = tl.program_id(0).to(tl.int64)
    h = tl.arange(0, HEADS)
    i = tl.arange(0, HALF)
    im = i < half
    c = tl.load(cos_ptr + token * half + i, mask=im, other=0.0).to(tl.float32)[None, :]
    s = tl.load(sin_ptr + token * half + i, mask=im, other=0.0).to(tl.float32)[None, :]
    mask = (h < heads)[:, None] & im[None, :]
    offs = token * heads * half * 2 + h[:, None] * (2 * half) + i[None, :]
    a = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + offs + half, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + offs, (a * c - b * s).to(out_ptr.dtype.element_ty), mask=mask)
    tl.store(out_ptr + offs + half, (b * c + a * s).to(out_ptr.dtype.element_ty), mask=mask)


def kernel(x, cos, sin):
    tokens, heads, dim = x.shape
    out = torch.empty_like(x)
    half = dim // 2
    rotary_token_kernel[(tokens,)](
        x, cos, sin, out, heads, half,
        HEADS=triton.next_power_of_2(heads), HALF=triton.next_power_of_2(half), num_warps=4,
    )
    return out
