"""A focal loss and the gradient of its logits, by autograd inside forward."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, gamma):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits, target):
        with torch.enable_grad():
            logits = logits.detach().requires_grad_(True)
            logp = F.log_softmax(logits, dim=-1)
            logpt = logp.gather(1, target[:, None]).squeeze(1)
            loss = (-((1 - logpt.exp()) ** self.gamma) * logpt).mean()
            (grad,) = torch.autograd.grad(loss, logits)
        return loss.detach(), grad


def get_inputs():
    return [torch.randn(8192, 1000), torch.randint(0, 1000, (8192,))]


def get_init_inputs():
    return [2.0]
