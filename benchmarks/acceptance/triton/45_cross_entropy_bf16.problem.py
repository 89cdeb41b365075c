import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Language model loss: bfloat16 logits, int64 targets, ignored positions, mean over the valid ones.
    """

    def __init__(self, ignore_index):
        super().__init__()
        self.ignore_index = ignore_index

    def forward(self, logits, targets):
        return F.cross_entropy(logits.float(), targets, ignore_index=self.ignore_index)


tokens = 3072
vocab = 32000
ignore_index = -100


def get_inputs():
    logits = torch.randn(tokens, vocab).to(torch.bfloat16)
    targets = torch.randint(0, vocab, (tokens,), dtype=torch.int64)
    targets[torch.rand(tokens) < 0.1] = ignore_index
    targets[0] = 0
    return [logits, targets]


def get_init_inputs():
    return [ignore_index]
