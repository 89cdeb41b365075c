import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Rotary position embedding (half rotation) of queries and keys in bfloat16.
    The cosine and sine tables are buffers. Two outputs.
    """

    def __init__(self, head_dim, max_len, base):
        super().__init__()
        inv_freq = 1.0 / (base ** (torch.arange(0, head_dim, 2).float() / head_dim))
        ang = torch.outer(torch.arange(max_len).float(), inv_freq)
        self.register_buffer("cos", ang.cos())
        self.register_buffer("sin", ang.sin())

    def _rotate(self, x):
        S = x.shape[1]
        cos = self.cos[:S].view(1, S, 1, -1)
        sin = self.sin[:S].view(1, S, 1, -1)
        x1, x2 = x.float().chunk(2, dim=-1)
        return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], dim=-1).to(x.dtype)

    def forward(self, q, k):
        return self._rotate(q), self._rotate(k)


batch_size = 8
seq_len = 2048
q_heads = 24
kv_heads = 6
head_dim = 128
max_len = 4096
base = 10000.0


def get_inputs():
    q = torch.randn(batch_size, seq_len, q_heads, head_dim).to(torch.bfloat16)
    k = torch.randn(batch_size, seq_len, kv_heads, head_dim).to(torch.bfloat16)
    return [q, k]


def get_init_inputs():
    return [head_dim, max_len, base]
