// The CUDA runtime that extensions are linked with: registration, launches, memory and symbols.
//
// With a recorder every call becomes an event and nothing needs a GPU; without one, calls go to the CUDA driver, in the
// context that torch uses. Only what extensions need is here; the build names any other function that one calls.
#include "runtime.h"

#include <dlfcn.h>

#include <cstdarg>
#include <vector>

namespace foretell {

namespace {

std::map<const void*, Kernel*>& kernels() {
  static auto* made = new std::map<const void*, Kernel*>;  // static constructors of the extension fill it
  return *made;
}
std::map<const void*, Variable*>& variables() {
  static auto* made = new std::map<const void*, Variable*>;
  return *made;
}

thread_local cudaError_t last_error = cudaSuccess;

struct Configuration {
  dim3 grid, block;
  size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

CUmodule module_of(Binary* binary, cudaError_t* error) {
  CUcontext context = nullptr;
  if ((*error = DRIVE(cuCtxGetCurrent, &context)) != cudaSuccess) return nullptr;
  CUmodule& module = binary->modules[context];
  if (module == nullptr) *error = DRIVE(cuModuleLoadData, &module, binary->fatbin);
  return module;
}

cudaError_t launch(Kernel* kernel, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream,
                   bool cooperative) {
  if (kernel == nullptr) return note(cudaErrorInvalidDeviceFunction);
  if (recording())
    return tell("on_launch", "KnsIIIIIIKKKii", address(kernel->binary->fatbin),
                static_cast<Py_ssize_t>(fatbin_bytes(kernel->binary->fatbin)), kernel->name.c_str(), grid.x, grid.y,
                grid.z, block.x, block.y, block.z, static_cast<unsigned long long>(shared), address(stream),
                address(arguments), static_cast<int>(cooperative), kernel->max_dynamic_shared);
  cudaError_t error = cudaSuccess;
  CUfunction function = loaded(kernel, &error);
  if (function == nullptr) return note(error);
  const auto bytes = static_cast<unsigned>(shared);
  CUstream chosen = real_stream(stream);
  if (cooperative)
    return DRIVE(cuLaunchCooperativeKernel, function, grid.x, grid.y, grid.z, block.x, block.y, block.z, bytes, chosen,
                 arguments);
  return DRIVE(cuLaunchKernel, function, grid.x, grid.y, grid.z, block.x, block.y, block.z, bytes, chosen, arguments,
               static_cast<void**>(nullptr));
}

cudaError_t copy(void* target, const void* source, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream, bool async) {
  if (recording())
    return tell("on_copy", "KKKiKi", address(target), address(source), static_cast<unsigned long long>(bytes),
                static_cast<int>(kind), address(stream), static_cast<int>(async));
  const auto to = static_cast<CUdeviceptr>(address(target)), from = static_cast<CUdeviceptr>(address(source));
  CUstream chosen = real_stream(stream);
  switch (kind) {
    case cudaMemcpyHostToHost: std::memcpy(target, source, bytes); return cudaSuccess;
    case cudaMemcpyHostToDevice:
      return async ? DRIVE(cuMemcpyHtoDAsync, to, source, bytes, chosen) : DRIVE(cuMemcpyHtoD, to, source, bytes);
    case cudaMemcpyDeviceToHost:
      return async ? DRIVE(cuMemcpyDtoHAsync, target, from, bytes, chosen) : DRIVE(cuMemcpyDtoH, target, from, bytes);
    case cudaMemcpyDeviceToDevice:
      return async ? DRIVE(cuMemcpyDtoDAsync, to, from, bytes, chosen) : DRIVE(cuMemcpyDtoD, to, from, bytes);
    default: return async ? DRIVE(cuMemcpyAsync, to, from, bytes, chosen) : DRIVE(cuMemcpy, to, from, bytes);
  }
}

cudaError_t symbol_address(const void* symbol, CUdeviceptr* place, size_t* bytes) {
  Variable* variable = variable_of(symbol);
  if (variable == nullptr) return note(cudaErrorInvalidSymbol);
  cudaError_t error = cudaSuccess;
  CUmodule module = module_of(variable->binary, &error);
  if (module == nullptr) return note(error);
  return DRIVE(cuModuleGetGlobal, place, bytes, module, variable->name.c_str());
}

cudaError_t symbol_copy(const void* symbol, void* other, size_t count, size_t offset, cudaMemcpyKind kind,
                        cudaStream_t stream, bool async, bool upload) {
  if (recording()) {
    Variable* variable = variable_of(symbol);
    if (variable == nullptr) return note(cudaErrorInvalidSymbol);
    return tell("on_symbol_copy", "KnsKKKiKi", address(variable->binary->fatbin),
                static_cast<Py_ssize_t>(fatbin_bytes(variable->binary->fatbin)), variable->name.c_str(),
                static_cast<unsigned long long>(offset), address(other), static_cast<unsigned long long>(count),
                static_cast<int>(kind), address(stream), static_cast<int>(upload));
  }
  CUdeviceptr place = 0;
  size_t bytes = 0;
  const cudaError_t error = symbol_address(symbol, &place, &bytes);
  if (error != cudaSuccess) return error;
  if (offset + count > bytes) return note(cudaErrorInvalidValue);
  void* inside = reinterpret_cast<void*>(place + offset);
  return upload ? copy(inside, other, count, kind, stream, async) : copy(other, inside, count, kind, stream, async);
}

}  // namespace

Kernel* kernel_of(const void* function) {
  const auto found = kernels().find(function);
  if (found != kernels().end()) return found->second;
  for (const auto& [host, kernel] : kernels())
    if (kernel == function) return kernel;  // a cudaKernel_t
  return nullptr;
}
Variable* variable_of(const void* symbol) {
  const auto found = variables().find(symbol);
  return found == variables().end() ? nullptr : found->second;
}
size_t fatbin_bytes(const void* fatbin) {
  const auto* bytes = static_cast<const char*>(fatbin);
  uint16_t header = 0;
  uint64_t rest = 0;
  std::memcpy(&header, bytes + 6, 2);
  std::memcpy(&rest, bytes + 8, 8);
  return header + rest;
}
CUfunction loaded(Kernel* kernel, cudaError_t* error) {
  CUcontext context = nullptr;
  if ((*error = DRIVE(cuCtxGetCurrent, &context)) != cudaSuccess) return nullptr;
  CUfunction& function = kernel->functions[context];
  if (function == nullptr)
    if (CUmodule module = module_of(kernel->binary, error))
      *error = DRIVE(cuModuleGetFunction, &function, module, kernel->name.c_str());
  return function;
}

void* driver_symbol(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  return library ? dlsym(library, name) : nullptr;
}
cudaError_t note(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}
CUstream real_stream(cudaStream_t stream) {
  if (stream != nullptr && stream != cudaStreamLegacy) return stream;
  Gil gil;
  PyObject* wanted = hook("default_stream");
  void* handle = wanted ? PyLong_AsVoidPtr(wanted) : nullptr;
  return handle ? static_cast<CUstream>(handle) : stream;
}
bool recording() {
  Gil gil;
  return hook("recorder") != nullptr;
}
static Reference ask_with(const char* name, const char* format, va_list arguments) {
  static PyObject* module = checked(PyImport_ImportModule("foretell.kernels.languages.extension.recording"));
  Reference function = owned(PyObject_GetAttrString(module, name));
  Reference values = owned(Py_VaBuildValue((std::string("(") + format + ")").c_str(), arguments));
  return owned(PyObject_CallObject(function.get(), values.get()));
}
Reference ask(const char* name, const char* format, ...) {
  Gil gil;
  va_list arguments;
  va_start(arguments, format);
  try {
    Reference answer = ask_with(name, format, arguments);
    va_end(arguments);
    return answer;
  } catch (...) {
    va_end(arguments);
    throw;
  }
}
cudaError_t tell(const char* name, const char* format, ...) {
  Gil gil;
  va_list arguments;
  va_start(arguments, format);
  try {
    Reference answer = ask_with(name, format, arguments);
    va_end(arguments);
    return note(answer.get() == Py_None ? cudaSuccess : static_cast<cudaError_t>(number(answer)));
  } catch (...) {
    va_end(arguments);
    throw;
  }
}
int64_t number(const Reference& answer) {
  Gil gil;
  const int64_t value = static_cast<int64_t>(PyLong_AsUnsignedLongLongMask(answer.get()));
  if (PyErr_Occurred()) throw_python_error();
  return value;
}

}  // namespace foretell

using namespace foretell;

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  struct Wrapper { uint32_t magic, version; const void* data; };
  return reinterpret_cast<void**>(new Binary{static_cast<Wrapper*>(wrapper)->data, {}});
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*, dim3*,
                            int*) {
  kernels()[host] = new Kernel{reinterpret_cast<Binary*>(handle), name, 0, {}};
}
void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, size_t, int, int) {
  variables()[host] = new Variable{reinterpret_cast<Binary*>(handle), name};
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  if (configurations.empty()) return note(cudaErrorMissingConfiguration);
  const Configuration& top = configurations.back();
  *grid = top.grid, *block = top.block, *shared = top.shared;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  configurations.pop_back();
  return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = reinterpret_cast<cudaKernel_t>(kernel_of(host));
  return *kernel ? cudaSuccess : note(cudaErrorInvalidDeviceFunction);
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                               cudaStream_t stream) {
  return launch(reinterpret_cast<Kernel*>(kernel), grid, block, arguments, shared, stream, false);
}
cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  return launch(kernel_of(function), grid, block, arguments, shared, stream, false);
}
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                                        cudaStream_t stream) {
  return launch(kernel_of(function), grid, block, arguments, shared, stream, true);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  Kernel* kernel = kernel_of(function);
  if (kernel == nullptr) return note(cudaErrorInvalidDeviceFunction);
  if (recording() && config->numAttrs > 0)
    return tell("refuse", "s", "a launch with attributes (clusters, programmatic launch) cannot be recorded yet");
  if (config->numAttrs == 0)
    return launch(kernel, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream, false);
  cudaError_t error = cudaSuccess;
  CUfunction handle = loaded(kernel, &error);
  if (handle == nullptr) return note(error);
  CUlaunchConfig made = {};
  made.gridDimX = config->gridDim.x, made.gridDimY = config->gridDim.y, made.gridDimZ = config->gridDim.z;
  made.blockDimX = config->blockDim.x, made.blockDimY = config->blockDim.y, made.blockDimZ = config->blockDim.z;
  made.sharedMemBytes = static_cast<unsigned>(config->dynamicSmemBytes);
  made.hStream = real_stream(config->stream);
  made.attrs = reinterpret_cast<CUlaunchAttribute*>(config->attrs);
  made.numAttrs = config->numAttrs;
  return DRIVE(cuLaunchKernelEx, &made, handle, arguments, static_cast<void**>(nullptr));
}

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return last_error; }
const char* cudaGetErrorName(cudaError_t error) {
  const char* text = nullptr;
  if (const auto ask_driver = FORETELL_DRIVER(cuGetErrorName)) ask_driver(static_cast<CUresult>(error), &text);
  return text ? text : error == cudaSuccess ? "cudaSuccess" : "cudaError";
}
const char* cudaGetErrorString(cudaError_t error) {
  const char* text = nullptr;
  if (const auto ask_driver = FORETELL_DRIVER(cuGetErrorString)) ask_driver(static_cast<CUresult>(error), &text);
  if (text) return text;
  static thread_local char own[32];
  std::snprintf(own, sizeof own, "CUDA error %d", static_cast<int>(error));
  return error == cudaSuccess ? "no error" : own;
}

