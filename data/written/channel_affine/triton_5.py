import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BP": 2, "BA": 1024}, num_warps=4),
        triton.Config({"BP": 4, "BA": 1024}, num_warps=8),
        triton.Config({"BP": 8, "BA": 256}, num_warps=4),
        triton.Config({"BP": 16, "BA": 256}, num_warps=8),
        triton.Config({"BP": 32, "BA": 256}, num_warps=8),
    ],
    key=["planes", "area"],
)
@triton.jit
def affine_persistent(x_ptr, scale_ptr, shift_ptr, out_ptr, planes, channels, area: tl.constexpr,
                      BP: tl.constexpr, BA: tl.constexpr):
    tiles_a: tl.constexpr = (area + BA - 1) // BA
    tiles = tl.cdiv(planes, BP) * tiles_a
    for t in tl.range(tl.program_id(0), tiles, tl.num_programs(0), num_stages=3):
        p = (t // tiles_a) * BP + tl.arange(0, BP)
        i = (t % tiles_a) * BA + tl.arange(0, BA)
        pm = p < planes
        s = tl.load(scale_ptr + p % channels, mask=pm, other=0.0).to(tl.float32)[:, None]
        b = tl.load(shift_ptr + p % channels, mask=pm, other=0.0).to(tl.float32)[:, None]
        mask = pm[:, None] & (i < area)[None, :]
        offs = p[:, None] * area + i[None, :]
        x = tl.load(x_ptr + offs, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
        tl.store(out_ptr + offs, (x * s + b).to(tl.float16), mask=mask, eviction_policy="evict_first")


def kernel(x, scale, shift):
    x = x.contiguous()
    images, channels, area = x.shape
    out = torch.empty_like(x)
    planes = images * channels
    grid = lambda m: (min(132 * 8, triton.cdiv(planes, m["BP"]) * triton.cdiv(area, m["BA"])),)
    affine_persistent[grid](x, scale, shift, out, planes, channels, area)
    return out
