import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """
    Distillation loss: KL(teacher || student) from logits at a temperature, batch mean.
    """

    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, student, teacher):
        T = self.temperature
        log_q = F.log_softmax(student / T, dim=-1)
        p = F.softmax(teacher / T, dim=-1)
        return F.kl_div(log_q, p, reduction="batchmean") * (T * T)


batch_size = 8192
num_classes = 3584
temperature = 2.0


def get_inputs():
    return [torch.randn(batch_size, num_classes) * 3.0, torch.randn(batch_size, num_classes) * 3.0]


def get_init_inputs():
    return [temperature]
