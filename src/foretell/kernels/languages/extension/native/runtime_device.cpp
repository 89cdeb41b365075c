// The CUDA runtime that extensions are linked with: devices, streams, events, attributes and occupancy.
#include "runtime.h"

#include <cstring>

#include "foretell/device.h"

namespace foretell {

namespace {

thread_local int chosen_device = 0;

cudaError_t enter(int device) {
  static std::map<int, CUcontext> contexts;
  CUcontext& context = contexts[device];
  const auto retain_context = FORETELL_DRIVER(cuDevicePrimaryCtxRetain);
  const auto set_current = FORETELL_DRIVER(cuCtxSetCurrent);
  const auto get_device = FORETELL_DRIVER(cuDeviceGet);
  if (!retain_context || !set_current || !get_device) return cudaErrorInsufficientDriver;
  CUdevice handle = 0;
  CUresult result = get_device(&handle, device);
  if (result == CUDA_SUCCESS && context == nullptr) result = retain_context(&context, handle);
  if (result == CUDA_SUCCESS) result = set_current(context);
  if (result == CUDA_SUCCESS) chosen_device = device;
  return static_cast<cudaError_t>(result);
}

// One attribute of a device, from the driver or from the description that recordings are made for.
cudaError_t attribute(int* value, int which, int device) {
  if (recording()) {
    *value = static_cast<int>(number(ask("device_attribute", "i", which)));
    return cudaSuccess;
  }
  CUdevice handle = 0;
  const cudaError_t error = DRIVE(cuDeviceGet, &handle, device);
  return error != cudaSuccess ? error : DRIVE(cuDeviceGetAttribute, value, static_cast<CUdevice_attribute>(which), handle);
}
int attribute(CUdevice_attribute which, int device) {
  int value = 0;
  attribute(&value, which, device);
  return value;
}

cudaError_t operate(const char* action, const void* stream, const void* event) {
  return tell("on_stream", "sKK", action, address(stream), address(event));
}
template <class Handle> cudaError_t create(const char* action, Handle* handle) {
  *handle = reinterpret_cast<Handle>(number(ask("on_create", "s", action)));
  return cudaSuccess;
}

}  // namespace

cudaError_t ready() {
  static const cudaError_t started = [] {
    const auto initialise = FORETELL_DRIVER(cuInit);
    return initialise ? static_cast<cudaError_t>(initialise(0)) : cudaErrorInsufficientDriver;
  }();
  if (started != cudaSuccess) return started;
  CUcontext current = nullptr;
  const auto get_current = FORETELL_DRIVER(cuCtxGetCurrent);
  if (get_current && get_current(&current) == CUDA_SUCCESS && current != nullptr) return cudaSuccess;
  return enter(chosen_device);
}

cudaStream_t current_stream(int device) {
  Gil gil;
  if (recording()) return reinterpret_cast<cudaStream_t>(number(ask("current_stream", "")));
  if (device < 0) cudaGetDevice(&device);
  Reference handle = owned(PyObject_CallMethod(torch_attribute("_C"), "_cuda_getCurrentRawStream", "i", device));
  return reinterpret_cast<cudaStream_t>(number(handle));
}
void set_current_stream(cudaStream_t stream, int) {
  ask("set_current_stream", "K", address(stream));
}
const cudaDeviceProp& properties_of(int device) {
  static std::map<int, cudaDeviceProp> known;
  if (device < 0) cudaGetDevice(&device);
  cudaDeviceProp& properties = known[device];
  cudaGetDeviceProperties(&properties, device);
  return properties;
}

}  // namespace foretell

using namespace foretell;

