"""The gradients of a GELU-gated product for both of its halves, written out."""

import torch
import torch.nn as nn

tokens = 8192
width = 4096
TINY = {"tokens": 4, "width": 16}


class Model(nn.Module):
    def forward(self, gate_and_up, grad):
        gate, up = gate_and_up.float().chunk(2, dim=-1)
        grad = grad.float()
        half = 0.5 * (1.0 + torch.erf(gate * 0.7071067811865476))
        slope = half + gate * torch.exp(-0.5 * gate * gate) * 0.3989422804014327
        return torch.cat([grad * up * slope, grad * gate * half], dim=-1).to(gate_and_up.dtype)


def get_inputs():
    kind = {"dtype": torch.bfloat16}
    return [torch.randn(tokens, 2 * width, **kind), torch.randn(tokens, width, **kind)]


def get_init_inputs():
    return []
