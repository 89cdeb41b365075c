import torch
import triton
import triton.language as tl


@triton.jit
def lion_persistent(p_ptr, g_ptr, m_ptr, po_ptr, mo_ptr, n, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    tiles = tl.cdiv(n, BLOCK)
    for t in tl.range(tl.program_id(0), tiles, tl.num_programs(0), num_stages=STAGES):
        i = t * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
        p = tl.load(p_ptr + i, mask=mask, other=0.0).to(tl.float32)
        g = tl.load(g_ptr + i, mask=mask, other=0.0).to(tl.float32)
        m = tl.load(m_ptr + i, mask=mask, other=0.0).to(tl.float32)
        c = 0.875 * m + 0.125 * g
        step = tl.where(c > 0, 0.125, tl.where(c < 0, -0.125, 0.0))
        tl.store(po_ptr + i, (p * 0.96875 - step).to(tl.bfloat16), mask=mask)
        tl.store(mo_ptr + i, (0.96875 * m + 0.03125 * g).to(tl.bfloat16), mask=mask)


def kernel(p, g, m):
    n = p.numel()
    po, mo = torch.empty_like(p), torch.empty_like(m)
    sms = torch.cuda.get_device_properties(p.device).multi_processor_count
    lion_persistent[(min(sms * 4, triton.cdiv(n, 2048)),)](p, g, m, po, mo, n, BLOCK=2048, STAGES=4, num_warps=8)
    return po, mo
