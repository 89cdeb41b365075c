# task: problem.py
# honest: 22_honest_diag.py
import torch, triton
import triton.language as tl
import torch.nn as nn

@triton.jit
def k(x, o, n, B: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)   # a row of one matrix
    i = r % n
    c = tl.arange(0, B)
    v = tl.load(x + r)
    tl.store(o + r * n + c, tl.where(c == i, v, 0.0), mask=c < n)

class ModelNew(nn.Module):
    def forward(self, x):
        b, n = x.shape
        o = torch.empty(b, n, n, device=x.device, dtype=x.dtype)
        k[(b * n,)](x, o, n, B=triton.next_power_of_2(n), num_warps=4)
        return o
