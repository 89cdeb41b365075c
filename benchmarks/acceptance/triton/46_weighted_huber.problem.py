import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Huber loss averaged with per-element weights.
    """

    def __init__(self, delta):
        super().__init__()
        self.delta = delta

    def forward(self, pred, target, weight):
        loss = F.huber_loss(pred, target, reduction="none", delta=self.delta)
        return (loss * weight).sum() / weight.sum()


rows = 16384
cols = 1024
delta = 0.8


def get_inputs():
    pred = torch.randn(rows, cols)
    target = torch.randn(rows, cols)
    weight = torch.rand(rows, cols)
    return [pred, target, weight]


def get_init_inputs():
    return [delta]
