# task: problem.py
import torch
import triton
import triton.language as tl


@triton.jit
def repeat(x, out, plane, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    head = tl.program_id(1).to(tl.int64)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + head * plane + i, mask=i < plane) * 1.5
    for g in tl.static_range(GROUPS):
        tl.store(out + (head * GROUPS + g) * plane + i, v, mask=i < plane)


class ModelNew(torch.nn.Module):
    def __init__(self, groups):
        super().__init__()
        self.groups = groups

    def forward(self, x):
        b, h, s, d = x.shape
        out = torch.empty((b, h, self.groups, s, d), dtype=x.dtype, device=x.device)
        repeat[(triton.cdiv(s * d, 4096), b * h)](x, out, s * d, GROUPS=self.groups, BLOCK=4096, num_warps=8)
        return out
