import torch
import triton
import triton.language as tl


@triton.jit
def lion_kernel(p_ptr, g_ptr, m_ptr, p_out_ptr, m_out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n
    p = tl.load(p_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    m = tl.load(m_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    c = 0.875 * m + 0.125 * g
    sign = tl.where(c > 0, 1.0, tl.where(c < 0, -1.0, 0.0))
    p = p * (1 - 0.125 * 0.25) - 0.125 * sign
    m = 0.96875 * m + 0.03125 * g
    tl.store(p_out_ptr + offs, p.to(tl.bfloat16), mask=mask)
    tl.store(m_out_ptr + offs, m.to(tl.bfloat16), mask=mask)


def kernel(p, g, m):
    n = p.numel()
    p_out = torch.empty_like(p)
    m_out = torch.empty_like(m)
    lion_kernel[(triton.cdiv(n, 1024),)](p, g, m, p_out, m_out, n, BLOCK_SIZE=1024)
    return p_out, m_out
