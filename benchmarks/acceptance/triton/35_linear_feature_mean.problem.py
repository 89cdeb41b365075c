import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Linear layer whose outputs are averaged into one sigmoid score per row.
    """

    def __init__(self, in_features, hidden):
        super().__init__()
        self.proj = nn.Linear(in_features, hidden)

    def forward(self, x):
        return torch.sigmoid(self.proj(x).mean(dim=1))


batch_size = 32768
in_features = 1024
hidden = 768


def get_inputs():
    return [torch.randn(batch_size, in_features)]


def get_init_inputs():
    return [in_features, hidden]
