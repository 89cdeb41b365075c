import torch

from foretell.cuda import compile

# thread-block per row, warp shuffles, everything scalar
program = compile(r"""
__inline__ __device__ float warpReduceMax(float val) {
    for (int offset = 16; offset > 0; offset /= 2)
        val = fmaxf(val, __shfl_down_sync(0xffffffff, val, offset));
    return val;
}
__inline__ __device__ float warpReduceSum(float val) {
    for (int offset = 16; offset > 0; offset /= 2)
        val += __shfl_down_sync(0xffffffff, val, offset);
    return val;
}

extern "C" __global__ void log_softmax_kernel(const float* __restrict__ input, float* __restrict__ output, int cols) {
    __shared__ float shared[33];
    const int lane = threadIdx.x % 32;
    const int wid = threadIdx.x / 32;
    const int nwarps = blockDim.x / 32;
    const float* in = input + (long long)blockIdx.x * cols;
    float* o = output + (long long)blockIdx.x * cols;

    float max_val = -3.402823e38f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) max_val = fmaxf(max_val, in[i]);
    max_val = warpReduceMax(max_val);
    if (lane == 0) shared[wid] = max_val;
    __syncthreads();
    if (wid == 0) {
        max_val = lane < nwarps ? shared[lane] : -3.402823e38f;
        max_val = warpReduceMax(max_val);
        if (lane == 0) shared[32] = max_val;
    }
    __syncthreads();
    max_val = shared[32];
    __syncthreads();

    float sum = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(in[i] - max_val);
    sum = warpReduceSum(sum);
    if (lane == 0) shared[wid] = sum;
    __syncthreads();
    if (wid == 0) {
        sum = lane < nwarps ? shared[lane] : 0.0f;
        sum = warpReduceSum(sum);
        if (lane == 0) shared[32] = logf(sum);
    }
    __syncthreads();
    const float log_sum = shared[32];
    for (int i = threadIdx.x; i < cols; i += blockDim.x) o[i] = in[i] - max_val - log_sum;
}
""")


def kernel(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    threads = 128 if cols <= 512 else 256
    program.log_softmax_kernel((rows,), (threads,), (x, out, cols))
    return out
