import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BR": 32, "BC": 32}, num_warps=2),
        triton.Config({"BR": 64, "BC": 64}, num_warps=4),
        triton.Config({"BR": 128, "BC": 16}, num_warps=4),
        triton.Config({"BR": 128, "BC": 64}, num_warps=8),
        triton.Config({"BR": 64, "BC": 128}, num_warps=8),
        triton.Config({"BR": 128, "BC": 128}, num_warps=8),
    ],
    key=["B", "R", "C"],
)
@triton.jit
def transpose_persistent(x_ptr, out_ptr, B, R, C, BR: tl.constexpr, BC: tl.constexpr):
    tr = tl.cdiv(R, BR)
    tc = tl.cdiv(C, BC)
    total = B * tr * tc
    for t in tl.range(tl.program_id(0), total, tl.num_programs(0), num_stages=2):
        b = t // (tr * tc)
        w = t % (tr * tc)
        ri = (w // tc) * BR + tl.arange(0, BR)
        ci = (w % tc) * BC + tl.arange(0, BC)
        base = b.to(tl.int64) * R * C
        m = (ri < R)[:, None] & (ci < C)[None, :]
        v = tl.load(x_ptr + base + ri[:, None] * C + ci[None, :], mask=m, other=0.0, eviction_policy="evict_first")
        mt = (ci < C)[:, None] & (ri < R)[None, :]
        tl.store(out_ptr + base + ci[:, None] * R + ri[None, :], tl.trans(v), mask=mt)


def kernel(x):
    x = x.contiguous()
    B, R, C = x.shape
    out = torch.empty((B, C, R), device=x.device, dtype=x.dtype)
    grid = lambda m: (min(132 * 6, B * triton.cdiv(R, m["BR"]) * triton.cdiv(C, m["BC"])),)
    transpose_persistent[grid](x, out, B, R, C)
    return out
