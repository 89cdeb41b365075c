import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = r"""
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <cuda_bf16.h>

constexpr int TILE_TOKENS = 64;
constexpr int TILE_CHANNELS = 64;
constexpr int THREADS = 256;
constexpr int PAD = 1;

__global__ void __launch_bounds__(THREADS) transpose_kernel(
        const float* __restrict__ x, const float* __restrict__ scale, const float* __restrict__ shift,
        __nv_bfloat16* __restrict__ out, int tokens, int channels) {
    __shared__ float tile[TILE_CHANNELS][TILE_TOKENS + PAD];
    const size_t base = static_cast<size_t>(blockIdx.z) * tokens * channels;
    const int t0 = blockIdx.y * TILE_TOKENS, c0 = blockIdx.x * TILE_CHANNELS;

    // Reads of four channels per thread; a row of the tile is read by neighbouring threads.
    constexpr int LANES = TILE_CHANNELS / 4;
    const int c = (threadIdx.x % LANES) * 4;
    const float4 s = *reinterpret_cast<const float4*>(scale + c0 + c);
    const float4 b = *reinterpret_cast<const float4*>(shift + c0 + c);
#pragma unroll
    for (int t = threadIdx.x / LANES; t < TILE_TOKENS; t += THREADS / LANES) {
        const float4 v = *reinterpret_cast<const float4*>(x + base + static_cast<size_t>(t0 + t) * channels + c0 + c);
        tile[c + 0][t] = fmaf(v.x, s.x, b.x);
        tile[c + 1][t] = fmaf(v.y, s.y, b.y);
        tile[c + 2][t] = fmaf(v.z, s.z, b.z);
        tile[c + 3][t] = fmaf(v.w, s.w, b.w);
    }
    __syncthreads();

    // Writes of two tokens per thread: 128 bytes per warp and row.
    constexpr int PAIRS = TILE_TOKENS / 2;
    const int t = (threadIdx.x % PAIRS) * 2;
#pragma unroll
    for (int row = threadIdx.x / PAIRS; row < TILE_CHANNELS; row += THREADS / PAIRS) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(tile[row][t], tile[row][t + 1]);
        *reinterpret_cast<__nv_bfloat162*>(out + base + static_cast<size_t>(c0 + row) * tokens + t0 + t) = pair;
    }
}

torch::Tensor transpose_scale(torch::Tensor x, torch::Tensor scale, torch::Tensor shift) {
    const int batch = x.size(0), tokens = x.size(1), channels = x.size(2);
    TORCH_CHECK(tokens % TILE_TOKENS == 0 && channels % TILE_CHANNELS == 0, "sizes must be multiples of the tile");
    auto out = torch::empty({batch, channels, tokens}, x.options().dtype(torch::kBFloat16));
    dim3 grid(channels / TILE_CHANNELS, tokens / TILE_TOKENS, batch);
    transpose_kernel<<<grid, THREADS, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), scale.data_ptr<float>(), shift.data_ptr<float>(),
        reinterpret_cast<__nv_bfloat16*>(out.data_ptr()), tokens, channels);
    return out;
}
"""

cpp_source = "torch::Tensor transpose_scale(torch::Tensor x, torch::Tensor scale, torch::Tensor shift);"

extension = load_inline(
    name="transpose_scale_cast",
    cpp_sources=cpp_source,
    cuda_sources=cuda_source,
    functions=["transpose_scale"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(channels) + 0.5)
        self.shift = nn.Parameter(torch.randn(channels))

    def forward(self, x):
        return extension.transpose_scale(x, self.scale, self.shift)
