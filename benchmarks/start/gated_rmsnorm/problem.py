"""SwiGLU gating followed by an RMS normalisation over the hidden dimension."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, hidden, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter((torch.rand(hidden) + 0.5).to(torch.bfloat16))

    def forward(self, gate, up):
        gated = F.silu(gate.float()) * up.float()
        scale = torch.rsqrt(gated.square().mean(dim=-1, keepdim=True) + self.eps)
        return (gated * scale).to(gate.dtype) * self.weight


tokens = 8192
hidden = 11008


def get_inputs():
    return [torch.randn(tokens, hidden, dtype=torch.bfloat16), torch.randn(tokens, hidden, dtype=torch.bfloat16)]


def get_init_inputs():
    return [hidden, 1e-6]
