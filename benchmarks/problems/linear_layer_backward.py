"""Loss and gradients of a layer's parameters, with loss.backward() and a fresh grad each time."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.fc = nn.Linear(n_in, n_out)

    def forward(self, x, y):
        with torch.enable_grad():
            self.fc.zero_grad(set_to_none=True)
            loss = F.smooth_l1_loss(torch.tanh(self.fc(x)), y, beta=0.5)
            loss.backward()
        return loss.detach(), self.fc.weight.grad, self.fc.bias.grad


def get_inputs():
    return [torch.randn(4096, 512), torch.randn(4096, 256)]


def get_init_inputs():
    return [512, 256]
