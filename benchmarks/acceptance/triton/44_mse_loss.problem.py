import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Mean squared error with a constant weight.
    """

    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, predictions, targets):
        return self.weight * torch.mean((predictions - targets) ** 2)


batch_size = 24576
features = 1024
weight = 0.5


def get_inputs():
    return [torch.rand(batch_size, features), torch.rand(batch_size, features)]


def get_init_inputs():
    return [weight]
