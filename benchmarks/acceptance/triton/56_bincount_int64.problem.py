import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Histogram of int64 class ids.
    """

    def __init__(self, num_bins):
        super().__init__()
        self.num_bins = num_bins

    def forward(self, ids):
        return torch.bincount(ids, minlength=self.num_bins)


count = 12000000
num_bins = 256


def get_inputs():
    return [torch.randint(0, num_bins, (count,), dtype=torch.int64)]


def get_init_inputs():
    return [num_bins]
