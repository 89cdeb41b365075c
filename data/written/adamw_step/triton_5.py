import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=8),
        triton.Config({"BLOCK": 2048}, num_warps=8),
        triton.Config({"BLOCK": 4096}, num_warps=8),
        triton.Config({"BLOCK": 4096}, num_warps=16),
    ],
    key=["n"],
)
@triton.jit
def adamw_auto(p_ptr, g_ptr, m_ptr, v_ptr, po_ptr, mo_ptr, vo_ptr, n, inv_b1, inv_sqrt_b2, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    g = tl.load(g_ptr + i, mask=mask, cache_modifier=".cg")
    m = tl.load(m_ptr + i, mask=mask, cache_modifier=".cg")
    v = tl.load(v_ptr + i, mask=mask, cache_modifier=".cg")
    p = tl.load(p_ptr + i, mask=mask, cache_modifier=".cg")
    # m + 0.1 * (g - m) and v + 0.001 * (g * g - v): one FMA each
    m = tl.fma(g - m, 0.1, m)
    v = tl.fma(g * g - v, 0.001, v)
    step = (m * inv_b1) / tl.fma(tl.sqrt(v), inv_sqrt_b2, 1e-8)
    tl.store(po_ptr + i, p * 0.99 - 0.1 * step, mask=mask, cache_modifier=".cs")
    tl.store(mo_ptr + i, m, mask=mask, cache_modifier=".cs")
    tl.store(vo_ptr + i, v, mask=mask, cache_modifier=".cs")


def kernel(p, g, m, v):
    n = p.numel()
    po, mo, vo = torch.empty_like(p), torch.empty_like(m), torch.empty_like(v)
    grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
    adamw_auto[grid](p, g, m, v, po, mo, vo, n, 1.0 / (1 - 0.9**10), (1 - 0.999**10) ** -0.5)
    return po, mo, vo
