import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Causal attention with grouped key/value heads in bfloat16.
    """

    def __init__(self, num_q_heads, num_kv_heads):
        super().__init__()
        assert num_q_heads % num_kv_heads == 0
        self.group = num_q_heads // num_kv_heads

    def forward(self, q, k, v):
        k = k.repeat_interleave(self.group, dim=1)
        v = v.repeat_interleave(self.group, dim=1)
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)


batch_size = 4
num_q_heads = 32
num_kv_heads = 8
seq_len = 2000
head_dim = 128


def get_inputs():
    q = torch.randn(batch_size, num_q_heads, seq_len, head_dim).to(torch.bfloat16)
    k = torch.randn(batch_size, num_kv_heads, seq_len, head_dim).to(torch.bfloat16)
    v = torch.randn(batch_size, num_kv_heads, seq_len, head_dim).to(torch.bfloat16)
    return [q, k, v]


def get_init_inputs():
    return [num_q_heads, num_kv_heads]
