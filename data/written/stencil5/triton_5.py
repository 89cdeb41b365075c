import torch
import triton
import triton.language as tl


# Persistent with an L2-friendly order: programs take consecutive row bands so that neighbouring bands (which share
# halo rows) are processed at the same time. evict_last on the halo-carrying loads, streaming stores.
@triton.jit
def stencil5_persistent(x_ptr, out_ptr, H, W, tiles_x, tiles, PROGRAMS, BH: tl.constexpr, BW: tl.constexpr):
    for t in range(tl.program_id(0), tiles, PROGRAMS):
        y = (t // tiles_x) * BH + tl.arange(0, BH)[:, None]
        x = (t % tiles_x) * BW + tl.arange(0, BW)[None, :]
        off = y * W + x
        mask = (y < H) & (x < W)
        inner = (y > 0) & (y < H - 1) & (x > 0) & (x < W - 1)
        c = tl.load(x_ptr + off, mask=mask, other=0.0, eviction_policy="evict_last")
        n = tl.load(x_ptr + off - W, mask=inner, other=0.0)
        s = tl.load(x_ptr + off + W, mask=inner, other=0.0)
        w = tl.load(x_ptr + off - 1, mask=inner, other=0.0)
        e = tl.load(x_ptr + off + 1, mask=inner, other=0.0)
        r = tl.where(inner, 0.6 * c + 0.1 * (n + s + w + e), c)
        tl.store(out_ptr + off, r, mask=mask, cache_modifier=".cs")


def kernel(x):
    H, W = x.shape
    out = torch.empty_like(x)
    BH, BW = 8, 256
    tiles_x = triton.cdiv(W, BW)
    tiles = tiles_x * triton.cdiv(H, BH)
    sms = torch.cuda.get_device_properties(x.device).multi_processor_count
    programs = min(tiles, sms * 8)
    stencil5_persistent[(programs,)](
        x, out, H, W, tiles_x, tiles, programs, BH=BH, BW=BW, num_warps=4, num_stages=2
    )
    return out
