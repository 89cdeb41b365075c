import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Plain float32 matrix product C = A @ B.
    """

    def __init__(self):
        super().__init__()

    def forward(self, A: torch.Tensor, B: torch.Tensor) -> torch.Tensor:
        return torch.matmul(A, B)


M = 2304
K = 2048
N = 2304


def get_inputs():
    A = torch.rand(M, K)
    B = torch.rand(K, N)
    return [A, B]


def get_init_inputs():
    return []
