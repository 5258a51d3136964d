/*
 * nccl.h - the functions that a group of GPUs uses, of NCCL or a library with the same
 * ones (RCCL for AMD GPUs), opened at run time.
 *
 * It needs no header of NCCL: the types and numbers that are used are written here. The
 * version that introduced each function is given below; 2.10, which introduced the mean
 * and bfloat16, is required as a whole.
 */
#ifndef RAYTRAIN_DEVICE_NCCL_H
#define RAYTRAIN_DEVICE_NCCL_H

#include <stddef.h>

#include "raytrain.h"
#include "util/error.h"

enum {
    NCCL_SUCCESS = 0,
    NCCL_REMOTE_ERROR = 6, /* 2.13: another rank, or the connection to it, has failed */
    NCCL_IN_PROGRESS = 7,  /* 2.14: the communicator does not block */

    NCCL_INT8 = 0, /* a byte */
    NCCL_UINT8 = 1,
    NCCL_INT64 = 4,
    NCCL_FLOAT16 = 6,
    NCCL_FLOAT32 = 7,
    NCCL_FLOAT64 = 8,
    NCCL_BFLOAT16 = 9, /* 2.10 */

    NCCL_SUM = 0,
    NCCL_MAX = 2,
    NCCL_MIN = 3,
    NCCL_AVG = 4 /* 2.10 */
};

/* ncclUniqueId, which is passed by value. */
struct nccl_id {
    char internal[128];
};

/* ncclConfig_t of 2.14. Later versions accept it, with defaults for what it lacks. */
struct nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking;
};
#define NCCL_NONBLOCKING                                                               \
    {                                                                                  \
        sizeof(struct nccl_config), 0xcafebeef, 21400, 0                               \
    }

/* Results are an ncclResult_t; a communicator, ncclComm_t, and a stream are pointers;
 * types and operations are ncclDataType_t and ncclRedOp_t, enums as wide as int. */
#define NCCL_FUNCTIONS(F)                                                              \
    /* 2.3 or earlier */                                                               \
    F(int, ncclGetVersion, (int *version))                                             \
    F(int, ncclGetUniqueId, (struct nccl_id * id))                                     \
    F(int, ncclCommInitRank, (void **comm, int n, struct nccl_id id, int rank))        \
    F(int, ncclCommDestroy, (void *comm))                                              \
    F(const char *, ncclGetErrorString, (int result))                                  \
    F(int, ncclGroupStart, (void))                                                     \
    F(int, ncclGroupEnd, (void))                                                       \
    F(int, ncclAllReduce,                                                              \
      (const void *from, void *to, size_t n, int type, int op, void *comm,             \
       void *stream))                                                                  \
    F(int, ncclReduce,                                                                 \
      (const void *from, void *to, size_t n, int type, int op, int root, void *comm,   \
       void *stream))                                                                  \
    F(int, ncclBroadcast,                                                              \
      (const void *from, void *to, size_t n, int type, int root, void *comm,           \
       void *stream))                                                                  \
    F(int, ncclAllGather,                                                              \
      (const void *from, void *to, size_t n_each, int type, void *comm, void *stream)) \
    F(int, ncclReduceScatter,                                                          \
      (const void *from, void *to, size_t n_each, int type, int op, void *comm,        \
       void *stream))                                                                  \
    /* 2.4 */                                                                          \
    F(int, ncclCommGetAsyncError, (void *comm, int *error))                            \
    F(int, ncclCommAbort, (void *comm))                                                \
    /* 2.7 */                                                                          \
    F(int, ncclSend,                                                                   \
      (const void *from, size_t n, int type, int to, void *comm, void *stream))        \
    F(int, ncclRecv, (void *to, size_t n, int type, int from, void *comm, void *stream))

struct nccl {
    const char *file; /* "libnccl.so.2" */
    int version;      /* 10000 x major + 100 x minor + patch */
#define NCCL_MEMBER(result, name, arguments) result(*name) arguments;
    NCCL_FUNCTIONS(NCCL_MEMBER)
#undef NCCL_MEMBER
    const char *(*ncclGetLastError)(void *comm); /* 2.13; else NULL */
    /* 2.14; else NULL */
    int (*ncclCommInitRankConfig)(void **comm, int n, struct nccl_id id, int rank,
                                  struct nccl_config *config);
};

/* Open the library, unless it is open; it stays open. RAYTRAIN_ENOTSUP if it is missing
 * or too old. Only the thread of the training function calls this. */
int nccl_open(const char *file, const struct nccl **out, struct error *err);

/* Fill err from the result of a call of `function`, which is neither success nor in
 * progress; NULL: an asynchronous error. RAYTRAIN_ECOMM. Always returns -1. */
int nccl_fail(const struct nccl *nccl, int result, const char *function,
              struct error *err);

/* The numbers of a type and of an operation; RAYTRAIN_EINVAL if NCCL cannot combine
 * them. */
int nccl_reduction(raytrain_dtype dtype, raytrain_op op, int *type, int *combine,
                   struct error *err);

#endif
