import torch
import triton
import triton.language as tl


@triton.jit
def masked_add_persistent(x_ptr, keep_ptr, res_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tiles = tl.cdiv(n, BLOCK)
    for t in tl.range(tl.program_id(0), tiles, tl.num_programs(0), num_stages=3):
        # 16 contiguous elements per thread: 16 B of keep, 2 x 16 B of x and residual
        offs = t * BLOCK + tl.arange(0, BLOCK)
        m = offs < n
        k = tl.load(keep_ptr + offs, mask=m, other=0, eviction_policy="evict_first")
        x = tl.load(x_ptr + offs, mask=m, other=0.0, eviction_policy="evict_first").to(tl.float32)
        r = tl.load(res_ptr + offs, mask=m, other=0.0, eviction_policy="evict_first").to(tl.float32)
        y = r + x * (k.to(tl.float32) * 1.25)
        tl.store(out_ptr + offs, y.to(tl.bfloat16), mask=m, eviction_policy="evict_first")


def kernel(x, keep, residual):
    x, keep, residual = x.contiguous(), keep.contiguous(), residual.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    BLOCK = 4096
    grid = (min(triton.cdiv(n, BLOCK), 132 * 6),)
    masked_add_persistent[grid](x, keep, residual, out, n, BLOCK=BLOCK, num_warps=8)
    return out
