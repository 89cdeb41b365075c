import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Scaled softmax of attention scores with a key padding mask (float16).
    """

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, scores, key_padding_mask):
        s = scores * self.scale
        s = s.masked_fill(key_padding_mask, float("-inf"))
        return torch.softmax(s, dim=-1)


batch = 16
heads = 8
seq = 512
scale = 0.125


def get_inputs():
    scores = (torch.randn(batch, heads, seq, seq) * 8.0).half()
    mask = torch.rand(batch, 1, 1, seq) > 0.8
    mask[..., 0] = False
    return [scores, mask]


def get_init_inputs():
    return [scale]
