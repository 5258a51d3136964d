/*
 * cublas_v2.h - a stand-in for the header of cuBLAS, for tests: the functions that
 * share/examples/mlp_cuda.cu uses, by a CBLAS on the host. See cuda_runtime.h.
 */
#ifndef RAYTRAIN_TEST_CUBLAS_H
#define RAYTRAIN_TEST_CUBLAS_H

#include <cblas.h>

#include "cuda_runtime.h"

typedef int cublasStatus_t;
typedef void *cublasHandle_t;
enum { CUBLAS_STATUS_SUCCESS = 0 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 };

static inline int cublasCreate(cublasHandle_t *handle)
{
    static int made;

    *handle = &made;
    return 0;
}

static inline CBLAS_TRANSPOSE standin_operation(cublasOperation_t operation)
{
    return operation == CUBLAS_OP_T ? CblasTrans : CblasNoTrans;
}

static inline int cublasSgemm(cublasHandle_t, cublasOperation_t op_a,
                              cublasOperation_t op_b, int m, int n, int k,
                              const float *alpha, const float *a, int lda,
                              const float *b, int ldb, const float *beta, float *c,
                              int ldc)
{
    float by = *alpha, keep = *beta;

    return standin_queue([=] {
        cblas_sgemm(CblasColMajor, standin_operation(op_a), standin_operation(op_b), m,
                    n, k, by, standin_argument(a), lda, standin_argument(b), ldb, keep,
                    standin_argument(c), ldc);
    });
}

static inline int cublasSgemv(cublasHandle_t, cublasOperation_t op, int m, int n,
                              const float *alpha, const float *a, int lda,
                              const float *x, int incx, const float *beta, float *y,
                              int incy)
{
    float by = *alpha, keep = *beta;

    return standin_queue([=] {
        cblas_sgemv(CblasColMajor, standin_operation(op), m, n, by, standin_argument(a),
                    lda, standin_argument(x), incx, keep, standin_argument(y), incy);
    });
}

#endif
