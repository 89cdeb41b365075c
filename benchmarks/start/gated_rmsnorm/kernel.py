import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gated_rmsnorm_kernel(gate_ptr, up_ptr, weight_ptr, out_ptr, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < hidden
    gate = tl.load(gate_ptr + row * hidden + cols, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + row * hidden + cols, mask=mask, other=0.0).to(tl.float32)
    gated = gate * tl.sigmoid(gate) * up
    scale = tl.rsqrt(tl.sum(gated * gated, axis=0) / hidden + eps)
    weight = tl.load(weight_ptr + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * hidden + cols, (gated * scale * weight).to(out_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, hidden, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter((torch.rand(hidden) + 0.5).to(torch.bfloat16))

    def forward(self, gate, up):
        rows, hidden = gate.shape
        out = torch.empty_like(gate)
        gated_rmsnorm_kernel[(rows,)](
            gate, up, self.weight, out, hidden, self.eps, BLOCK=triton.next_power_of_2(hidden), num_warps=16
        )
        return out
