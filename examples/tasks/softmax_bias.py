"""Softmax of each row plus a bias: an operation of one's own for a GPU, in ten lines."""

import torch


def inputs(seed):
    return torch.randn(4096, 1024), torch.randn(1024)


def reference(x, bias):
    return torch.softmax(x + bias, dim=1)
