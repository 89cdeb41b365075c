"""Cross-entropy with smoothed labels and a penalty on the log-normaliser, with the gradient of the logits."""

import torch
import torch.nn as nn

tokens = 4096
vocabulary = 32000
TINY = {"tokens": 4, "vocabulary": 24}


class Model(nn.Module):
    def __init__(self, smoothing, weight):
        super().__init__()
        self.smoothing, self.weight = smoothing, weight

    def forward(self, logits, target):
        x = logits.float()
        z = torch.logsumexp(x, dim=-1)
        right = x.gather(1, target.unsqueeze(1)).squeeze(1)
        loss = z - (1 - self.smoothing) * right - self.smoothing * x.mean(dim=-1) + self.weight * z.square()
        grad = torch.softmax(x, dim=-1) * (1 + 2 * self.weight * z).unsqueeze(1) - self.smoothing / x.shape[1]
        hit = torch.full_like(z, self.smoothing - 1).unsqueeze(1)
        grad = grad.scatter_add(1, target.unsqueeze(1), hit)
        return loss.sum(), grad.to(logits.dtype)


def get_inputs():
    return [torch.randn(tokens, vocabulary, dtype=torch.bfloat16), torch.randint(0, vocabulary, (tokens,))]


def get_init_inputs():
    return [0.1, 1e-4]
