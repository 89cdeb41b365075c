"""A generalised overlap loss of predicted and true boxes with its gradient."""

import torch
import torch.nn as nn

boxes = 1048576
spread = 100
TINY = {"boxes": 16, "spread": 10}


class Model(nn.Module):
    def loss(self, p, t):
        low, high = torch.maximum(p[:, :2], t[:, :2]), torch.minimum(p[:, 2:], t[:, 2:])
        inside = (high - low).clamp(min=0).prod(dim=1)
        area_p, area_t = (p[:, 2:] - p[:, :2]).prod(dim=1), (t[:, 2:] - t[:, :2]).prod(dim=1)
        union = area_p + area_t - inside
        hull = (torch.maximum(p[:, 2:], t[:, 2:]) - torch.minimum(p[:, :2], t[:, :2])).prod(dim=1)
        return (1 - inside / union + (hull - union) / hull).sum()

    def forward(self, predicted, true):
        with torch.enable_grad():
            predicted = predicted.detach().requires_grad_(True)
            loss = self.loss(predicted, true)
            (grad,) = torch.autograd.grad(loss, predicted)
        return loss.detach(), grad


def get_inputs():
    boxes_of = []
    for _ in range(2):
        corner = spread * torch.rand(boxes, 2)
        boxes_of.append(torch.cat([corner, corner + 1 + spread * torch.rand(boxes, 2)], dim=1))
    return boxes_of


def get_init_inputs():
    return []
