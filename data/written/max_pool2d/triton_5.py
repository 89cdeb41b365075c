import torch
import triton
import triton.language as tl


# Two passes, separable: pass 1 pools horizontally into a [P, H, OW] buffer, pass 2 vertically.
# More traffic than the fused one, but both passes are trivially coalesced. Autotune both through one shared block config.
@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=8),
        triton.Config({"BLOCK": 2048}, num_warps=8),
    ],
    key=["total"],
)
@triton.jit
def pool_h(x_ptr, tmp_ptr, total, W, OW, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < total
    row = i // OW
    c = (i - row * OW) * 2
    q = x_ptr + row.to(tl.int64) * W + c
    v = tl.load(q, mask=m, other=float("-inf"))
    v = tl.maximum(v, tl.load(q - 1, mask=m & (c > 0), other=float("-inf")))
    v = tl.maximum(v, tl.load(q + 1, mask=m & (c + 1 < W), other=float("-inf")))
    tl.store(tmp_ptr + i, v, mask=m)


@triton.jit
def pool_v(tmp_ptr, out_ptr, total, H, OH, OW, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < total
    ox = i % OW
    oy = (i // OW) % OH
    p = i // (OW * OH)
    q = tmp_ptr + p.to(tl.int64) * (H * OW) + (2 * oy) * OW + ox
    v = tl.load(q, mask=m, other=float("-inf"))
    v = tl.maximum(v, tl.load(q - OW, mask=m & (oy > 0), other=float("-inf")))
    v = tl.maximum(v, tl.load(q + OW, mask=m & (2 * oy + 1 < H), other=float("-inf")))
    tl.store(out_ptr + i, v, mask=m)


def kernel(x):
    P, H, W = x.shape
    OH, OW = (H + 1) // 2, (W + 1) // 2
    tmp = torch.empty((P, H, OW), device=x.device, dtype=x.dtype)
    out = torch.empty((P, OH, OW), device=x.device, dtype=x.dtype)
    n1 = tmp.numel()
    n2 = out.numel()
    pool_h[lambda meta: (triton.cdiv(n1, meta["BLOCK"]),)](x, tmp, n1, W, OW)
    pool_v[(triton.cdiv(n2, 1024),)](tmp, out, n2, H, OH, OW, BLOCK=1024, num_warps=4)
    return out