extern "C" {

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  if (recording()) return cudaSuccess;
  CUdevice handle = 0;
  const cudaError_t error = DRIVE(cuCtxGetDevice, &handle);
  *device = handle;
  return error;
}
cudaError_t cudaSetDevice(int device) {
  if (recording()) return device == 0 ? cudaSuccess : note(cudaErrorInvalidDevice);
  const cudaError_t error = ready();
  return note(error != cudaSuccess ? error : enter(device));
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return recording() ? cudaSuccess : DRIVE(cuDeviceGetCount, count);
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  return attribute(value, static_cast<int>(which), device);
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  std::memset(p, 0, sizeof *p);
  const auto of = [device](CUdevice_attribute which) { return attribute(which, device); };
  if (recording()) {
    const Reference name = ask("device_name", "");
    Gil gil;
    std::strncpy(p->name, PyUnicode_AsUTF8(name.get()), sizeof p->name - 1);
    p->totalGlobalMem = static_cast<size_t>(number(ask("device_memory", "")));
  } else {
    CUdevice handle = 0;
    const cudaError_t error = DRIVE(cuDeviceGet, &handle, device);
    if (error != cudaSuccess) return error;
    DRIVE(cuDeviceGetName, p->name, static_cast<int>(sizeof p->name), handle);
    DRIVE(cuDeviceTotalMem, &p->totalGlobalMem, handle);
  }
  p->sharedMemPerBlock = of(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  p->sharedMemPerBlockOptin = of(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  p->sharedMemPerMultiprocessor = of(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  p->reservedSharedMemPerBlock = of(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK);
  p->regsPerBlock = of(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  p->regsPerMultiprocessor = of(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
  p->warpSize = of(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  p->maxThreadsPerBlock = of(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  p->maxThreadsPerMultiProcessor = of(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
  p->maxBlocksPerMultiProcessor = of(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
  p->maxThreadsDim[0] = of(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  p->maxThreadsDim[1] = of(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  p->maxThreadsDim[2] = of(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  p->maxGridSize[0] = of(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  p->maxGridSize[1] = of(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  p->maxGridSize[2] = of(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  p->major = of(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  p->minor = of(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  p->multiProcessorCount = of(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  p->totalConstMem = of(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  p->l2CacheSize = of(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  p->persistingL2CacheMaxSize = of(CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE);
  p->memoryBusWidth = of(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  p->concurrentKernels = of(CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS);
  p->cooperativeLaunch = of(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
  p->asyncEngineCount = of(CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT);
  p->unifiedAddressing = of(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
  p->managedMemory = of(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t* unused, size_t* total) {
  if (!recording()) return DRIVE(cuMemGetInfo, unused, total);
  *unused = *total = static_cast<size_t>(number(ask("device_memory", "")));
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { *version = CUDART_VERSION; return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return recording() ? cudaSuccess : DRIVE(cuDriverGetVersion, version);
}
cudaError_t cudaDeviceSynchronize() { return recording() ? operate("synchronize", nullptr, nullptr) : DRIVE(cuCtxSynchronize); }
cudaError_t cudaDeviceReset() { return cudaSuccess; }  // torch lives in the same context
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return recording() ? cudaSuccess : DRIVE(cuCtxSetLimit, static_cast<CUlimit>(limit), value);
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  if (!recording()) return DRIVE(cuCtxGetLimit, value, static_cast<CUlimit>(limit));
  *value = 0;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return recording() ? create("stream", stream) : DRIVE(cuStreamCreate, stream, flags);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return recording() ? create("stream", stream) : DRIVE(cuStreamCreateWithPriority, stream, flags, priority);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return recording() ? operate("destroy_stream", stream, nullptr) : DRIVE(cuStreamDestroy, stream);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return recording() ? operate("synchronize_stream", stream, nullptr) : DRIVE(cuStreamSynchronize, real_stream(stream));
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return recording() ? operate("query_stream", stream, nullptr) : DRIVE(cuStreamQuery, real_stream(stream));
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return recording() ? operate("wait", stream, event) : DRIVE(cuStreamWaitEvent, real_stream(stream), event, flags);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  if (recording()) return cudaSuccess;
  return DRIVE(cuStreamIsCapturing, real_stream(stream), reinterpret_cast<CUstreamCaptureStatus*>(status));
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return recording() ? create("event", event) : DRIVE(cuEventCreate, event, flags);
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return recording() ? operate("destroy_event", nullptr, event) : DRIVE(cuEventDestroy, event);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return recording() ? operate("record", stream, event) : DRIVE(cuEventRecord, event, real_stream(stream));
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return recording() ? operate("synchronize_event", nullptr, event) : DRIVE(cuEventSynchronize, event);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return recording() ? operate("query_event", nullptr, event) : DRIVE(cuEventQuery, event);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  *ms = 0;
  return recording() ? operate("elapsed_time", start, end) : DRIVE(cuEventElapsedTime, ms, start, end);
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute which, int value) {
  Kernel* kernel = kernel_of(function);
  if (kernel == nullptr) return note(cudaErrorInvalidDeviceFunction);
  if (which == cudaFuncAttributeMaxDynamicSharedMemorySize) kernel->max_dynamic_shared = value;
  if (recording()) {
    if (which != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    return tell("on_shared_limit", "Knsi", address(kernel->binary->fatbin),
                static_cast<Py_ssize_t>(fatbin_bytes(kernel->binary->fatbin)), kernel->name.c_str(), value);
  }
  cudaError_t error = cudaSuccess;
  CUfunction handle = loaded(kernel, &error);
  return handle ? DRIVE(cuFuncSetAttribute, handle, static_cast<CUfunction_attribute>(which), value) : note(error);
}
cudaError_t cudaFuncSetCacheConfig(const void* function, cudaFuncCache config) {
  Kernel* kernel = kernel_of(function);
  cudaError_t error = cudaSuccess;
  if (kernel == nullptr) return note(cudaErrorInvalidDeviceFunction);
  if (recording()) return cudaSuccess;
  CUfunction handle = loaded(kernel, &error);
  return handle ? DRIVE(cuFuncSetCacheConfig, handle, static_cast<CUfunc_cache>(config)) : note(error);
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* p, const void* function) {
  std::memset(p, 0, sizeof *p);
  Kernel* kernel = kernel_of(function);
  if (kernel == nullptr) return note(cudaErrorInvalidDeviceFunction);
  cudaError_t error = cudaSuccess;
  CUfunction handle = recording() ? nullptr : loaded(kernel, &error);
  if (error != cudaSuccess) return note(error);
  const auto of = [&](CUfunction_attribute which) {
    int value = 0;
    if (handle) DRIVE(cuFuncGetAttribute, &value, which, handle);
    else value = static_cast<int>(number(ask("function_attribute", "Knsi", address(kernel->binary->fatbin),
                 static_cast<Py_ssize_t>(fatbin_bytes(kernel->binary->fatbin)), kernel->name.c_str(), static_cast<int>(which))));
    return value;
  };
  p->maxThreadsPerBlock = of(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  p->sharedSizeBytes = of(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  p->constSizeBytes = of(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
  p->localSizeBytes = of(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
  p->numRegs = of(CU_FUNC_ATTRIBUTE_NUM_REGS);
  p->ptxVersion = of(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  p->binaryVersion = of(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  p->maxDynamicSharedSizeBytes = kernel->max_dynamic_shared ? kernel->max_dynamic_shared : 48 * 1024 - p->sharedSizeBytes;
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* function, int threads,
                                                                   size_t shared, unsigned flags) {
  Kernel* kernel = kernel_of(function);
  if (kernel == nullptr) return note(cudaErrorInvalidDeviceFunction);
  if (recording()) {
    *blocks = static_cast<int>(number(ask("resident_blocks", "KnsiK", address(kernel->binary->fatbin),
        static_cast<Py_ssize_t>(fatbin_bytes(kernel->binary->fatbin)), kernel->name.c_str(), threads,
        static_cast<unsigned long long>(shared))));
    return cudaSuccess;
  }
  cudaError_t error = cudaSuccess;
  CUfunction handle = loaded(kernel, &error);
  if (handle == nullptr) return note(error);
  return DRIVE(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, handle, threads, shared, flags);
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads, size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, cudaOccupancyDefault);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  std::memset(attributes, 0, sizeof *attributes);
  if (recording()) return tell("refuse", "s", "cudaPointerGetAttributes cannot be recorded yet");
  unsigned kind = 0;
  if (const auto get = FORETELL_DRIVER(cuPointerGetAttribute))
    if (ready() == cudaSuccess) get(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address(pointer));
  attributes->type = kind == CU_MEMORYTYPE_DEVICE ? cudaMemoryTypeDevice
                     : kind == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
  if (kind == CU_MEMORYTYPE_DEVICE) attributes->devicePointer = const_cast<void*>(pointer);
  else attributes->hostPointer = const_cast<void*>(pointer);
  return cudaSuccess;
}

}  // extern "C"
