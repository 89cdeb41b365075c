"""An Adam step whose moments are read as 8-bit numbers with a scale per block and rounded to that grid again."""

import torch
import torch.nn as nn

blocks = 65536
block = 256
TINY = {"blocks": 3, "block": 8}


class Model(nn.Module):
    def forward(self, weight, grad, first, first_scale, second, second_scale):
        m = 0.9 * first.float() * first_scale + 0.1 * grad
        v = 0.9 * (second.float() * second_scale).square() + 0.1 * grad.square()
        weight = weight - 0.1 * m / (torch.sqrt(v) + 1e-8)
        m_scale = m.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) / 127
        root = torch.sqrt(v)
        v_scale = root.amax(dim=1, keepdim=True).clamp(min=1e-12) / 255
        return weight, torch.round(m / m_scale) * m_scale, torch.round(root / v_scale) * v_scale


def get_inputs():
    return [
        torch.randn(blocks, block),
        torch.randn(blocks, block),
        torch.randint(-127, 128, (blocks, block), dtype=torch.int8),
        0.002 * torch.rand(blocks, 1) + 1e-4,
        torch.randint(0, 256, (blocks, block), dtype=torch.uint8),
        0.002 * torch.rand(blocks, 1) + 1e-4,
    ]


def get_init_inputs():
    return []
