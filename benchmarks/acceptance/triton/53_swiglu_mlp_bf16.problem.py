import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    SwiGLU feed-forward block in bfloat16.
    """

    def __init__(self, dim, hidden):
        super().__init__()
        self.gate = nn.Linear(dim, hidden, bias=False).to(torch.bfloat16)
        self.up = nn.Linear(dim, hidden, bias=False).to(torch.bfloat16)
        self.down = nn.Linear(hidden, dim, bias=False).to(torch.bfloat16)

    def forward(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x))


tokens = 4096
dim = 2048
hidden = 5504


def get_inputs():
    return [torch.randn(tokens, dim).to(torch.bfloat16)]


def get_init_inputs():
    return [dim, hidden]
