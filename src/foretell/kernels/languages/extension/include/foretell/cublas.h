// The part of cuBLAS that extensions call. Values and names are cuBLAS's; native/cublas.cpp forwards to the library.
#pragma once

#include <cuda_runtime_api.h>
#include <library_types.h>

#include <cstdint>

struct cublasContext;
typedef cublasContext* cublasHandle_t;
enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1, CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7, CUBLAS_STATUS_ARCH_MISMATCH = 8, CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_INTERNAL_ERROR = 14, CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0, CUBLAS_TENSOR_OP_MATH = 1, CUBLAS_PEDANTIC_MATH = 2, CUBLAS_TF32_TENSOR_OP_MATH = 3
};
enum cublasGemmAlgo_t { CUBLAS_GEMM_DFALT = -1, CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 };
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64, CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70, CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32F_FAST_16F = 74, CUBLAS_COMPUTE_32F_FAST_16BF = 75, CUBLAS_COMPUTE_32F_FAST_TF32 = 77
};

extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t* handle);
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes);
cublasStatus_t cublasSgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k, const float* alpha,
                              const float* a, int lda, const float* b, int ldb, const float* beta, float* c, int ldc);
cublasStatus_t cublasDgemm_v2(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k, const double* alpha,
                              const double* a, int lda, const double* b, int ldb, const double* beta, double* c, int ldc);
cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k,
                                         const float* alpha, const float* a, int lda, long long stride_a, const float* b,
                                         int ldb, long long stride_b, const float* beta, float* c, int ldc,
                                         long long stride_c, int count);
cublasStatus_t cublasGemmEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k, const void* alpha,
                            const void* a, cudaDataType type_a, int lda, const void* b, cudaDataType type_b, int ldb,
                            const void* beta, void* c, cudaDataType type_c, int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType type_a, int lda,
                                          long long stride_a, const void* b, cudaDataType type_b, int ldb,
                                          long long stride_b, const void* beta, void* c, cudaDataType type_c, int ldc,
                                          long long stride_c, int count, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algorithm);
cublasStatus_t cublasSgemv_v2(cublasHandle_t, cublasOperation_t, int m, int n, const float* alpha, const float* a, int lda,
                              const float* x, int incx, const float* beta, float* y, int incy);
cublasStatus_t cublasSger_v2(cublasHandle_t, int m, int n, const float* alpha, const float* x, int incx, const float* y,
                             int incy, float* a, int lda);
cublasStatus_t cublasSdot_v2(cublasHandle_t, int n, const float* x, int incx, const float* y, int incy, float* result);
cublasStatus_t cublasSnrm2_v2(cublasHandle_t, int n, const float* x, int incx, float* result);
cublasStatus_t cublasSasum_v2(cublasHandle_t, int n, const float* x, int incx, float* result);
cublasStatus_t cublasSscal_v2(cublasHandle_t, int n, const float* alpha, float* x, int incx);
cublasStatus_t cublasSaxpy_v2(cublasHandle_t, int n, const float* alpha, const float* x, int incx, float* y, int incy);
const char* cublasGetStatusString(cublasStatus_t status);
const char* cublasGetStatusName(cublasStatus_t status);
}

// The older way to name the type that is computed in.
inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k,
                                   const void* alpha, const void* a, cudaDataType type_a, int lda, const void* b,
                                   cudaDataType type_b, int ldb, const void* beta, void* c, cudaDataType type_c, int ldc,
                                   cudaDataType compute, cublasGemmAlgo_t algorithm) {
  const auto type = compute == CUDA_R_16F   ? CUBLAS_COMPUTE_16F
                    : compute == CUDA_R_64F ? CUBLAS_COMPUTE_64F
                    : compute == CUDA_R_32I ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F;
  return cublasGemmEx(handle, ta, tb, m, n, k, alpha, a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, type, algorithm);
}
inline cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t ta, cublasOperation_t tb, int m,
                                                 int n, int k, const void* alpha, const void* a, cudaDataType type_a,
                                                 int lda, long long stride_a, const void* b, cudaDataType type_b, int ldb,
                                                 long long stride_b, const void* beta, void* c, cudaDataType type_c,
                                                 int ldc, long long stride_c, int count, cudaDataType compute,
                                                 cublasGemmAlgo_t algorithm) {
  const auto type = compute == CUDA_R_16F   ? CUBLAS_COMPUTE_16F
                    : compute == CUDA_R_64F ? CUBLAS_COMPUTE_64F
                    : compute == CUDA_R_32I ? CUBLAS_COMPUTE_32I : CUBLAS_COMPUTE_32F;
  return cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha, a, type_a, lda, stride_a, b, type_b, ldb, stride_b,
                                    beta, c, type_c, ldc, stride_c, count, type, algorithm);
}

#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasSetStream cublasSetStream_v2
#define cublasGetStream cublasGetStream_v2
#define cublasSetPointerMode cublasSetPointerMode_v2
#define cublasSetWorkspace cublasSetWorkspace_v2
#define cublasSgemm cublasSgemm_v2
#define cublasDgemm cublasDgemm_v2
#define cublasSgemv cublasSgemv_v2
#define cublasSger cublasSger_v2
#define cublasSdot cublasSdot_v2
#define cublasSnrm2 cublasSnrm2_v2
#define cublasSasum cublasSasum_v2
#define cublasSscal cublasSscal_v2
#define cublasSaxpy cublasSaxpy_v2

namespace foretell {
cublasHandle_t current_blas_handle();  // one per process, on torch's current stream
}
namespace at::cuda {
inline cublasHandle_t getCurrentCUDABlasHandle() { return foretell::current_blas_handle(); }
}
#ifndef TORCH_CUDABLAS_CHECK
#define TORCH_CUDABLAS_CHECK(expression)                                                                     \
  do {                                                                                                       \
    const cublasStatus_t foretell_status = (expression);                                                     \
    TORCH_CHECK(foretell_status == CUBLAS_STATUS_SUCCESS, "CUDA error: ", cublasGetStatusString(foretell_status)); \
  } while (false)
#endif
