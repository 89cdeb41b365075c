"""A shared projection with a low-rank adapter for each request, chosen by index."""

import torch
import torch.nn as nn

requests = 512
width = 2048
outputs = 2048
adapters = 32
rank = 16
TINY = {"requests": 6, "width": 16, "outputs": 12, "adapters": 3, "rank": 2}


class Model(nn.Module):
    def __init__(self, width, outputs, adapters, rank):
        super().__init__()
        self.base = nn.Linear(width, outputs, bias=False)
        self.down = nn.Parameter(torch.randn(adapters, width, rank) * width**-0.5)
        self.up = nn.Parameter(torch.randn(adapters, rank, outputs) * 0.1)
        self.half()

    def forward(self, x, which):
        low = torch.bmm(x.unsqueeze(1), self.down[which])
        return self.base(x) + 2.0 * torch.bmm(low, self.up[which]).squeeze(1)


def get_inputs():
    return [torch.randn(requests, width, dtype=torch.float16), torch.randint(0, adapters, (requests,))]


def get_init_inputs():
    return [width, outputs, adapters, rank]
