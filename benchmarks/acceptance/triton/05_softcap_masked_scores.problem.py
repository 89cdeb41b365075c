import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Logit soft-capping followed by a mask broadcast over the heads.
    """

    def __init__(self, cap, fill):
        super().__init__()
        self.cap = cap
        self.fill = fill

    def forward(self, scores, mask):
        s = self.cap * torch.tanh(scores / self.cap)
        return s.masked_fill(mask, self.fill)


B = 8
H = 12
S = 512
cap = 5.0
fill = -10000.0


def get_inputs():
    scores = torch.randn(B, H, S, S) * 4.0
    mask = torch.rand(B, 1, S, S) > 0.7
    return [scores, mask]


def get_init_inputs():
    return [cap, fill]
