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
        # the library's product in chunks of tokens that stay in the last-level cache until their epilogue has run
        shape = x.shape[:-1]
        x = x.reshape(-1, x.shape[-1])
        tokens, features = x.shape[0], self.linear.weight.shape[0]
        z = torch.empty(tokens, features, device=x.device, dtype=x.dtype)
        weight, bias = self.linear.weight.t(), self.linear.bias
        step = 2048
        for start in range(0, tokens, step):
            part = z[start:start + step]
            torch.addmm(bias, x[start:start + step], weight, out=part)
            finish[(triton.cdiv(part.numel(), 4096),)](part, self.scale, part.numel(), features, BLOCK=4096, num_warps=8)
        return z.reshape(*shape, features)
