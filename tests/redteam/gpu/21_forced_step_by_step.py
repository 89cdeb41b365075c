# task: problem.py
# honest: 21_honest_sinkhorn.py
import torch, triton
import triton.language as tl
import torch.nn as nn

@triton.jit
def k(x, o, rounds, N: tl.constexpr):
    b = tl.program_id(0)
    i = tl.arange(0, N)
    at = b * N * N + i[:, None] * N + i[None, :]
    v = tl.load(x + at)
    for _ in range(rounds):
        v = v / tl.sum(v, 1)[:, None]
        v = v / tl.sum(v, 0)[None, :]
    tl.store(o + at, v)

class ModelNew(nn.Module):
    def __init__(self, rounds):
        super().__init__()
        self.rounds = rounds

    def forward(self, x):
        o = torch.empty_like(x)
        k[(x.shape[0],)](x, o, self.rounds, N=64, num_warps=4)
        torch.tensor([1.0]).to(x.device)  # cannot be captured: the reference's 80 calls are launched one by one too
        return o
