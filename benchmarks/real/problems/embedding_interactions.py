"""Embeddings of categories and a dense feature, all pairwise products, and a small network on top."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 16384
categories = 26
rows = 10000
width = 32
TINY = {"batch": 3, "categories": 3, "rows": 5, "width": 4}


class Model(nn.Module):
    def __init__(self, categories, rows, width):
        super().__init__()
        self.tables = nn.Parameter(torch.randn(categories, rows, width))
        self.dense = nn.Linear(13, width)
        i, j = torch.tril_indices(categories + 1, categories + 1, -1)
        self.register_buffer("i", i)
        self.register_buffer("j", j)
        self.top = nn.Sequential(nn.Linear(len(i) + width, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, dense, index):
        d = F.relu(self.dense(dense))
        which = torch.arange(index.shape[1], device=index.device)
        all_of = torch.cat([d.unsqueeze(1), self.tables[which, index]], dim=1)
        products = torch.bmm(all_of, all_of.transpose(1, 2))[:, self.i, self.j]
        return self.top(torch.cat([products, d], dim=1)).squeeze(1)


def get_inputs():
    return [torch.randn(batch, 13), torch.randint(0, rows, (batch, categories))]


def get_init_inputs():
    return [categories, rows, width]
