import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def swiglu_kernel(x_ptr, out_ptr, hidden, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = at < hidden
    gate = tl.load(x_ptr + row * 2 * hidden + at, mask=mask).to(tl.float32)
    up = tl.load(x_ptr + row * 2 * hidden + hidden + at, mask=mask).to(tl.float32)
    tl.store(out_ptr + row * hidden + at, (gate * tl.sigmoid(gate) * up).to(out_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.w13 = nn.Linear(width, 2 * hidden, bias=False)
        self.w2 = nn.Linear(hidden, width, bias=False)
        self.to(torch.bfloat16)

    def forward(self, x):
        both = self.w13(x)
        hidden = both.shape[-1] // 2
        out = torch.empty((x.shape[0], hidden), device=x.device, dtype=x.dtype)
        swiglu_kernel[(x.shape[0], triton.cdiv(hidden, 1024))](both, out, hidden, BLOCK=1024)
        return x + self.w2(out)
