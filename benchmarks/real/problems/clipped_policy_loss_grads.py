"""A clipped policy objective with value loss and entropy bonus, and the gradients of logits and values."""

import torch
import torch.nn as nn
import torch.nn.functional as F

steps = 65536
actions = 64
TINY = {"steps": 8, "actions": 4}


class Model(nn.Module):
    def __init__(self, clip):
        super().__init__()
        self.clip = clip

    def forward(self, logits, values, action, old_log_p, advantage, returns):
        with torch.enable_grad():
            logits, values = logits.detach().requires_grad_(True), values.detach().requires_grad_(True)
            log_p = F.log_softmax(logits, dim=-1)
            taken = log_p.gather(1, action.unsqueeze(1)).squeeze(1)
            ratio = torch.exp(taken - old_log_p)
            clipped = ratio.clamp(1 - self.clip, 1 + self.clip)
            policy = -torch.minimum(ratio * advantage, clipped * advantage).sum()
            entropy = -(log_p.exp() * log_p).sum()
            loss = policy + 0.5 * (values - returns).square().sum() - 0.01 * entropy
            grads = torch.autograd.grad(loss, (logits, values))
        return loss.detach(), *grads


def get_inputs():
    figures = [torch.randn(steps) for _ in range(2)]
    return [
        torch.randn(steps, actions),
        torch.randn(steps),
        torch.randint(0, actions, (steps,)),
        -torch.rand(steps) - 3.0,
        *figures,
    ]


def get_init_inputs():
    return [0.2]
