import torch
import triton
import triton.language as tl


@triton.jit
def lion_wide(p_ptr, g_ptr, m_ptr, po_ptr, mo_ptr, n, BLOCK: tl.constexpr):
    # 8 bf16 = 16 bytes per thread and access: BLOCK = 8 * 32 * num_warps * 2. sign(c) = (c > 0) - (c < 0)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = tl.max_contiguous(tl.multiple_of(i, 8), BLOCK)
    mask = i < n
    g = tl.load(g_ptr + i, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
    m = tl.load(m_ptr + i, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
    p = tl.load(p_ptr + i, mask=mask, other=0.0, eviction_policy="evict_first").to(tl.float32)
    c = 7.0 * m + g  # only the sign matters: scale by 8 and save a multiply
    sign = (c > 0).to(tl.float32) - (c < 0).to(tl.float32)
    tl.store(po_ptr + i, (p * 0.96875 - 0.125 * sign).to(tl.bfloat16), mask=mask, eviction_policy="evict_first")
    tl.store(mo_ptr + i, (m + 0.03125 * (g - m)).to(tl.bfloat16), mask=mask, eviction_policy="evict_first")


def kernel(p, g, m):
    n = p.numel()
    po, mo = torch.empty_like(p), torch.empty_like(m)
    block = 4096
    lion_wide[(triton.cdiv(n, block),)](p, g, m, po, mo, n, BLOCK=block, num_warps=8)
    return po, mo
