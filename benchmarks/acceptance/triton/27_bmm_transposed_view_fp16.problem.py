import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Scaled batched matrix product in float16; the second operand arrives as a transposed view.
    """

    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, A, B):
        return torch.bmm(A, B) * self.scale


batch = 64
M = 512
N = 640
K = 384
scale = 0.05


def get_inputs():
    A = torch.randn(batch, M, K).half()
    B = torch.randn(batch, N, K).half()
    return [A, B.transpose(1, 2)]


def get_init_inputs():
    return [scale]
