import torch
import triton
import triton.language as tl


@triton.jit
def adamw_persistent(p_ptr, g_ptr, m_ptr, v_ptr, po_ptr, mo_ptr, vo_ptr, n, b1, b2, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    # grid = SMs * k, every program strides over the tensor; loads of the next tile overlap with this tile's math
    tiles = tl.cdiv(n, BLOCK)
    for t in tl.range(tl.program_id(0), tiles, tl.num_programs(0), num_stages=STAGES):
        i = t * BLOCK + tl.arange(0, BLOCK)
        mask = i < n
        p = tl.load(p_ptr + i, mask=mask, other=0.0)
        g = tl.load(g_ptr + i, mask=mask, other=0.0)
        m = tl.load(m_ptr + i, mask=mask, other=0.0)
        v = tl.load(v_ptr + i, mask=mask, other=0.0)
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        upd = (m / b1) / (tl.sqrt(v / b2) + 1e-8)
        tl.store(po_ptr + i, p * 0.99 - 0.1 * upd, mask=mask)
        tl.store(mo_ptr + i, m, mask=mask)
        tl.store(vo_ptr + i, v, mask=mask)


def kernel(p, g, m, v):
    n = p.numel()
    outs = [torch.empty_like(p) for _ in range(3)]
    sms = torch.cuda.get_device_properties(p.device).multi_processor_count
    grid = (min(sms * 8, triton.cdiv(n, 1024)),)
    adamw_persistent[grid](p, g, m, v, *outs, n, 1 - 0.9**10, 1 - 0.999**10, BLOCK=1024, STAGES=3, num_warps=4)
    return tuple(outs)
