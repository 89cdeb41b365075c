"""Vectors approximated by a soft choice of codes of several books in turn, each coding what the last left over."""

import torch
import torch.nn as nn

vectors = 16384
width = 128
codes = 1024
books = 4
TINY = {"vectors": 6, "width": 4, "codes": 5, "books": 2}


class Model(nn.Module):
    def __init__(self, width, codes, books):
        super().__init__()
        self.books = nn.Parameter(torch.randn(books, codes, width) / torch.arange(1, books + 1).view(-1, 1, 1))

    def forward(self, x):
        left, total = x, torch.zeros_like(x)
        for book in self.books:
            distance = book.square().sum(-1) - 2 * left @ book.t()
            code = torch.softmax(-distance, dim=1) @ book
            total, left = total + code, left - code
        return total, left.square().mean(dim=1)


def get_inputs():
    return [torch.randn(vectors, width)]


def get_init_inputs():
    return [width, codes, books]
