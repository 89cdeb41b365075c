"""A product of complex matrices from three real products, in double precision."""

import torch
import torch.nn as nn

rows = 1024
inner = 1024
columns = 1024
TINY = {"rows": 5, "inner": 4, "columns": 3}


class Model(nn.Module):
    def forward(self, ar, ai, br, bi):
        one = (ar + ai) @ br
        two = ar @ (bi - br)
        three = ai @ (br + bi)
        return one - three, one + two


def get_inputs():
    kind = {"dtype": torch.float64}
    a = [torch.randn(rows, inner, **kind) for _ in range(2)]
    return a + [torch.randn(inner, columns, **kind) for _ in range(2)]


def get_init_inputs():
    return []
