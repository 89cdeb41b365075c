import torch
import triton
import triton.language as tl


@triton.jit
def adamw_folded(
    p_ptr, g_ptr, m_ptr, v_ptr, po_ptr, mo_ptr, vo_ptr, n,
    KEEP: tl.constexpr, STEP: tl.constexpr, INV_SQRT_B2: tl.constexpr, BLOCK: tl.constexpr,
):
    # Seven streams of 4 bytes per element; purely bandwidth bound. Constants are folded at compile time:
    #   step = lr/b1 * m / (sqrt(v) / sqrt(b2) + eps)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    g = tl.load(g_ptr + offs, mask=mask, other=0.0, eviction_policy="evict_first")
    m = tl.load(m_ptr + offs, mask=mask, other=0.0, eviction_policy="evict_first")
    v = tl.load(v_ptr + offs, mask=mask, other=1.0, eviction_policy="evict_first")
    p = tl.load(p_ptr + offs, mask=mask, other=0.0, eviction_policy="evict_first")
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * (g * g)
    denom = tl.sqrt(v) * INV_SQRT_B2 + 1e-8
    p = p * KEEP - STEP * (m / denom)
    tl.store(mo_ptr + offs, m, mask=mask, eviction_policy="evict_first")
    tl.store(vo_ptr + offs, v, mask=mask, eviction_policy="evict_first")
    tl.store(po_ptr + offs, p, mask=mask, eviction_policy="evict_first")


def kernel(p, g, m, v):
    n = p.numel()
    po, mo, vo = torch.empty_like(p), torch.empty_like(p), torch.empty_like(p)
    adamw_folded[(triton.cdiv(n, 2048),)](
        p, g, m, v, po, mo, vo, n,
        KEEP=1 - 0.1 * 0.1, STEP=0.1 / (1 - 0.9**10), INV_SQRT_B2=(1 - 0.999**10) ** -0.5, BLOCK=2048, num_warps=8,
    )
    return po, mo, vo
