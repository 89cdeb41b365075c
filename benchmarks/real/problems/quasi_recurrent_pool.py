"""A causal convolution makes gates and candidates, and a forget-gate recurrence pools them over time."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 16
tokens = 64
width = 256
hidden = 512
TINY = {"batch": 2, "tokens": 8, "width": 8, "hidden": 12}


class Model(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.conv = nn.Conv1d(width, 3 * hidden, 2)

    def forward(self, x):
        z, f, o = self.conv(F.pad(x.transpose(1, 2), (1, 0))).transpose(1, 2).chunk(3, dim=-1)
        z, f, o = torch.tanh(z), torch.sigmoid(f), torch.sigmoid(o)
        c = torch.zeros_like(z[:, 0])
        outputs = []
        for t in range(x.shape[1]):
            c = f[:, t] * c + (1 - f[:, t]) * z[:, t]
            outputs.append(o[:, t] * c)
        return torch.stack(outputs, dim=1)


def get_inputs():
    return [torch.randn(batch, tokens, width)]


def get_init_inputs():
    return [width, hidden]
