import torch

from foretell.cuda import compile

# Welford per thread, Chan's merge across lanes and warps; block per row.
program = compile(r"""
struct Stat { float mean, m2, n; };

__device__ __forceinline__ Stat merge(Stat a, Stat b) {
    Stat r;
    r.n = a.n + b.n;
    if (r.n == 0.f) return a;
    float delta = b.mean - a.mean;
    float f = b.n / r.n;
    r.mean = a.mean + delta * f;
    r.m2 = a.m2 + b.m2 + delta * delta * a.n * f;
    return r;
}
__device__ __forceinline__ Stat shfl(Stat s, int o) {
    Stat r;
    r.mean = __shfl_down_sync(0xffffffff, s.mean, o);
    r.m2 = __shfl_down_sync(0xffffffff, s.m2, o);
    r.n = __shfl_down_sync(0xffffffff, s.n, o);
    return r;
}

extern "C" __global__ void __launch_bounds__(128) row_var_welford(const float* __restrict__ x, float* __restrict__ out, int cols) {
    __shared__ Stat part[4];
    const float* p = x + (size_t)blockIdx.x * cols;
    Stat s = {0.f, 0.f, 0.f};
    for (int i = threadIdx.x; i < cols; i += 128) {
        float v = p[i];
        s.n += 1.f;
        float d = v - s.mean;
        s.mean += d / s.n;
        s.m2 += d * (v - s.mean);
    }
    for (int o = 16; o; o >>= 1) s = merge(s, shfl(s, o));
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        s = part[0];
        for (int w = 1; w < 4; ++w) s = merge(s, part[w]);
        out[blockIdx.x] = s.m2 / (s.n - 1.f);
    }
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty(rows, dtype=torch.float32, device=x.device)
    program.row_var_welford((rows,), (128,), (x, out, cols))
    return out
