import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Product of two thin matrices over a very long inner dimension.
    """

    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return torch.matmul(A, B)


M = 64
K = 196608
N = 128


def get_inputs():
    A = torch.rand(M, K)
    B = torch.rand(K, N)
    return [A, B]


def get_init_inputs():
    return []
