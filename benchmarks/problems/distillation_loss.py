"""A mixture of divergence from a teacher's soft targets and cross-entropy, where -100 is ignored."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, temperature, alpha):
        super().__init__()
        self.t, self.alpha = temperature, alpha

    def forward(self, student, teacher, labels):
        soft = F.kl_div(
            F.log_softmax(student / self.t, -1),
            F.log_softmax(teacher / self.t, -1),
            reduction="batchmean",
            log_target=True,
        )
        hard = F.cross_entropy(student, labels, ignore_index=-100)
        return self.alpha * self.t**2 * soft + (1 - self.alpha) * hard


def get_inputs():
    labels = torch.randint(0, 8000, (2048,))
    labels[::7] = -100
    return [torch.randn(2048, 8000), torch.randn(2048, 8000), labels]


def get_init_inputs():
    return [2.0, 0.7]
