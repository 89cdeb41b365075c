"""Extensions for the tests: one on the host that goes through the headers, one that launches."""

HOST = r"""
#include <torch/extension.h>
#include <ATen/ATen.h>
#include <vector>
using torch::indexing::Slice;

torch::Tensor add(torch::Tensor a, const at::Tensor& b, double alpha) {
  TORCH_CHECK(a.sizes() == b.sizes(), "shapes differ: ", a.sizes(), " and ", b.sizes());
  auto x = a.contiguous(), y = b.contiguous();
  auto out = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "add", ([&] {
    const scalar_t* p = x.data_ptr<scalar_t>();
    const scalar_t* q = y.data_ptr<scalar_t>();
    scalar_t* r = out.data_ptr<scalar_t>();
    for (int64_t i = 0; i < x.numel(); ++i) r[i] = p[i] + scalar_t(alpha) * q[i];
  }));
  return out;
}
std::vector<torch::Tensor> pieces(torch::Tensor x) {
  auto [values, indices] = torch::max(x, 1, true);
  return {values, indices, x.sum({0}), x.view({-1}).slice(0, 1, 3), x.index({Slice(), 0})};
}
std::tuple<torch::Tensor, double, int64_t> facts(torch::Tensor x) {
  return std::make_tuple(x.mean().to(torch::kFloat64), x.sum().item<double>(), x.size(-1));
}
torch::Tensor made(torch::IntArrayRef sizes, c10::optional<torch::Tensor> like, bool ones) {
  auto options = torch::TensorOptions().dtype(like.has_value() ? like.value().scalar_type() : torch::kInt64);
  return ones ? torch::ones(sizes, options) : torch::full(sizes, 7, options.device(torch::kCPU));
}
float corner(torch::Tensor x) {
  auto view = x.accessor<float, 2>();
  return view[0][0] + view[x.size(0) - 1][x.size(1) - 1];
}
torch::Tensor library(torch::Tensor x, torch::Tensor w, std::optional<at::Tensor> bias, int stride) {
  auto y = at::conv2d(x, w, bias, {stride, stride}, 1);
  y = torch::relu(y) * 0.5 + 1;
  y -= torch::ones_like(y);
  return torch::cat({at::softmax(y, 1), y.clamp(0.1, 0.9)}, 1).permute({0, 2, 3, 1});
}
torch::Tensor halves(std::vector<float> values) {
  auto out = torch::zeros({static_cast<int64_t>(values.size())}, torch::dtype(torch::kHalf));
  for (size_t i = 0; i < values.size(); ++i) out.data_ptr<at::Half>()[i] = at::Half(values[i]);
  return out;
}
std::string text(const std::string& name, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += name;
  return out;
}
void scale_(torch::Tensor x, const torch::Scalar& by) { x.mul_(by); }
struct Opaque { int x; };
double takes(Opaque* one, float* number, const char* text) { return (one ? 1 : 0) + (number ? *number : 5) + text[0]; }
void fails(int how) {
  if (how == 0) TORCH_CHECK(false, "told ", how);
  if (how == 1) throw std::invalid_argument("an argument");
  if (how == 2) TORCH_CHECK_INDEX(how == 0, "an index");
  if (how == 3) torch::mm(torch::ones({2, 3}), torch::ones({2, 3}));
  if (how == 4) torch::ones({2}).data_ptr<double>();
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "for tests";
  m.def("add", &add, "a + alpha b", py::arg("a"), py::arg("b"), py::arg("alpha") = 1.0);
  m.def("pieces", &pieces);
  m.def("facts", &facts);
  m.def("made", &made, py::arg("sizes"), py::arg("like") = py::none(), py::arg("ones") = false);
  m.def("corner", &corner);
  m.def("library", &library);
  m.def("halves", &halves);
  m.def("text", &text);
  m.def("text", [](double value) { return value * 2; }, "another of that name");
  m.def("scale_", &scale_);
  m.def("fails", &fails);
  m.def("takes", &takes);
}
"""

DECLARATIONS = """
torch::Tensor twice(torch::Tensor x);
torch::Tensor row_sums(torch::Tensor x, int64_t threads);
void everything(torch::Tensor x);
std::vector<int64_t> asked(torch::Tensor x);
torch::Tensor times(torch::Tensor a, torch::Tensor b);
torch::Tensor on_stream(torch::Tensor x);
void add_bias(torch::Tensor y, torch::Tensor bias);
"""

