import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Matrix-vector product plus an offset vector.
    """

    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    def forward(self, A, v, c):
        return self.alpha * torch.mv(A, v) + c


M = 12288
K = 2560
alpha = 0.5


def get_inputs():
    return [torch.randn(M, K), torch.randn(K), torch.randn(M)]


def get_init_inputs():
    return [alpha]
