"""Linear attention with a decay per channel, chunk by chunk, with a state carried between chunks."""

import torch
import torch.nn as nn
import torch.nn.functional as F

batch = 4
heads = 8
chunks = 16
chunk = 64
width = 64
TINY = {"batch": 1, "heads": 2, "chunks": 3, "chunk": 8, "width": 8}


class Model(nn.Module):
    def forward(self, q, k, v, gate):
        decay = F.logsigmoid(gate) / 16
        total = decay.cumsum(dim=3)
        last = total[:, :, :, -1:]
        q_in = q * total.exp()
        k_in, k_out = k * (-total).exp(), k * (last - total).exp()
        causal = torch.ones(q.shape[3], q.shape[3], device=q.device).tril()
        inside = (q_in @ k_in.transpose(-1, -2) * causal) @ v
        state = torch.zeros(q.shape[0], q.shape[1], q.shape[4], v.shape[4], device=q.device)
        outputs = []
        for c in range(q.shape[2]):
            outputs.append(inside[:, :, c] + q_in[:, :, c] @ state)
            state = state * last[:, :, c].exp().transpose(-1, -2) + k_out[:, :, c].transpose(-1, -2) @ v[:, :, c]
        return torch.stack(outputs, dim=2), state


def get_inputs():
    return [torch.randn(batch, heads, chunks, chunk, width) for _ in range(4)]


def get_init_inputs():
    return []
