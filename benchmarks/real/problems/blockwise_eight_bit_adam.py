"""An Adam step whose moments are stored as 8-bit numbers with a scale per block."""

import torch
import torch.nn as nn

blocks = 65536
block = 256
TINY = {"blocks": 3, "block": 8}


class Model(nn.Module):
    def forward(self, weight, grad, first, first_scale, second, second_scale):
        m = 0.9 * first.float() * first_scale + 0.1 * grad
        v = 0.999 * (second.float() * second_scale).square() + 0.001 * grad.square()
        weight = weight - 0.001 * m / (torch.sqrt(v) + 1e-8)
        m_scale = m.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127
        root = torch.sqrt(v)
        v_scale = root.amax(dim=1, keepdim=True).clamp(min=1e-12) / 255
        m8 = torch.round(m / m_scale).to(torch.int8)
        v8 = torch.round(root / v_scale).to(torch.uint8)
        return weight, m8, m_scale, v8, v_scale


def get_inputs():
    return [
        torch.randn(blocks, block),
        torch.randn(blocks, block),
        torch.randint(-127, 128, (blocks, block), dtype=torch.int8),
        0.01 * torch.rand(blocks, 1) + 1e-4,
        torch.randint(0, 256, (blocks, block), dtype=torch.uint8),
        0.01 * torch.rand(blocks, 1) + 1e-4,
    ]


def get_init_inputs():
    return []
