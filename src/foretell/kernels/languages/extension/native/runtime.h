// What the parts of the CUDA runtime share: the driver, the recorder and the kernels that were registered.
#pragma once

#include "python.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <map>
#include <string>

namespace foretell {

struct Binary {  // one translation unit's device code
  const void* fatbin;
  std::map<CUcontext, CUmodule> modules;
};
struct Kernel {
  Binary* binary;
  std::string name;
  int max_dynamic_shared = 0;
  std::map<CUcontext, CUfunction> functions;
};
struct Variable {
  Binary* binary;
  std::string name;
};

Kernel* kernel_of(const void* function);      // null if it was not registered
Variable* variable_of(const void* symbol);
size_t fatbin_bytes(const void* fatbin);
CUfunction loaded(Kernel* kernel, cudaError_t* error);  // in the current context; null with an error

void* driver_symbol(const char* name);        // null where there is no driver, or it has no such function
cudaError_t ready();                          // a current context, made if there is none
cudaError_t note(cudaError_t error);          // remembers a failure for cudaGetLastError
CUstream real_stream(cudaStream_t stream);    // with the default stream where the bench wants it

bool recording();
// Calls foretell.kernels.languages.extension.recording.<name> with arguments as for Py_BuildValue.
Reference ask(const char* name, const char* format, ...);
cudaError_t tell(const char* name, const char* format, ...);  // the same where the answer is an error code or None
int64_t number(const Reference& answer);

#define FORETELL_TEXT_IMPL(x) #x
#define FORETELL_TEXT(x) FORETELL_TEXT_IMPL(x)
#define FORETELL_DRIVER(function)                                                                              \
  ([] {                                                                                                        \
    static const auto found = reinterpret_cast<decltype(&function)>(driver_symbol(FORETELL_TEXT(function)));   \
    return found;                                                                                              \
  }())

// Calls a function of the driver in a current context.
template <class F, class... A> cudaError_t drive(F function, A... arguments) {
  if (function == nullptr) return note(cudaErrorInsufficientDriver);
  const cudaError_t error = ready();
  if (error != cudaSuccess) return note(error);
  return note(static_cast<cudaError_t>(function(arguments...)));
}
#define DRIVE(function, ...) drive(FORETELL_DRIVER(function), ##__VA_ARGS__)

inline unsigned long long address(const void* pointer) { return reinterpret_cast<unsigned long long>(pointer); }

}  // namespace foretell
