import torch
import triton
import triton.language as tl


@triton.jit
def lion_pair_words(p_ptr, g_ptr, m_ptr, po_ptr, mo_ptr, words, BLOCK: tl.constexpr):
    # Reads pairs of bf16 as int32 words and unpacks by hand: the high half is a float32 after masking, the low half
    # after a shift by 16. No cvt instructions on the way in; on the way out round to nearest even with integer adds.
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < words
    pw = tl.load(p_ptr + i, mask=mask, other=0)
    gw = tl.load(g_ptr + i, mask=mask, other=0)
    mw = tl.load(m_ptr + i, mask=mask, other=0)
    p_res = tl.zeros((BLOCK,), tl.uint32)
    m_res = tl.zeros((BLOCK,), tl.uint32)
    for half in tl.static_range(2):
        if half == 0:
            p = (pw << 16).to(tl.float32, bitcast=True)
            g = (gw << 16).to(tl.float32, bitcast=True)
            m = (mw << 16).to(tl.float32, bitcast=True)
        else:
            p = (pw & -65536).to(tl.float32, bitcast=True)
            g = (gw & -65536).to(tl.float32, bitcast=True)
            m = (mw & -65536).to(tl.float32, bitcast=True)
        c = 7.0 * m + g
        s = tl.where(c > 0, 0.125, tl.where(c < 0, -0.125, 0.0))
        pn = (p * 0.96875 - s).to(tl.uint32, bitcast=True)
        mn = (0.96875 * m + 0.03125 * g).to(tl.uint32, bitcast=True)
        pn = (pn + 0x7FFF + ((pn >> 16) & 1)) >> 16
        mn = (mn + 0x7FFF + ((mn >> 16) & 1)) >> 16
        p_res = p_res | (pn << (16 * half))
        m_res = m_res | (mn << (16 * half))
    tl.store(po_ptr + i, p_res.to(tl.int32, bitcast=True), mask=mask)
    tl.store(mo_ptr + i, m_res.to(tl.int32, bitcast=True), mask=mask)


@triton.jit
def lion_last(p_ptr, g_ptr, m_ptr, po_ptr, mo_ptr, i):
    p = tl.load(p_ptr + i).to(tl.float32)
    g = tl.load(g_ptr + i).to(tl.float32)
    m = tl.load(m_ptr + i).to(tl.float32)
    c = 7.0 * m + g
    s = tl.where(c > 0, 0.125, tl.where(c < 0, -0.125, 0.0))
    tl.store(po_ptr + i, (p * 0.96875 - s).to(tl.bfloat16))
    tl.store(mo_ptr + i, (0.96875 * m + 0.03125 * g).to(tl.bfloat16))


def kernel(p, g, m):
    n = p.numel()
    words = n // 2
    po, mo = torch.empty_like(p), torch.empty_like(m)
    p2, g2, m2, po2, mo2 = (t[: 2 * words].view(torch.int32) for t in (p, g, m, po, mo))
    lion_pair_words[(triton.cdiv(words, 1024),)](p2, g2, m2, po2, mo2, words, BLOCK=1024, num_warps=4)
    if n % 2:
        lion_last[(1,)](p, g, m, po, mo, n - 1, num_warps=1)  # the odd one out
    return po, mo
