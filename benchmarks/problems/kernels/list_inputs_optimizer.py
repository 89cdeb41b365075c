import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def adamw_kernel(p_ptr, g_ptr, m_ptr, v_ptr, p_out, m_out, v_out, n, lr, beta1, beta2, eps, decay, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    g = tl.load(g_ptr + at, mask=mask)
    m = beta1 * tl.load(m_ptr + at, mask=mask) + (1 - beta1) * g
    v = beta2 * tl.load(v_ptr + at, mask=mask) + (1 - beta2) * g * g
    p = tl.load(p_ptr + at, mask=mask) * (1 - lr * decay) - lr * m / (tl.sqrt(v) + eps)
    tl.store(p_out + at, p, mask=mask)
    tl.store(m_out + at, m, mask=mask)
    tl.store(v_out + at, v, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, lr, beta1, beta2, eps, decay):
        super().__init__()
        self.settings = (lr, beta1, beta2, eps, decay)

    def forward(self, params, grads, moments):
        new, first, second = [], [], []
        for p, g, (m, v) in zip(params, grads, moments, strict=True):
            outs = torch.empty_like(p), torch.empty_like(m), torch.empty_like(v)
            n = p.numel()
            adamw_kernel[(triton.cdiv(n, 1024),)](p, g, m, v, *outs, n, *self.settings, BLOCK=1024)
            for found, out in zip((new, first, second), outs, strict=True):
                found.append(out)
        return new, first, second
