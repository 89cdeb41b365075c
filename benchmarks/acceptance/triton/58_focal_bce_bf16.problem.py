import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Focal binary cross entropy with per-class positive weights (a buffer) and bfloat16 inputs.
    """

    def __init__(self, num_classes, gamma):
        super().__init__()
        self.gamma = gamma
        self.register_buffer("pos_weight", torch.linspace(0.5, 3.0, num_classes))

    def forward(self, logits, labels):
        x = logits.float()
        y = labels.float()
        bce = F.binary_cross_entropy_with_logits(x, y, pos_weight=self.pos_weight, reduction="none")
        p = torch.sigmoid(x)
        pt = y * p + (1.0 - y) * (1.0 - p)
        return (bce * (1.0 - pt) ** self.gamma).mean()


batch_size = 16384
num_classes = 1500
gamma = 2.0


def get_inputs():
    logits = (torch.randn(batch_size, num_classes) * 2.0).to(torch.bfloat16)
    labels = (torch.rand(batch_size, num_classes) > 0.8).to(torch.bfloat16)
    return [logits, labels]


def get_init_inputs():
    return [num_classes, gamma]
