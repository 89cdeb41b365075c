import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Half precision linear layer with bias and exact GELU.
    """

    def __init__(self, in_features, out_features):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features).half()

    def forward(self, x):
        return F.gelu(self.linear(x))


batch_size = 8192
in_features = 2048
out_features = 4096


def get_inputs():
    return [torch.randn(batch_size, in_features).half()]


def get_init_inputs():
    return [in_features, out_features]
