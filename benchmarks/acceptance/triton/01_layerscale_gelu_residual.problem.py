import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Residual branch of a transformer block in bfloat16:
    out = residual + gamma * gelu_tanh(x)
    """

    def __init__(self, dim, init_value):
        super(Model, self).__init__()
        self.gamma = nn.Parameter(torch.full((dim,), init_value, dtype=torch.bfloat16))

    def forward(self, x, residual):
        return residual + self.gamma * F.gelu(x, approximate="tanh")


batch_size = 16
seq_len = 2048
dim = 1024
init_value = 0.5


def get_inputs():
    x = torch.randn(batch_size, seq_len, dim).to(torch.bfloat16)
    residual = torch.randn(batch_size, seq_len, dim).to(torch.bfloat16)
    return [x, residual]


def get_init_inputs():
    return [dim, init_value]
