import torch

from foretell.cuda import compile

program = compile(r"""
// 2.5D: shared-memory plane with halo, z neighbours in registers. 32x16 tile, one thread per column.
#define TX 32
#define TY 16
extern "C" __global__ void __launch_bounds__(TX * TY) laplace_25d(const float* __restrict__ x, float* __restrict__ out,
                                     int D, int H, int W, int zb) {
    __shared__ float s[TY + 2][TX + 2];
    int tx = threadIdx.x, ty = threadIdx.y;
    int i = blockIdx.x * TX + tx, j = blockIdx.y * TY + ty;
    int z0 = blockIdx.z * zb, z1 = min(D, z0 + zb);
    bool live = i < W && j < H;
    bool side = i > 0 && i < W - 1 && j > 0 && j < H - 1;
    long long hw = (long long)H * W;
    const float* p = x + (long long)j * W + i;
    float below = (live && z0 > 0) ? p[(z0 - 1) * hw] : 0.f;
    float mid = live ? p[z0 * hw] : 0.f;
    for (int z = z0; z < z1; ++z) {
        float above = (live && z + 1 < D) ? p[(z + 1) * hw] : 0.f;
        s[ty + 1][tx + 1] = mid;
        const float* q = p + z * hw;
        if (tx == 0) s[ty + 1][0] = (live && i > 0) ? q[-1] : 0.f;
        if (tx == TX - 1) s[ty + 1][TX + 1] = (live && i + 1 < W) ? q[1] : 0.f;
        if (ty == 0) s[0][tx + 1] = (live && j > 0) ? q[-W] : 0.f;
        if (ty == TY - 1) s[TY + 1][tx + 1] = (live && j + 1 < H) ? q[W] : 0.f;
        __syncthreads();
        if (live) {
            float r = 0.f;
            if (side && z > 0 && z < D - 1)
                r = below + above + s[ty][tx + 1] + s[ty + 2][tx + 1] + s[ty + 1][tx] + s[ty + 1][tx + 2] - 6.f * mid;
            out[z * hw + (long long)j * W + i] = r;
        }
        __syncthreads();
        below = mid;
        mid = above;
    }
}
""")


def kernel(x):
    D, H, W = x.shape
    out = torch.empty_like(x)
    zb = 32
    grid = ((W + 31) // 32, (H + 15) // 16, (D + zb - 1) // zb)
    program.laplace_25d(grid, (32, 16), (x, out, D, H, W, zb))
    return out
