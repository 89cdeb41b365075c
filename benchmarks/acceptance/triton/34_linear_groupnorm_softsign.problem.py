import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Linear layer, group normalization over feature groups, softsign and a learned gain.
    """

    def __init__(self, in_features, out_features, num_groups):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.norm = nn.GroupNorm(num_groups, out_features)
        self.gain = nn.Parameter(torch.randn(out_features))

    def forward(self, x):
        y = self.norm(self.linear(x))
        return F.softsign(y) * self.gain


batch_size = 8192
in_features = 512
out_features = 2048
num_groups = 32


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, num_groups]
