import torch
import triton
import triton.language as tl


@triton.jit
def rotary_persistent(
    x_ptr, cos_ptr, sin_ptr, out_ptr, tokens, heads,
    HEADS: tl.constexpr, HALF: tl.constexpr, STAGES: tl.constexpr,
):
    h = tl.arange(0, HEADS)
    i = tl.arange(0, HALF)
    mask = (h < heads)[:, None] & (i < HALF)[None, :]
    tile = h[:, None] * (2 * HALF) + i[None, :]
    for token in tl.range(tl.program_id(0), tokens, tl.num_programs(0), num_stages=STAGES):
        c = tl.load(cos_ptr + token * HALF + i).to(tl.float32)[None, :]
        s = tl.load(sin_ptr + token * HALF + i).to(tl.float32)[None, :]
        off = token.to(tl.int64) * heads * (2 * HALF) + tile
        a = tl.load(x_ptr + off, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(x_ptr + off + HALF, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + off, (a * c - b * s).to(tl.float16), mask=mask, cache_modifier=".cs")
        tl.store(out_ptr + off + HALF, (b * c + a * s).to(tl.float16), mask=mask, cache_modifier=".cs")


def kernel(x, cos, sin):
    tokens, heads, dim = x.shape
    out = torch.empty_like(x)
    grid = (min(tokens, 132 * 8),)
    rotary_persistent[grid](
        x, cos, sin, out, tokens, heads,
        HEADS=triton.next_power_of_2(heads), HALF=dim // 2, STAGES=3, num_warps=4,
    )
    return out
