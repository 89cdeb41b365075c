import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 2048}, num_warps=4),
        triton.Config({"BLOCK": 2048}, num_warps=8),
        triton.Config({"BLOCK": 4096}, num_warps=8),
        triton.Config({"BLOCK": 8192}, num_warps=8),
        triton.Config({"BLOCK": 8192}, num_warps=16),
    ],
    key=["n"],
)
@triton.jit
def lion_tuned(p_ptr, g_ptr, m_ptr, po_ptr, mo_ptr, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    i = start + tl.arange(0, BLOCK)
    if start + BLOCK <= n:
        # interior: no predicates
        p = tl.load(p_ptr + i).to(tl.float32)
        g = tl.load(g_ptr + i).to(tl.float32)
        m = tl.load(m_ptr + i).to(tl.float32)
        c = 7.0 * m + g
        s = tl.where(c > 0, 0.125, tl.where(c < 0, -0.125, 0.0))
        tl.store(po_ptr + i, (p * 0.96875 - s).to(tl.bfloat16))
        tl.store(mo_ptr + i, (m * 0.96875 + g * 0.03125).to(tl.bfloat16))
    else:
        mask = i < n
        p = tl.load(p_ptr + i, mask=mask).to(tl.float32)
        g = tl.load(g_ptr + i, mask=mask).to(tl.float32)
        m = tl.load(m_ptr + i, mask=mask).to(tl.float32)
        c = 7.0 * m + g
        s = tl.where(c > 0, 0.125, tl.where(c < 0, -0.125, 0.0))
        tl.store(po_ptr + i, (p * 0.96875 - s).to(tl.bfloat16), mask=mask)
        tl.store(mo_ptr + i, (m * 0.96875 + g * 0.03125).to(tl.bfloat16), mask=mask)


def kernel(p, g, m):
    n = p.numel()
    po, mo = torch.empty_like(p), torch.empty_like(m)
    lion_tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](p, g, m, po, mo, n)
    return po, mo
