"""One decoding step over a long cache with grouped heads, each sequence valid up to its own length."""

import torch
import torch.nn as nn

batch = 32
heads = 32
groups = 8
cached = 4096
width = 128
TINY = {"batch": 2, "heads": 4, "groups": 2, "cached": 32, "width": 8}


class Model(nn.Module):
    def forward(self, q, keys, values, lengths):
        b, h, d = q.shape
        g = keys.shape[1]
        q = q.view(b, g, h // g, d)
        scores = torch.einsum("bgqd,bgtd->bgqt", q, keys).float() * d**-0.5
        late = torch.arange(keys.shape[2], device=q.device)[None, :] >= lengths[:, None]
        weights = torch.softmax(scores.masked_fill(late[:, None, None, :], float("-inf")), dim=-1)
        return torch.einsum("bgqt,bgtd->bgqd", weights.to(values.dtype), values).reshape(b, h, d)


def get_inputs():
    cache = (batch, groups, cached, width)
    half = {"dtype": torch.float16}
    lengths = torch.randint(cached // 2, cached + 1, (batch,))
    return [torch.randn(batch, heads, width, **half), torch.randn(cache, **half), torch.randn(cache, **half), lengths]


def get_init_inputs():
    return []