cudaError_t cudaMalloc(void** place, size_t bytes) {
  if (!recording()) return DRIVE(cuMemAlloc, reinterpret_cast<CUdeviceptr*>(place), bytes);
  *place = reinterpret_cast<void*>(number(ask("on_allocate", "K", static_cast<unsigned long long>(bytes))));
  return cudaSuccess;
}
cudaError_t cudaFree(void* place) {
  if (place == nullptr) return cudaSuccess;
  return recording() ? tell("on_free", "K", address(place)) : DRIVE(cuMemFree, address(place));
}
cudaError_t cudaMallocAsync(void** place, size_t bytes, cudaStream_t stream) {
  if (recording()) return cudaMalloc(place, bytes);
  return DRIVE(cuMemAllocAsync, reinterpret_cast<CUdeviceptr*>(place), bytes, real_stream(stream));
}
cudaError_t cudaFreeAsync(void* place, cudaStream_t stream) {
  return recording() ? cudaFree(place) : DRIVE(cuMemFreeAsync, address(place), real_stream(stream));
}
cudaError_t cudaMallocHost(void** place, size_t bytes) { return (*place = std::malloc(bytes)) ? cudaSuccess : note(cudaErrorMemoryAllocation); }
cudaError_t cudaHostAlloc(void** place, size_t bytes, unsigned) { return cudaMallocHost(place, bytes); }
cudaError_t cudaFreeHost(void* place) { std::free(place); return cudaSuccess; }
cudaError_t cudaMemset(void* place, int value, size_t bytes) {
  if (recording()) return tell("on_fill", "KiKK", address(place), value, static_cast<unsigned long long>(bytes), 0ULL);
  return DRIVE(cuMemsetD8, address(place), static_cast<unsigned char>(value), bytes);
}
cudaError_t cudaMemsetAsync(void* place, int value, size_t bytes, cudaStream_t stream) {
  if (recording())
    return tell("on_fill", "KiKK", address(place), value, static_cast<unsigned long long>(bytes), address(stream));
  return DRIVE(cuMemsetD8Async, address(place), static_cast<unsigned char>(value), bytes, real_stream(stream));
}
cudaError_t cudaMemcpy(void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
  return copy(target, source, bytes, kind, nullptr, false);
}
cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy(target, source, bytes, kind, stream, true);
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t count, size_t offset, cudaMemcpyKind kind) {
  return symbol_copy(symbol, const_cast<void*>(source), count, offset, kind, nullptr, false, true);
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t count, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
  return symbol_copy(symbol, const_cast<void*>(source), count, offset, kind, stream, true, true);
}
cudaError_t cudaMemcpyFromSymbol(void* target, const void* symbol, size_t count, size_t offset, cudaMemcpyKind kind) {
  return symbol_copy(symbol, target, count, offset, kind, nullptr, false, false);
}
cudaError_t cudaMemcpyFromSymbolAsync(void* target, const void* symbol, size_t count, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
  return symbol_copy(symbol, target, count, offset, kind, stream, true, false);
}
cudaError_t cudaGetSymbolAddress(void** place, const void* symbol) {
  if (recording()) {
    Variable* variable = variable_of(symbol);
    if (variable == nullptr) return note(cudaErrorInvalidSymbol);
    *place = reinterpret_cast<void*>(number(ask("on_symbol_address", "Kns", address(variable->binary->fatbin),
        static_cast<Py_ssize_t>(fatbin_bytes(variable->binary->fatbin)), variable->name.c_str())));
    return cudaSuccess;
  }
  size_t bytes = 0;
  return symbol_address(symbol, reinterpret_cast<CUdeviceptr*>(place), &bytes);
}
cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  CUdeviceptr place = 0;
  if (recording()) return tell("refuse", "s", "cudaGetSymbolSize cannot be recorded yet");
  return symbol_address(symbol, &place, bytes);
}

}  // extern "C"
