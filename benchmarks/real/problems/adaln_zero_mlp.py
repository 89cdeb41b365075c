"""An MLP whose input is normalised, scaled and shifted by a condition, and whose output is gated by it."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 8
tokens = 256
width = 1152
hidden = 4608
TINY = {"batch": 2, "tokens": 4, "width": 16, "hidden": 32}


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.modulation = nn.Linear(width, 3 * width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.to(torch.bfloat16)

    def forward(self, x, condition):
        shift, scale, gate = self.modulation(F.silu(condition)).unsqueeze(1).chunk(3, dim=-1)
        y = F.layer_norm(x, (x.shape[-1],), eps=1e-6) * (1 + scale) + shift
        return x + gate * self.down(F.gelu(self.up(y), approximate="tanh"))


def get_inputs():
    kind = {"dtype": torch.bfloat16}
    return [torch.randn(batch, tokens, width, **kind), torch.randn(batch, width, **kind)]


def get_init_inputs():
    return [width, hidden]
