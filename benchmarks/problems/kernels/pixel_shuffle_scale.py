import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def shuffle_kernel(x_ptr, gain_ptr, out_ptr, channels, height, width, n, R: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    col = at % (width * R)
    row = (at // (width * R)) % (height * R)
    channel = (at // (width * R * height * R)) % channels
    batch = at // (width * R * height * R * channels)
    source = (batch * channels + channel) * R * R + (row % R) * R + col % R
    x = tl.load(x_ptr + (source * height + row // R) * width + col // R, mask=mask)
    tl.store(out_ptr + at, x * tl.load(gain_ptr + channel, mask=mask), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels, factor):
        super().__init__()
        self.factor = factor
        self.gain = nn.Parameter(torch.rand(channels, 1, 1))

    def forward(self, x):
        n, c, h, w = x.shape
        r = self.factor
        out = torch.empty((n, c // (r * r), h * r, w * r), device=x.device, dtype=x.dtype)
        shuffle_kernel[(triton.cdiv(out.numel(), 1024),)](
            x, self.gain, out, out.shape[1], h, w, out.numel(), R=r, BLOCK=1024
        )
        return out
