import torch
import triton
import triton.language as tl


@triton.jit
def _update(p, g, m, v, B1: tl.constexpr, B2: tl.constexpr):
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p * 0.99 - 0.1 * ((m * (1.0 / B1)) / (tl.sqrt(v * (1.0 / B2)) + 1e-8)), m, v


@triton.jit
def adamw_unrolled(p_ptr, g_ptr, m_ptr, v_ptr, po_ptr, mo_ptr, vo_ptr, n, B1: tl.constexpr, B2: tl.constexpr, BLOCK: tl.constexpr):
    # Uniform branch: interior blocks run with no masks at all, only the last block is masked. Two sub-tiles are
    # loaded before either is computed: 8 independent vector loads in flight per thread.
    base = tl.program_id(0) * (2 * BLOCK)
    a = base + tl.arange(0, BLOCK)
    b = a + BLOCK
    if base + 2 * BLOCK <= n:
        pa = tl.load(p_ptr + a)
        ga = tl.load(g_ptr + a)
        ma = tl.load(m_ptr + a)
        va = tl.load(v_ptr + a)
        pb = tl.load(p_ptr + b)
        gb = tl.load(g_ptr + b)
        mb = tl.load(m_ptr + b)
        vb = tl.load(v_ptr + b)
        pa, ma, va = _update(pa, ga, ma, va, B1, B2)
        pb, mb, vb = _update(pb, gb, mb, vb, B1, B2)
        tl.store(po_ptr + a, pa)
        tl.store(mo_ptr + a, ma)
        tl.store(vo_ptr + a, va)
        tl.store(po_ptr + b, pb)
        tl.store(mo_ptr + b, mb)
        tl.store(vo_ptr + b, vb)
    else:
        for k in tl.static_range(2):
            i = base + k * BLOCK + tl.arange(0, BLOCK)
            mask = i < n
            p, m, v = _update(
                tl.load(p_ptr + i, mask=mask, other=0.0), tl.load(g_ptr + i, mask=mask, other=0.0),
                tl.load(m_ptr + i, mask=mask, other=0.0), tl.load(v_ptr + i, mask=mask, other=0.0), B1, B2,
            )
            tl.store(po_ptr + i, p, mask=mask)
            tl.store(mo_ptr + i, m, mask=mask)
            tl.store(vo_ptr + i, v, mask=mask)


def kernel(p, g, m, v):
    n = p.numel()
    po, mo, vo = torch.empty_like(p), torch.empty_like(m), torch.empty_like(v)
    adamw_unrolled[(triton.cdiv(n, 2048),)](p, g, m, v, po, mo, vo, n, B1=1 - 0.9**10, B2=1 - 0.999**10, BLOCK=1024, num_warps=8)
    return po, mo, vo
