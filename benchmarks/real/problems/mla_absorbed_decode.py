"""One decoding step against a latent cache with the up-projections absorbed into query and output."""

import torch
import torch.nn as nn

batch = 32
heads = 64
cached = 2048
latent = 512
rotary = 64
width = 128
TINY = {"batch": 2, "heads": 2, "cached": 16, "latent": 16, "rotary": 4, "width": 8}


class Model(nn.Module):
    def __init__(self, heads, latent, width):
        super().__init__()
        self.up_k = nn.Parameter(torch.randn(heads, width, latent, dtype=torch.bfloat16) * latent**-0.5)
        self.up_v = nn.Parameter(torch.randn(heads, latent, width, dtype=torch.bfloat16) * latent**-0.5)
        self.scale = (width + 64) ** -0.5

    def forward(self, q, q_rotary, cache, cache_rotary):
        absorbed = torch.einsum("bhd,hdl->bhl", q, self.up_k)
        scores = torch.einsum("bhl,btl->bht", absorbed, cache) + torch.einsum("bhr,btr->bht", q_rotary, cache_rotary)
        weights = torch.softmax(scores.float() * self.scale, dim=-1).to(q.dtype)
        return torch.einsum("bhl,hld->bhd", torch.einsum("bht,btl->bhl", weights, cache), self.up_v)


def get_inputs():
    kind = {"dtype": torch.bfloat16}
    return [
        torch.randn(batch, heads, width, **kind),
        torch.randn(batch, heads, rotary, **kind),
        torch.randn(batch, cached, latent, **kind),
        torch.randn(batch, cached, rotary, **kind),
    ]


def get_init_inputs():
    return [heads, latent, width]
