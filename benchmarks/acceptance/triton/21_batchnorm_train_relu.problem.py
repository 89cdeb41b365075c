import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Batch normalization (batch statistics in training mode, running statistics otherwise) and ReLU.
    """

    def __init__(self, num_features):
        super().__init__()
        self.bn = nn.BatchNorm2d(num_features)

    def forward(self, x):
        return F.relu(self.bn(x))


batch_size = 64
num_features = 96
height = 56
width = 56


def get_inputs():
    return [torch.rand(batch_size, num_features, height, width) * 2.0 - 0.5]


def get_init_inputs():
    return [num_features]
