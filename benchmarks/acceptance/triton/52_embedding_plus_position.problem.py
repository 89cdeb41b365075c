import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Token embedding lookup scaled by sqrt(dim) plus a learned position embedding (int64 ids).
    """

    def __init__(self, vocab_size, max_len, dim):
        super().__init__()
        self.tok = nn.Embedding(vocab_size, dim)
        self.pos = nn.Embedding(max_len, dim)
        self.scale = math.sqrt(dim)

    def forward(self, ids):
        positions = torch.arange(ids.shape[1], device=ids.device)
        return self.tok(ids) * self.scale + self.pos(positions)


vocab_size = 30000
max_len = 2048
dim = 768
batch_size = 32
seq_len = 1024


def get_inputs():
    return [torch.randint(0, vocab_size, (batch_size, seq_len), dtype=torch.int64)]


def get_init_inputs():
    return [vocab_size, max_len, dim]
