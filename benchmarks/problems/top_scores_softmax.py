"""Softmax over the k largest scores of each row, with their places."""

import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k

    def forward(self, scores):
        values, places = torch.topk(scores, self.k, dim=-1)
        return torch.softmax(values, dim=-1), places


def get_inputs():
    return [torch.randn(16384, 512)]


def get_init_inputs():
    return [8]
