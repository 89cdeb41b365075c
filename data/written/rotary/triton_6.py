import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BT": 1, "BH": 32}, num_warps=4),
        triton.Config({"BT": 2, "BH": 16}, num_warps=4),
        triton.Config({"BT": 4, "BH": 8}, num_warps=4),
        triton.Config({"BT": 4, "BH": 16}, num_warps=8),
        triton.Config({"BT": 8, "BH": 4}, num_warps=4),
    ],
    key=["tokens", "heads", "HALF"],
)
@triton.jit
def rotary_tuned(
    x_ptr, cos_ptr, sin_ptr, out_ptr, tokens, heads,
    HALF: tl.constexpr, BT: tl.constexpr, BH: tl.constexpr,
):
    # BT tokens x BH heads x HALF; float16 math with packed half2 FMAs (tolerance permits half products)
    t = tl.program_id(0) * BT + tl.arange(0, BT)
    h = tl.program_id(1) * BH + tl.arange(0, BH)
    i = tl.arange(0, HALF)
    tm = t < tokens
    cs = t[:, None] * HALF + i[None, :]
    c = tl.load(cos_ptr + cs, mask=tm[:, None], other=0.0)[:, None, :]
    s = tl.load(sin_ptr + cs, mask=tm[:, None], other=0.0)[:, None, :]
    offs = (t[:, None, None] * heads + h[None, :, None]) * (2 * HALF) + i[None, None, :]
    mask = tm[:, None, None] & (h < heads)[None, :, None] & (i >= 0)[None, None, :]
    a = tl.load(x_ptr + offs, mask=mask, other=0.0)
    b = tl.load(x_ptr + offs + HALF, mask=mask, other=0.0)
    tl.store(out_ptr + offs, a * c - b * s, mask=mask)
    tl.store(out_ptr + offs + HALF, b * c + a * s, mask=mask)


def kernel(x, cos, sin):
    tokens, heads, dim = x.shape
    out = torch.empty_like(x)
    grid = lambda meta: (triton.cdiv(tokens, meta["BT"]), triton.cdiv(heads, meta["BH"]))
    rotary_tuned[grid](x, cos, sin, out, tokens, heads, HALF=dim // 2)
    return out
