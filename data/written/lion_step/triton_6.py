import torch
import triton
import triton.language as tl


@triton.jit
def lion_chunked(p_ptr, g_ptr, m_ptr, po_ptr, mo_ptr, n, chunk, BLOCK: tl.constexpr):
    # Contiguous chunk per program (one DRAM page neighbourhood per SM) with explicit prefetch: the next tile's loads
    # are issued before the current tile is computed and stored.
    lo = tl.program_id(0) * chunk
    hi = tl.minimum(lo + chunk, n)
    r = tl.arange(0, BLOCK)
    i = lo + r
    p = tl.load(p_ptr + i, mask=i < hi, other=0.0)
    g = tl.load(g_ptr + i, mask=i < hi, other=0.0)
    m = tl.load(m_ptr + i, mask=i < hi, other=0.0)
    for start in range(lo, hi, BLOCK):
        i = start + r
        nxt = i + BLOCK
        nmask = nxt < hi
        p_next = tl.load(p_ptr + nxt, mask=nmask, other=0.0)
        g_next = tl.load(g_ptr + nxt, mask=nmask, other=0.0)
        m_next = tl.load(m_ptr + nxt, mask=nmask, other=0.0)
        pf = p.to(tl.float32)
        gf = g.to(tl.float32)
        mf = m.to(tl.float32)
        c = 0.875 * mf + 0.125 * gf
        sign = tl.where(c > 0, 1.0, tl.where(c < 0, -1.0, 0.0))
        mask = i < hi
        tl.store(po_ptr + i, (pf * 0.96875 - 0.125 * sign).to(tl.bfloat16), mask=mask)
        tl.store(mo_ptr + i, (0.96875 * mf + 0.03125 * gf).to(tl.bfloat16), mask=mask)
        p = p_next
        g = g_next
        m = m_next


def kernel(p, g, m):
    n = p.numel()
    po, mo = torch.empty_like(p), torch.empty_like(m)
    sms = torch.cuda.get_device_properties(p.device).multi_processor_count
    block = 2048
    chunk = triton.cdiv(triton.cdiv(n, sms * 6), block) * block
    lion_chunked[(triton.cdiv(n, chunk),)](p, g, m, po, mo, n, chunk, BLOCK=block, num_warps=8)
    return po, mo
