"""One step of a recurrent cell with peepholes and normalised gates, for a large batch."""

import torch
import torch.nn as nn

batch = 4096
width = 512
hidden = 512
TINY = {"batch": 4, "width": 8, "hidden": 12}


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.x, self.h = nn.Linear(width, 4 * hidden, bias=False), nn.Linear(hidden, 4 * hidden, bias=False)
        self.norm_x, self.norm_h, self.norm_c = (nn.LayerNorm(n) for n in (4 * hidden, 4 * hidden, hidden))
        self.peep = nn.Parameter(0.1 * torch.randn(3, hidden))

    def forward(self, x, h, c):
        gates = self.norm_x(self.x(x)) + self.norm_h(self.h(h))
        i, f, g, o = gates.chunk(4, dim=-1)
        i = torch.sigmoid(i + self.peep[0] * c)
        f = torch.sigmoid(f + self.peep[1] * c + 1.0)
        c = f * c + i * torch.tanh(g)
        o = torch.sigmoid(o + self.peep[2] * c)
        return o * torch.tanh(self.norm_c(c)), c


def get_inputs():
    return [torch.randn(batch, width), torch.randn(batch, hidden), torch.randn(batch, hidden)]


def get_init_inputs():
    return [width, hidden]
