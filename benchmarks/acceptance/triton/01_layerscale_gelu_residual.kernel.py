import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _layerscale_gelu_kernel(
    x_ptr,
    res_ptr,
    gamma_ptr,
    out_ptr,
    n_elements,
    dim,
    BLOCK: tl.constexpr,
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n_elements
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    r = tl.load(res_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    g = tl.load(gamma_ptr + offs % dim, mask=mask, other=0.0).to(tl.float32)

    # gelu_tanh(x) = x * sigmoid(2 * sqrt(2/pi) * (x + 0.044715 x^3))
    inner = 1.5957691216057308 * x * (1.0 + 0.044715 * x * x)
    gelu = x * tl.sigmoid(inner)
    out = r + g * gelu
    tl.store(out_ptr + offs, out.to(tl.bfloat16), mask=mask)


def layerscale_gelu(x, residual, gamma):
    x = x.contiguous()
    residual = residual.contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    BLOCK = 2048
    _layerscale_gelu_kernel[(triton.cdiv(n, BLOCK),)](
        x, residual, gamma, out, n, x.shape[-1], BLOCK=BLOCK, num_warps=8
    )
    return out


class ModelNew(nn.Module):
    def __init__(self, dim, init_value):
        super(ModelNew, self).__init__()
        self.gamma = nn.Parameter(torch.full((dim,), init_value, dtype=torch.bfloat16))

    def forward(self, x, residual):
        return layerscale_gelu(x, residual, self.gamma)
