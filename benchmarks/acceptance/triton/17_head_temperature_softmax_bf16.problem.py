import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Softmax with a fixed temperature per head (bfloat16, the temperatures are a buffer).
    """

    def __init__(self, num_heads):
        super().__init__()
        t = torch.linspace(0.5, 2.0, num_heads).to(torch.bfloat16)
        self.register_buffer("temperature", t.view(num_heads, 1, 1))

    def forward(self, x):
        return torch.softmax(x / self.temperature, dim=-1)


batch = 32
num_heads = 16
q_len = 256
k_len = 256


def get_inputs():
    return [torch.randn(batch, num_heads, q_len, k_len).to(torch.bfloat16)]


def get_init_inputs():
    return [num_heads]
