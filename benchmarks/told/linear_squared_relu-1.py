import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def finish(z, scale, elements, features, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = i < elements
    v = tl.maximum(tl.load(z + i, mask=mask, other=0.0).to(tl.float32), 0.0)
    v = (v * v).to(tl.bfloat16).to(tl.float32)
    s = tl.load(scale + i % features, mask=mask, other=0.0).to(tl.float32)
    tl.store(z + i, (v * s).to(tl.bfloat16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out).to(torch.bfloat16)
        self.scale = nn.Parameter((torch.rand(features_out) + 0.5).to(torch.bfloat16))

    @torch.no_grad()
    def forward(self, x):
        z = F.linear(x, self.linear.weight, self.linear.bias)
        features = z.shape[-1]
        finish[(triton.cdiv(z.numel(), 4096),)](z, self.scale, z.numel(), features, BLOCK=4096, num_warps=8)
        return z
