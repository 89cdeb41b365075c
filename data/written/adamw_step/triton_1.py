import torch
import triton
import triton.language as tl


@triton.jit
def adamw_kernel(
    p_ptr, g_ptr, m_ptr, v_ptr, p_out_ptr, m_out_ptr, v_out_ptr, n,
    lr, beta1, beta2, eps, weight_decay, bias1, bias2, BLOCK_SIZE: tl.constexpr,
):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offs < n
    p = tl.load(p_ptr + offs, mask=mask)
    g = tl.load(g_ptr + offs, mask=mask)
    m = tl.load(m_ptr + offs, mask=mask)
    v = tl.load(v_ptr + offs, mask=mask)
    m = beta1 * m + (1.0 - beta1) * g
    v = beta2 * v + (1.0 - beta2) * g * g
    step = (m / bias1) / (tl.sqrt(v / bias2) + eps)
    p = p * (1.0 - lr * weight_decay) - lr * step
    tl.store(p_out_ptr + offs, p, mask=mask)
    tl.store(m_out_ptr + offs, m, mask=mask)
    tl.store(v_out_ptr + offs, v, mask=mask)


def kernel(p, g, m, v):
    n = p.numel()
    p_out, m_out, v_out = torch.empty_like(p), torch.empty_like(m), torch.empty_like(v)
    adamw_kernel[(triton.cdiv(n, 1024),)](
        p, g, m, v, p_out, m_out, v_out, n,
        0.1, 0.9, 0.999, 1e-8, 0.1, 1 - 0.9**10, 1 - 0.999**10, BLOCK_SIZE=1024,
    )
    return p_out, m_out, v_out
