import torch
import torch.nn as nn


class Model(nn.Module):
    """
    C = A^T @ B with bfloat16 operands stored K-major.
    """

    def __init__(self):
        super().__init__()

    def forward(self, A, B):
        return torch.matmul(A.T, B)


M = 4096
N = 2048
K = 6144


def get_inputs():
    A = torch.randn(K, M).to(torch.bfloat16)
    B = torch.randn(K, N).to(torch.bfloat16)
    return [A, B]


def get_init_inputs():
    return []
