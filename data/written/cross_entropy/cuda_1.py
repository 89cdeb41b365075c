import torch

from foretell.cuda import compile

program = compile(r"""
// One block per row: shared-memory tree reductions, two passes over the row.
extern "C" __global__ void cross_entropy(const float* logits, const long long* targets, float* out, int cols) {
    __shared__ float buf[256];
    int tid = threadIdx.x;
    const float* row = logits + (size_t)blockIdx.x * cols;

    float m = -1e38f;
    for (int i = tid; i < cols; i += blockDim.x) m = fmaxf(m, row[i]);
    buf[tid] = m;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) buf[tid] = fmaxf(buf[tid], buf[tid + s]);
        __syncthreads();
    }
    m = buf[0];
    __syncthreads();

    float sum = 0.0f;
    for (int i = tid; i < cols; i += blockDim.x) sum += expf(row[i] - m);
    buf[tid] = sum;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (tid < s) buf[tid] += buf[tid + s];
        __syncthreads();
    }
    if (tid == 0) {
        out[blockIdx.x] = logf(buf[0]) + m - row[targets[blockIdx.x]];
    }
}
""")


def kernel(logits, targets):
    rows, cols = logits.shape
    out = torch.empty(rows, device=logits.device, dtype=torch.float32)
    program.cross_entropy((rows,), (256,), (logits, targets, out, cols))
    return out
