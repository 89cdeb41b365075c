"""A problem in the shape of KernelBench: `Model` is the reference, `get_inputs` and `get_init_inputs` feed it."""

import torch
from torch import nn


class Model(nn.Module):
    """GELU with a learned scale and shift for each column."""

    def __init__(self, features: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.scale = nn.Parameter(torch.rand(features, generator=generator) + 0.5)
        self.shift = nn.Parameter(torch.rand(features, generator=generator) - 0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.gelu(x) * self.scale + self.shift


ROWS = 16384
FEATURES = 2048


def get_inputs() -> list[torch.Tensor]:
    """Arguments of `Model.forward`."""
    return [torch.randn(ROWS, FEATURES)]


def get_init_inputs() -> list[int]:
    """Arguments of `Model.__init__`."""
    return [FEATURES]
