// torch's CUDA streams, guards and checks, over the CUDA runtime that extensions are linked with (native/runtime.cpp).
#pragma once

#include <cuda_runtime_api.h>

#include "foretell/core.h"

namespace foretell {
cudaStream_t current_stream(int device);           // torch's current stream there; -1 is the current device
void set_current_stream(cudaStream_t stream, int device);
const cudaDeviceProp& properties_of(int device);
}  // namespace foretell

namespace c10::cuda {

class CUDAStream {
 public:
  enum Unchecked { UNCHECKED };
  CUDAStream(cudaStream_t stream, DeviceIndex device) : stream_(stream), device_(device) {}
  cudaStream_t stream() const { return stream_; }
  operator cudaStream_t() const { return stream_; }
  DeviceIndex device_index() const { return device_; }
  Device device() const { return Device(kCUDA, device_); }
  int64_t id() const { return reinterpret_cast<int64_t>(stream_); }
  void synchronize() const { cudaStreamSynchronize(stream_); }
  bool query() const { return cudaStreamQuery(stream_) == cudaSuccess; }
  bool operator==(const CUDAStream& other) const { return stream_ == other.stream_; }
  bool operator!=(const CUDAStream& other) const { return stream_ != other.stream_; }

 private:
  cudaStream_t stream_;
  DeviceIndex device_;
};

inline DeviceIndex current_device() {
  int device = 0;
  cudaGetDevice(&device);
  return static_cast<DeviceIndex>(device);
}
inline DeviceIndex device_count() {
  int count = 0;
  cudaGetDeviceCount(&count);
  return static_cast<DeviceIndex>(count);
}
inline void set_device(DeviceIndex device) { cudaSetDevice(device); }
inline void device_synchronize() { cudaDeviceSynchronize(); }
inline DeviceIndex chosen(DeviceIndex device) { return device < 0 ? current_device() : device; }
inline CUDAStream getCurrentCUDAStream(DeviceIndex device = -1) {
  return CUDAStream(foretell::current_stream(device), chosen(device));
}
inline CUDAStream getDefaultCUDAStream(DeviceIndex device = -1) { return CUDAStream(nullptr, chosen(device)); }
inline CUDAStream getStreamFromExternal(cudaStream_t stream, DeviceIndex device) { return CUDAStream(stream, device); }
inline CUDAStream getStreamFromPool(bool = false, DeviceIndex device = -1) {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return CUDAStream(stream, chosen(device));
}
inline void setCurrentCUDAStream(CUDAStream stream) {
  foretell::set_current_stream(stream.stream(), stream.device_index());
}

// The device of a scope; what it was before comes back at its end.
class CUDAGuard {
 public:
  explicit CUDAGuard(DeviceIndex device) { set_index(device); }
  explicit CUDAGuard(Device device) { set_index(device.index()); }
  ~CUDAGuard() { if (before_ >= 0) cudaSetDevice(before_); }
  CUDAGuard(const CUDAGuard&) = delete;
  void set_device(Device device) { set_index(device.index()); }
  void reset_device(Device device) { set_index(device.index()); }
  void set_index(DeviceIndex device) {
    if (before_ < 0) before_ = current_device();
    if (device >= 0 && device != current_device()) cudaSetDevice(device);
  }
  Device current_device_of() const { return Device(kCUDA, current_device()); }

 private:
  int before_ = -1;
};
class OptionalCUDAGuard {
 public:
  OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device> device) { if (device && device->is_cuda()) guard_.emplace(*device); }
  explicit OptionalCUDAGuard(const Device& device) { if (device.is_cuda()) guard_.emplace(device); }
  explicit OptionalCUDAGuard(DeviceIndex device) { guard_.emplace(device); }
  void set_device(Device device) { guard_.emplace(device); }
  void set_index(DeviceIndex device) { guard_.emplace(device); }
  void reset() { guard_.reset(); }

 private:
  std::optional<CUDAGuard> guard_;
};
class CUDAStreamGuard {
 public:
  explicit CUDAStreamGuard(CUDAStream stream) : before_(getCurrentCUDAStream()) { setCurrentCUDAStream(stream); }
  ~CUDAStreamGuard() { setCurrentCUDAStream(before_); }
  CUDAStreamGuard(const CUDAStreamGuard&) = delete;

 private:
  CUDAStream before_;
};

[[noreturn]] C10_NOINLINE inline void throw_cuda_error(cudaError_t error) {
  throw Error(std::string("CUDA error: ") + cudaGetErrorString(error));
}
}  // namespace c10::cuda

#define C10_CUDA_CHECK(expression)                                                          \
  do {                                                                                      \
    const cudaError_t foretell_error = (expression);                                        \
    if (foretell_error != cudaSuccess) ::c10::cuda::throw_cuda_error(foretell_error);       \
  } while (false)
#define C10_CUDA_CHECK_WARN C10_CUDA_CHECK
#define C10_CUDA_ERROR_HANDLED(expression) (expression)
#define C10_CUDA_IGNORE_ERROR(expression) ((void)(expression))
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
#define TORCH_CUDA_CHECK C10_CUDA_CHECK
#define AT_CUDA_CHECK C10_CUDA_CHECK
#define THCudaCheck C10_CUDA_CHECK
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__((threads))
#define C10_LAUNCH_BOUNDS_2(threads, blocks) __launch_bounds__((threads), (blocks))
#define C10_WARP_SIZE 32
#define CUDA_KERNEL_LOOP_TYPE(i, n, index_type)                                             \
  int64_t i##_start = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;          \
  for (index_type i = i##_start; i < (n); i += static_cast<index_type>(blockDim.x) * gridDim.x)
#ifndef CUDA_KERNEL_LOOP
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
#endif

namespace c10 {
class DeviceGuard : public cuda::OptionalCUDAGuard {
 public:
  explicit DeviceGuard(Device device) : OptionalCUDAGuard(device) {}
};
class OptionalDeviceGuard : public cuda::OptionalCUDAGuard {
 public:
  using cuda::OptionalCUDAGuard::OptionalCUDAGuard;
};
}  // namespace c10

namespace at::cuda {
using namespace c10::cuda;
inline const cudaDeviceProp* getCurrentDeviceProperties() { return &foretell::properties_of(-1); }
inline const cudaDeviceProp* getDeviceProperties(DeviceIndex device) { return &foretell::properties_of(device); }
inline int warp_size() { return 32; }
inline int64_t getNumGPUs() { return device_count(); }
inline bool is_available() { return device_count() > 0; }
template <class T> constexpr C10_HOST_DEVICE T ATenCeilDiv(T a, T b) { return (a + b - 1) / b; }
}  // namespace at::cuda
namespace torch::cuda {
inline void synchronize(int64_t = -1) { cudaDeviceSynchronize(); }
inline bool is_available() { return c10::cuda::device_count() > 0; }
inline size_t device_count() { return static_cast<size_t>(c10::cuda::device_count()); }
}  // namespace torch::cuda
