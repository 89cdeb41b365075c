"""Three problems in KernelBench form, each with honest candidates by a language model: Triton, CUDA, plain torch."""

from __future__ import annotations

SCALED_TANH = """
import torch, torch.nn as nn


class Model(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x, y):
        return torch.tanh(x * self.scale) + y


def get_inputs():
    return [torch.randn(4096, 4096), torch.randn(4096, 4096)]


def get_init_inputs():
    return [0.75]
"""

ROW_ENERGY = """
import torch, torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return (x * x).mean(dim=1) + x.abs().amax(dim=1)


def get_inputs():
    return [torch.randn(8192, 2048)]


def get_init_inputs():
    return []
"""

GATED_LAYER = """
import torch, torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        y = self.layer(x)
        return y * torch.sigmoid(1.702 * y)


def get_inputs():
    return [torch.randn(2048, 1024)]


def get_init_inputs():
    return [1024]
"""

_HEAD = "import torch, torch.nn as nn\n"
_TRITON = _HEAD + "import triton, triton.language as tl\n"
_INLINE = _HEAD + "from torch.utils.cpp_extension import load_inline\n"

TANH_TRITON = (
    _TRITON
    + """
@triton.jit
def scaled(x, y, out, n, scale, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n) * scale
    t = 2.0 / (1.0 + tl.exp(-2.0 * v)) - 1.0
    tl.store(out + i, t + tl.load(y + i, i < n), i < n)


class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x, y):
        out = torch.empty_like(x)
        scaled[(triton.cdiv(x.numel(), 2048),)](x, y, out, x.numel(), self.scale, 2048, num_warps=8)
        return out
"""
)

TANH_CUDA = (
    _INLINE
    + """
code = '''
#include <torch/extension.h>
__global__ void scaled(const float* x, const float* y, float* out, long n, float scale) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) out[i] = tanhf(x[i] * scale) + y[i];
}
torch::Tensor forward(torch::Tensor x, torch::Tensor y, double scale) {
    auto out = torch::empty_like(x);
    long n = x.numel();
    scaled<<<(n + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), out.data_ptr<float>(), n, (float)scale);
    return out;
}
'''
module = load_inline("scaled_tanh", cpp_sources="torch::Tensor forward(torch::Tensor, torch::Tensor, double);",
                     cuda_sources=code, functions=["forward"])


class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x, y):
        return module.forward(x, y, self.scale)
"""
)

TANH_TORCH = (
    _HEAD
    + """
class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x, y):
        return (x * self.scale).tanh_().add_(y)
"""
)

TANH_COMPILED = (
    _HEAD
    + """
class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.run = torch.compile(lambda x, y: torch.tanh(x * scale) + y)

    def forward(self, x, y):
        return self.run(x, y)
"""
)

ENERGY_TRITON = (
    _TRITON
    + """
@triton.jit
def energy(x, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * width + i, i < width, other=0.0)
    tl.store(out + row, tl.sum(v * v) / width + tl.max(tl.abs(v)))


class ModelNew(nn.Module):
    def forward(self, x):
        out = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
        energy[(x.shape[0],)](x, out, x.shape[1], triton.next_power_of_2(x.shape[1]), num_warps=8)
        return out
"""
)

ENERGY_CUDA = (
    _INLINE
    + """
code = '''
#include <torch/extension.h>
__global__ void energy(const float* x, float* out, int width) {
    __shared__ float sums[256], peaks[256];
    const float* row = x + blockIdx.x * (long)width;
    float sum = 0, peak = 0;
    for (int i = threadIdx.x; i < width; i += 256) { float v = row[i]; sum += v * v; peak = fmaxf(peak, fabsf(v)); }
    sums[threadIdx.x] = sum; peaks[threadIdx.x] = peak;
    __syncthreads();
    for (int half = 128; half; half /= 2) {
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
            peaks[threadIdx.x] = fmaxf(peaks[threadIdx.x], peaks[threadIdx.x + half]);
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = sums[0] / width + peaks[0];
}
torch::Tensor forward(torch::Tensor x) {
    auto out = torch::empty({x.size(0)}, x.options());
    energy<<<x.size(0), 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
    return out;
}
'''
module = load_inline("row_energy", cpp_sources="torch::Tensor forward(torch::Tensor);", cuda_sources=code,
                     functions=["forward"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.forward(x)
"""
)

ENERGY_TORCH = (
    _HEAD
    + """
class ModelNew(nn.Module):
    def forward(self, x):
        return torch.linalg.vecdot(x, x) / x.shape[1] + torch.linalg.vector_norm(x, ord=float("inf"), dim=1)
"""
)

GATED_TRITON = (
    _TRITON
    + """
@triton.jit
def gate(y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(y + i, i < n)
    tl.store(out + i, v / (1.0 + tl.exp(-1.702 * v)), i < n)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        y = self.layer(x)
        out = torch.empty_like(y)
        gate[(triton.cdiv(y.numel(), 1024),)](y, out, y.numel(), 1024)
        return out
"""
)

GATED_CUDA = (
    _INLINE
    + """
code = '''
#include <torch/extension.h>
__global__ void gate(float* y, long n) {
    long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
    if (i < n) { float v = y[i]; y[i] = v / (1.0f + expf(-1.702f * v)); }
}
torch::Tensor forward(torch::Tensor y) {
    long n = y.numel();
    gate<<<(n + 255) / 256, 256>>>(y.data_ptr<float>(), n);
    return y;
}
'''
module = load_inline("gate", cpp_sources="torch::Tensor forward(torch::Tensor);", cuda_sources=code,
                     functions=["forward"])


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return module.forward(self.layer(x))
"""
)

GATED_TORCH = (
    _HEAD
    + """
class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        y = self.layer(x)
        return torch.sigmoid(1.702 * y).mul_(y)
"""
)

# By problem: its text, and candidates by how they are written.
HONEST: dict[str, tuple[str, dict[str, str]]] = {
    "scaled_tanh": (
        SCALED_TANH,
        {"triton": TANH_TRITON, "load_inline": TANH_CUDA, "torch": TANH_TORCH, "torch.compile": TANH_COMPILED},
    ),
    "row_energy": (ROW_ENERGY, {"triton": ENERGY_TRITON, "load_inline": ENERGY_CUDA, "torch": ENERGY_TORCH}),
    "gated_layer": (GATED_LAYER, {"triton": GATED_TRITON, "load_inline": GATED_CUDA, "torch": GATED_TORCH}),
}
