# task: problem.py
import torch
import triton
import triton.language as tl


@triton.jit
def chain(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.load(x + i, mask=i < n)
    v = tl.load(y + i, mask=i < n)
    for _ in tl.static_range(8):
        u = 2 * tl.sigmoid(2 * (u + v)) - 1
        v = tl.sigmoid(v) * u
    tl.store(out + i, u + v, mask=i < n)


class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        n = x.numel()
        chain[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)
        return out
