# task: problem.py
import torch
import triton
import triton.language as tl


@triton.jit
def silu(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n)
    tl.store(out + i, v * tl.sigmoid(v), mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        n = x.numel()
        silu[(triton.cdiv(n, 2048),)](x, out, n, BLOCK=2048)
        return out
