import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Very tall matrix times a small square one (float16).
    """

    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return A @ B


M = 262144
K = 128
N = 96


def get_inputs():
    A = torch.rand(M, K).half()
    B = torch.rand(K, N).half()
    return [A, B]


def get_init_inputs():
    return []