DEVICE = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <cublas_v2.h>
__constant__ float factors[4];

struct Packed { float by; int64_t count; char mark; };

template <typename scalar_t>
__global__ void twice_kernel(const scalar_t* __restrict__ x, scalar_t* __restrict__ y, int n, Packed packed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * scalar_t(packed.by);
}
using Rows = torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits>;
__global__ void __launch_bounds__(256) row_kernel(Rows x, float* out) {
  extern __shared__ float part[];
  float sum = 0;
  for (int i = threadIdx.x; i < x.size(1); i += blockDim.x) sum += x[blockIdx.x][i] * factors[0];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

torch::Tensor twice(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
  const at::cuda::OptionalCUDAGuard guard(device_of(x));
  auto y = torch::empty_like(x);
  const int n = x.numel();
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "twice", ([&] {
    const Packed packed{2, n, 'x'};
    twice_kernel<scalar_t><<<(n + 255) / 256, 256>>>(x.data_ptr<scalar_t>(), y.data_ptr<scalar_t>(), n, packed);
  }));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return y;
}
torch::Tensor row_sums(torch::Tensor x, int64_t threads) {
  auto out = torch::zeros({x.size(0)}, x.options());
  const size_t shared = threads * sizeof(float);
  row_kernel<<<x.size(0), threads, shared, at::cuda::getCurrentCUDAStream()>>>(
      x.packed_accessor32<float, 2, torch::RestrictPtrTraits>(), out.data_ptr<float>());
  TORCH_CHECK(cudaGetLastError() == cudaSuccess, "the launch failed");
  return out;
}
void everything(torch::Tensor x) {
  const float host[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(factors, host, sizeof host);
  float* scratch = nullptr;
  C10_CUDA_CHECK(cudaMalloc(&scratch, 1024));
  cudaMemsetAsync(scratch, 0, 1024, at::cuda::getCurrentCUDAStream());
  cudaMemcpy(scratch, host, sizeof host, cudaMemcpyHostToDevice);
  cudaMemcpyAsync(x.data_ptr<float>(), scratch, 64, cudaMemcpyDeviceToDevice);
  cudaStream_t side;
  cudaEvent_t done;
  cudaStreamCreate(&side);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaEventRecord(done, side);
  cudaStreamWaitEvent(0, done, 0);
  cudaFree(scratch);
  cudaDeviceSynchronize();
}
std::vector<int64_t> asked(torch::Tensor x) {
  cudaDeviceProp p;
  cudaGetDeviceProperties(&p, 0);
  int blocks = 0, grid = 0, block = 0;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, row_kernel, 256, 1024);
  cudaOccupancyMaxPotentialBlockSize(&grid, &block, row_kernel, 0, 0);
  cudaFuncAttributes a;
  cudaFuncGetAttributes(&a, row_kernel);
  const auto set = cudaFuncSetAttribute(row_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 96 * 1024);
  return {p.multiProcessorCount, p.major, blocks, grid, block, a.numRegs, a.maxThreadsPerBlock, set,
          at::cuda::getCurrentDeviceProperties()->warpSize};
}
torch::Tensor times(torch::Tensor a, torch::Tensor b) {
  const int m = a.size(0), k = a.size(1), n = b.size(1);
  auto c = torch::empty({m, n}, a.options());
  cublasHandle_t handle;
  cublasCreate(&handle);
  const float one = 1, none = 0;
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b.data_ptr<float>(), n, a.data_ptr<float>(), k, &none,
              c.data_ptr<float>(), n);
  cublasDestroy(handle);
  return c;
}
__global__ void bias_kernel(float* y, const float* bias) { y[threadIdx.x] += bias ? bias[threadIdx.x] : 1; }
void add_bias(torch::Tensor y, torch::Tensor bias) {
  bias_kernel<<<1, y.numel()>>>(y.data_ptr<float>(), bias.defined() ? bias.data_ptr<float>() : nullptr);
}
torch::Tensor on_stream(torch::Tensor x) { return twice(torch::relu(x)); }
"""
