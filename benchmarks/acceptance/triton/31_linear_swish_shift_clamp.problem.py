import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Linear layer, swish, per-feature shift, scaling and clamp.
    """

    def __init__(self, in_features, out_features, scale, limit):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.shift = nn.Parameter(torch.randn(out_features))
        self.scale = scale
        self.limit = limit

    def forward(self, x):
        y = self.linear(x)
        y = y * torch.sigmoid(y)
        y = (y + self.shift) * self.scale
        return torch.clamp(y, -self.limit, self.limit)


batch_size = 4096
in_features = 1024
out_features = 4096
scale = 1.5
limit = 2.0


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, out_features, scale, limit]
