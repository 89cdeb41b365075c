import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def embed_kernel(
    ids_ptr,
    segment_ptr,
    position_ptr,
    tokens_ptr,
    segments_ptr,
    positions_ptr,
    weight_ptr,
    bias_ptr,
    out_ptr,
    width,
    eps,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < width
    x = tl.load(tokens_ptr + tl.load(ids_ptr + token) * width + at, mask=mask, other=0.0)
    x += tl.load(segments_ptr + tl.load(segment_ptr + token) * width + at, mask=mask, other=0.0)
    x += tl.load(positions_ptr + tl.load(position_ptr + token) * width + at, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / width
    centred = tl.where(mask, x - mean, 0.0)
    y = centred * tl.rsqrt(tl.sum(centred * centred, axis=0) / width + eps)
    y = y * tl.load(weight_ptr + at, mask=mask) + tl.load(bias_ptr + at, mask=mask)
    tl.store(out_ptr + token * width + at, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, vocab, length, width, padding):
        super().__init__()
        self.tokens = nn.Embedding(vocab, width, padding_idx=padding)
        self.segments = nn.Embedding(2, width)
        self.positions = nn.Embedding(length + 2, width)
        self.norm = nn.LayerNorm(width)
        self.padding = padding

    def forward(self, ids, segment):
        mask = ids.ne(self.padding).int()
        position = (torch.cumsum(mask, dim=1).type_as(mask) * mask).long() + self.padding
        width = self.tokens.weight.shape[1]
        out = torch.empty((*ids.shape, width), device=ids.device, dtype=torch.float32)
        embed_kernel[(ids.numel(),)](
            ids,
            segment,
            position,
            self.tokens.weight,
            self.segments.weight,
            self.positions.weight,
            self.norm.weight,
            self.norm.bias,
            out,
            width,
            self.norm.eps,
            BLOCK=triton.next_power_of_2(width),
        )
        return out
