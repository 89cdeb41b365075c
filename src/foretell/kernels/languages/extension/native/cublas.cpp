// cuBLAS for extensions: forwarded to the library where there is a GPU, told as matrix products to a recorder.
#include "runtime.h"

#include <dlfcn.h>

#include "foretell/cublas.h"
#include "foretell/device.h"

namespace foretell {

namespace {

// A handle of our own in front of the library's, which is made when it is first needed.
struct Handle {
  void* real = nullptr;
  cudaStream_t stream = nullptr;
  cublasMath_t mode = CUBLAS_DEFAULT_MATH;
  bool device_scalars = false;
};
Handle* own(cublasHandle_t handle) { return reinterpret_cast<Handle*>(handle); }

void* library_symbol(const char* name) {
  static void* const library = [] {
    for (const char* file : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
      if (void* opened = dlopen(file, RTLD_NOW | RTLD_NOLOAD)) return opened;  // torch's own, if it is loaded
    for (const char* file : {"libcublas.so.13", "libcublas.so.12", "libcublas.so"})
      if (void* opened = dlopen(file, RTLD_NOW)) return opened;
    return static_cast<void*>(nullptr);
  }();
  return library ? dlsym(library, name) : nullptr;
}
template <class F> F symbol(const char* name) {
  void* found = library_symbol(name);
  if (found == nullptr) throw c10::Error(std::string("the extension calls ") + name + ", and no cuBLAS was found");
  return reinterpret_cast<F>(found);
}
#define BLAS(function) symbol<decltype(&function)>(FORETELL_TEXT(function))

// The library's handle, with the stream that launches go to.
cublasHandle_t real(cublasHandle_t handle) {
  Handle* mine = own(handle);
  if (mine->real == nullptr) {
    cublasHandle_t made = nullptr;
    if (ready() != cudaSuccess || BLAS(cublasCreate_v2)(&made) != CUBLAS_STATUS_SUCCESS)
      throw c10::Error("cublasCreate failed");
    mine->real = made;
    BLAS(cublasSetMathMode)(made, mine->mode);
    if (mine->device_scalars) BLAS(cublasSetPointerMode_v2)(made, CUBLAS_POINTER_MODE_DEVICE);
  }
  auto made = static_cast<cublasHandle_t>(mine->real);
  BLAS(cublasSetStream_v2)(made, real_stream(mine->stream));
  return made;
}

const char* type_name(cudaDataType type) {
  switch (type) {
    case CUDA_R_32F: return "float32";
    case CUDA_R_64F: return "float64";
    case CUDA_R_16F: return "float16";
    case CUDA_R_16BF: return "bfloat16";
    default: return "";
  }
}

// C = alpha op(A) op(B) + beta C, column-major, `count` times; as a product of tensors.
cublasStatus_t product(cublasHandle_t handle, const char* type, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
                       int k, double alpha, const void* a, int lda, long long stride_a, const void* b, int ldb,
                       long long stride_b, double beta, void* c, int ldc, long long stride_c, int count) {
  if (own(handle)->device_scalars) tell("refuse", "s", "cuBLAS with factors in device memory cannot be recorded");
  const bool fast = own(handle)->mode == CUBLAS_TF32_TENSOR_OP_MATH || own(handle)->mode == CUBLAS_TENSOR_OP_MATH;
  tell("on_product", "siiiiiidKiLKiLdKiLi", type, ta != CUBLAS_OP_N, tb != CUBLAS_OP_N, m, n, k, static_cast<int>(fast),
       alpha, address(a), lda, stride_a, address(b), ldb, stride_b, beta, address(c), ldc, stride_c, count);
  return CUBLAS_STATUS_SUCCESS;
}
double factor(const void* value, cublasComputeType_t compute) {
  if (compute == CUBLAS_COMPUTE_64F) return *static_cast<const double*>(value);
  if (compute == CUBLAS_COMPUTE_16F || compute == CUBLAS_COMPUTE_32I)
    throw c10::Error("cuBLAS with factors other than float or double cannot be recorded");
  return *static_cast<const float*>(value);
}
cublasStatus_t refused(const char* name) {
  tell("refuse", "s", (std::string(name) + " cannot be recorded").c_str());
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace

cublasHandle_t current_blas_handle() {
  static auto* handle = new Handle;
  handle->stream = current_stream(-1);
  return reinterpret_cast<cublasHandle_t>(handle);
}

}  // namespace foretell

using namespace foretell;

extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  *handle = reinterpret_cast<cublasHandle_t>(new Handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  Handle* mine = own(handle);
  if (mine->real != nullptr) BLAS(cublasDestroy_v2)(static_cast<cublasHandle_t>(mine->real));
  delete mine;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  own(handle)->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream) {
  *stream = own(handle)->stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  own(handle)->mode = mode;
  return own(handle)->real ? BLAS(cublasSetMathMode)(real(handle), mode) : CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  *mode = own(handle)->mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode) {
  own(handle)->device_scalars = mode == CUBLAS_POINTER_MODE_DEVICE;
  return own(handle)->real ? BLAS(cublasSetPointerMode_v2)(real(handle), mode) : CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  return recording() ? CUBLAS_STATUS_SUCCESS : BLAS(cublasSetWorkspace_v2)(real(handle), workspace, bytes);
}
cublasStatus_t cublasSgemm_v2(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                              const float* alpha, const float* a, int lda, const float* b, int ldb, const float* beta,
                              float* c, int ldc) {
  if (!recording()) return BLAS(cublasSgemm_v2)(real(h), ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  return product(h, "float32", ta, tb, m, n, k, *alpha, a, lda, 0, b, ldb, 0, *beta, c, ldc, 0, 1);
}
cublasStatus_t cublasDgemm_v2(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                              const double* alpha, const double* a, int lda, const double* b, int ldb,
                              const double* beta, double* c, int ldc) {
  if (!recording()) return BLAS(cublasDgemm_v2)(real(h), ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  return product(h, "float64", ta, tb, m, n, k, *alpha, a, lda, 0, b, ldb, 0, *beta, c, ldc, 0, 1);
}
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                                         const float* alpha, const float* a, int lda, long long sa, const float* b,
                                         int ldb, long long sb, const float* beta, float* c, int ldc, long long sc,
                                         int count) {
  if (!recording())
    return BLAS(cublasSgemmStridedBatched)(real(h), ta, tb, m, n, k, alpha, a, lda, sa, b, ldb, sb, beta, c, ldc, sc, count);
  return product(h, "float32", ta, tb, m, n, k, *alpha, a, lda, sa, b, ldb, sb, *beta, c, ldc, sc, count);
}
cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                            const void* alpha, const void* a, cudaDataType type_a, int lda, const void* b,
                            cudaDataType type_b, int ldb, const void* beta, void* c, cudaDataType type_c, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  if (!recording()) {
    using Function = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                        const void*, cudaDataType, int, const void*, cudaDataType, int, const void*, void*,
                                        cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
    return symbol<Function>("cublasGemmEx")(real(h), ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c,
                                            type_c, ldc, compute, algorithm);
  }
  if (type_a != type_b || type_a != type_c || !*type_name(type_a)) return refused("cublasGemmEx with mixed types");
  return product(h, type_name(type_a), ta, tb, m, n, k, factor(alpha, compute), a, lda, 0, b, ldb, 0,
                 factor(beta, compute), c, ldc, 0, 1);
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType type_a, int lda, long long sa,
                                          const void* b, cudaDataType type_b, int ldb, long long sb, const void* beta,
                                          void* c, cudaDataType type_c, int ldc, long long sc, int count,
                                          cublasComputeType_t compute, cublasGemmAlgo_t algorithm) {
  if (!recording()) {
    using Function = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                                        const void*, cudaDataType, int, long long, const void*, cudaDataType, int,
                                        long long, const void*, void*, cudaDataType, int, long long, int,
                                        cublasComputeType_t, cublasGemmAlgo_t);
    return symbol<Function>("cublasGemmStridedBatchedEx")(real(h), ta, tb, m, n, k, alpha, a, type_a, lda, sa, b, type_b,
                                                          ldb, sb, beta, c, type_c, ldc, sc, count, compute, algorithm);
  }
  if (type_a != type_b || type_a != type_c || !*type_name(type_a)) return refused("cublasGemmEx with mixed types");
  return product(h, type_name(type_a), ta, tb, m, n, k, factor(alpha, compute), a, lda, sa, b, ldb, sb,
                 factor(beta, compute), c, ldc, sc, count);
}
cublasStatus_t cublasSgemv_v2(cublasHandle_t h, cublasOperation_t t, int m, int n, const float* alpha, const float* a,
                              int lda, const float* x, int incx, const float* beta, float* y, int incy) {
  if (!recording()) return BLAS(cublasSgemv_v2)(real(h), t, m, n, alpha, a, lda, x, incx, beta, y, incy);
  if (incx != 1 || incy != 1) return refused("cublasSgemv with strides");
  const int rows = t == CUBLAS_OP_N ? m : n, inner = t == CUBLAS_OP_N ? n : m;
  return product(h, "float32", t, CUBLAS_OP_N, rows, 1, inner, *alpha, a, lda, 0, x, inner, 0, *beta, y, rows, 0, 1);
}
cublasStatus_t cublasSger_v2(cublasHandle_t h, int m, int n, const float* alpha, const float* x, int incx, const float* y,
                             int incy, float* a, int lda) {
  if (!recording()) return BLAS(cublasSger_v2)(real(h), m, n, alpha, x, incx, y, incy, a, lda);
  if (incx != 1 || incy != 1) return refused("cublasSger with strides");
  return product(h, "float32", CUBLAS_OP_N, CUBLAS_OP_T, m, n, 1, *alpha, x, m, 0, y, n, 0, 1.0, a, lda, 0, 1);
}
#define FORETELL_FORWARD(name, parameters, ...)                       \
  cublasStatus_t name parameters {                                    \
    return recording() ? refused(#name) : BLAS(name)(real(h), __VA_ARGS__); \
  }
FORETELL_FORWARD(cublasSdot_v2, (cublasHandle_t h, int n, const float* x, int incx, const float* y, int incy, float* r), n, x, incx, y, incy, r)
FORETELL_FORWARD(cublasSnrm2_v2, (cublasHandle_t h, int n, const float* x, int incx, float* r), n, x, incx, r)
FORETELL_FORWARD(cublasSasum_v2, (cublasHandle_t h, int n, const float* x, int incx, float* r), n, x, incx, r)
FORETELL_FORWARD(cublasSscal_v2, (cublasHandle_t h, int n, const float* alpha, float* x, int incx), n, alpha, x, incx)
FORETELL_FORWARD(cublasSaxpy_v2, (cublasHandle_t h, int n, const float* alpha, const float* x, int incx, float* y, int incy), n, alpha, x, incx, y, incy)
const char* cublasGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS" : "a cuBLAS error";
}
const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }
}
