/*
 * raytrain.h - distributed training under Slurm: what a training function can call.
 *
 * A training function runs once on every worker (one rank, one process):
 *
 *     int train_func(raytrain_context *ctx);
 *
 * It is in a shared object that raytrain-run loads, or in a program that passes it
 * to raytrain_main(). Returning 0 means that this worker has finished; any other value
 * means that it failed, and the group with it. If it returns the raytrain_status of a
 * call that failed, raytrain-run reports that kind of failure (storage, configuration).
 * A call of exit() is a failure, too.
 *
 * raytrain-predict runs a predict function in the same way:
 *
 *     int predict_func(raytrain_context *ctx, raytrain_predictor *p);
 *
 * CONVENTIONS
 *
 * Status.   Functions that can fail return RAYTRAIN_OK (0) or another
 *           raytrain_status, and leave a sentence for raytrain_last_error().
 *           The library never prints and never exits (raytrain_main() does).
 *           On failure, outputs are unchanged unless a function says otherwise.
 * NULL.     Passing NULL for a required object is RAYTRAIN_EINVAL, never a crash.
 *           Every destroy/close accepts NULL.
 * Memory.   Tensors and buffers belong to the caller. The library copies what it
 *           keeps, unless a function says otherwise.
 * Threads.  A context and its objects belong to the thread that runs the training
 *           function; only that thread may use them.
 * Ranks.    All workers must make calls marked COLLECTIVE, in the same order and
 *           with matching arguments. Results marked "same on every rank" may
 *           decide about later collective calls.
 * Shapes.   Tensors are dense, row-major (C order), at most RAYTRAIN_MAX_DIMS
 *           dimensions. Sizes are in elements unless a name says bytes.
 */
#ifndef RAYTRAIN_H
#define RAYTRAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RAYTRAIN_API __attribute__((visibility("default")))
#else
#define RAYTRAIN_API
#endif

/* The version of this header; raytrain_version() returns that of the library. */
#define RAYTRAIN_VERSION_MAJOR 0
#define RAYTRAIN_VERSION_MINOR 1
#define RAYTRAIN_VERSION_PATCH 0
/* For #if: is this header of version major.minor or later? */
#define RAYTRAIN_VERSION_AT_LEAST(major, minor)                                        \
    (RAYTRAIN_VERSION_MAJOR > (major) ||                                               \
     (RAYTRAIN_VERSION_MAJOR == (major) && RAYTRAIN_VERSION_MINOR >= (minor)))

#define RAYTRAIN_MAX_DIMS 8  /* dimensions of a tensor */
#define RAYTRAIN_NAME_MAX 255 /* bytes of a metric's or tensor's name, without the NUL */

typedef struct raytrain_context raytrain_context;       /* the session of this worker */
typedef struct raytrain_checkpoint raytrain_checkpoint; /* being written, or read */
typedef struct raytrain_dataset raytrain_dataset;       /* this worker's shard */
typedef struct raytrain_reducer raytrain_reducer;       /* gradient buckets */
typedef struct raytrain_predictor raytrain_predictor;   /* a prediction */
typedef struct raytrain_batch raytrain_batch;           /* rows for a batch mapper */

/* What went wrong; raytrain_status_name() describes it. */
typedef enum raytrain_status {
    RAYTRAIN_OK = 0,
    RAYTRAIN_EINVAL,    /* a bad argument, or a bad value in the configuration */
    RAYTRAIN_ETYPE,     /* a value has another type or shape than expected */
    RAYTRAIN_ENOTFOUND, /* no such name, no such file */
    RAYTRAIN_ENOMEM,    /* out of memory */
    RAYTRAIN_EFIT,      /* does not fit the allocation or the machine */
    RAYTRAIN_ESTORAGE,  /* no space, no permission, an I/O error */
    RAYTRAIN_ECORRUPT,  /* a file is truncated, damaged or not what it claims */
    RAYTRAIN_ECOMM,     /* the workers could not communicate, or did not agree */
    RAYTRAIN_EFAILED,   /* the training failed */
    RAYTRAIN_ESTOPPED,  /* stopped on request */
    RAYTRAIN_EUSAGE,    /* an invalid command line */
    RAYTRAIN_ENOTSUP,   /* not available in this version or build */
    RAYTRAIN_END        /* not an error: the epoch has no more batches */
} raytrain_status;

/* A short constant name, such as "not found". Never NULL. */
RAYTRAIN_API const char *raytrain_status_name(int status);

/* The version of the library, "MAJOR.MINOR.PATCH". */
RAYTRAIN_API const char *raytrain_version(void);

/* ---- Element types and tensors ---- */

typedef enum raytrain_dtype {
    RAYTRAIN_FLOAT32 = 1,
    RAYTRAIN_FLOAT64,
    RAYTRAIN_FLOAT16,  /* IEEE binary16 */
    RAYTRAIN_BFLOAT16, /* the upper 16 bits of a float32 */
    RAYTRAIN_INT8,
    RAYTRAIN_INT16,
    RAYTRAIN_INT32,
    RAYTRAIN_INT64,
    RAYTRAIN_UINT8,
    RAYTRAIN_UINT16,
    RAYTRAIN_UINT32,
    RAYTRAIN_UINT64,
    RAYTRAIN_BYTES /* opaque bytes, one per element */
} raytrain_dtype;

/* Bytes of one element; 0 for an unknown type. */
RAYTRAIN_API size_t raytrain_dtype_size(raytrain_dtype dtype);
/* "float32", "int64", ...; "unknown" for an unknown type. */
RAYTRAIN_API const char *raytrain_dtype_name(raytrain_dtype dtype);

/* Where the data of a tensor are. A call that does not take this device returns
 * RAYTRAIN_ENOTSUP and does not touch the data. "Memory of devices" below lists the
 * calls that take GPUs. */
typedef enum raytrain_device {
    RAYTRAIN_HOST = 0,
    RAYTRAIN_CUDA, /* memory of an NVIDIA GPU, as cudaMalloc() returns it */
    RAYTRAIN_HIP   /* memory of an AMD GPU, as hipMalloc() returns it */
} raytrain_device;

/*
 * A view of dense row-major memory, which it does not own. A scalar has ndim 0. A
 * dimension of 0 makes the tensor empty; its data may be NULL.
 *
 * Initialise a tensor as below, so that members that are not named are zero, which
 * means host memory. A value other than 0 in `reserved` is RAYTRAIN_EINVAL: it may get
 * a meaning later.
 *
 *     raytrain_tensor weight = {
 *         .data = w, .dtype = RAYTRAIN_FLOAT32, .ndim = 2, .shape = {256, 784}};
 */
typedef struct raytrain_tensor {
    void *data;
    raytrain_dtype dtype;
    int ndim;
    uint64_t shape[RAYTRAIN_MAX_DIMS];
    int device;    /* a raytrain_device */
    int device_id; /* its number, as in cudaSetDevice(); 0 for the host */
    uint64_t reserved[2];
} raytrain_tensor;

/* A box in a global shape: along axis i, count[i] elements from start[i] on. */
typedef struct raytrain_slab {
    uint64_t start[RAYTRAIN_MAX_DIMS];
    uint64_t count[RAYTRAIN_MAX_DIMS];
} raytrain_slab;

/* ---- The worker's place in the group ---- */

/* All return -1 if ctx is NULL. rank is 0 .. world_size - 1, over all nodes; local_rank
 * is 0 .. local_world_size - 1, on this node; node_rank is 0 .. node_count - 1. */
RAYTRAIN_API int raytrain_rank(const raytrain_context *ctx);
RAYTRAIN_API int raytrain_world_size(const raytrain_context *ctx);
RAYTRAIN_API int raytrain_local_rank(const raytrain_context *ctx);
RAYTRAIN_API int raytrain_local_world_size(const raytrain_context *ctx);
RAYTRAIN_API int raytrain_node_rank(const raytrain_context *ctx);
RAYTRAIN_API int raytrain_node_count(const raytrain_context *ctx);

/* Returns the number of arguments after the training function on the command line.
 * *argv gets the arguments and, after them, a NULL. Owned by ctx. */
RAYTRAIN_API int raytrain_args(const raytrain_context *ctx, char ***argv);

/* ---- The run ---- */

/* The name of the run, and the absolute path of its directory, which all ranks share.
 * Owned by ctx; NULL if ctx is NULL. raytrain-format(5) describes the files there. A
 * training function does not write to this directory, but to the one of
 * raytrain_artifacts_dir(). */
RAYTRAIN_API const char *raytrain_run_name(const raytrain_context *ctx);
RAYTRAIN_API const char *raytrain_run_dir(const raytrain_context *ctx);
/*
 * A directory for the training function's own files, RUN/artifacts, which the first call
 * creates. The library never writes, reads or removes anything in it. All ranks and all
 * attempts share it, so each rank uses names of its own. Owned by ctx. NULL on failure,
 * with a sentence for raytrain_last_error().
 */
RAYTRAIN_API const char *raytrain_artifacts_dir(raytrain_context *ctx);

/*
 * A sentence about the latest call on ctx that failed; "" if none has failed. Owned by
 * ctx, valid until the next call. If ctx is NULL, the sentence says so.
 */
RAYTRAIN_API const char *raytrain_last_error(const raytrain_context *ctx);
/* The raytrain_status of that call, which is needed if it returned NULL instead of a
 * status. RAYTRAIN_OK if none has failed. */
RAYTRAIN_API int raytrain_last_status(const raytrain_context *ctx);

/* ---- train_loop_config ---- */
/*
 * Look up a key; a dot enters a group ("optimizer.lr"). If the key is missing, *value
 * is the fallback, and the status RAYTRAIN_OK. A value of another type is
 * RAYTRAIN_ETYPE; the sentence names the key, the expected type and the type found. An
 * integer is accepted as a double. Strings and arrays that are found belong to ctx; a
 * fallback is returned as it was passed.
 */
RAYTRAIN_API int raytrain_config_int(raytrain_context *ctx, const char *key,
                                     int64_t fallback, int64_t *value);
RAYTRAIN_API int raytrain_config_double(raytrain_context *ctx, const char *key,
                                        double fallback, double *value);
RAYTRAIN_API int raytrain_config_bool(raytrain_context *ctx, const char *key,
                                      bool fallback, bool *value);
RAYTRAIN_API int raytrain_config_string(raytrain_context *ctx, const char *key,
                                        const char *fallback, const char **value);
/* An array of integers, such as hidden = [256, 128]. */
RAYTRAIN_API int raytrain_config_int_array(raytrain_context *ctx, const char *key,
                                           const int64_t *fallback, size_t n_fallback,
                                           const int64_t **values, size_t *n_values);
RAYTRAIN_API int raytrain_config_double_array(raytrain_context *ctx, const char *key,
                                              const double *fallback, size_t n_fallback,
                                              const double **values, size_t *n_values);

/* ---- Communication (all COLLECTIVE) ---- */

/* If workers do not make the same collective calls in the same order with matching
 * arguments, all get RAYTRAIN_ECOMM and a sentence that says what each of them
 * called. */

typedef enum raytrain_op {
    RAYTRAIN_SUM = 1,
    RAYTRAIN_MEAN,
    RAYTRAIN_MAX,
    RAYTRAIN_MIN
} raytrain_op;

/*
 * Combine data[0..n) over all workers, in place. The result has the same bits on every
 * rank, and in every run with the same number of workers in the same places. dtype is
 * FLOAT32, FLOAT64, FLOAT16, BFLOAT16 or INT64; MEAN of INT64 is RAYTRAIN_EINVAL.
 * 16-bit floats are combined as float32 and rounded once, at the end. MIN and MAX
 * ignore NaNs, unless all values are NaN. The call does not occupy a core while it
 * waits.
 */
RAYTRAIN_API int raytrain_allreduce(raytrain_context *ctx, void *data, size_t n,
                                    raytrain_dtype dtype, raytrain_op op);
/* The common case: mean of float32, in place. */
RAYTRAIN_API int raytrain_allreduce_mean(raytrain_context *ctx, float *data, size_t n);
/* Copy the bytes of rank `root` to all ranks. */
RAYTRAIN_API int raytrain_broadcast(raytrain_context *ctx, void *data, size_t n_bytes,
                                    int root);
/* Collect n_bytes from each worker, the same number from all, on every worker: recv has
 * room for world_size x n_bytes and gets them in the order of the ranks. The buffers
 * must not overlap. */
RAYTRAIN_API int raytrain_allgather(raytrain_context *ctx, const void *send,
                                    size_t n_bytes, void *recv);
/* Returns when all workers have called it. */
RAYTRAIN_API int raytrain_barrier(raytrain_context *ctx);

/*
 * The same with tensors, which may be in GPU memory ("Memory of devices" below): all
 * elements of a tensor, in place. In allgather, `recv` has world_size times as many
 * elements as `send`, in any shape (else RAYTRAIN_ETYPE). These calls match those
 * above, so some ranks may have their data on the host and others on GPUs.
 *
 * If all ranks have their tensors on GPUs, each rank on a GPU of its own, NCCL combines
 * and copies them there. The first such call opens libnccl.so.2, of NCCL 2.10 or later.
 * The operation is queued on the caller's stream ("Memory of devices" below), and the
 * call returns once it is queued: work that is queued there later sees the result, and
 * the host sees it after it has waited for the stream. Until then the memory must stay
 * allocated. The result has the same bits on every rank, but not those that the host
 * would compute: 16-bit floats are rounded after each addition, values are divided
 * before a mean adds them, and NCCL decides about NaNs. NCCL serves only the GPU of the
 * first such call; a call with a tensor on another GPU goes through host memory.
 *
 * Otherwise the data on a GPU are copied to host memory and back, for which the call
 * needs as much host memory as the tensors have. The result has the same bits as a call
 * in host memory, and is complete when the call returns. Broadcast and allgather give
 * the GPU memory to MPI without copies if the MPI library says that it takes such
 * memory ("CUDA-aware"). If NCCL is missing or too old, or if ranks share a GPU, a
 * warning says so once. If NCCL is there and fails, run_config.device_collectives
 * decides whether that is an error (raytrain.cfg(5)).
 *
 * If NCCL reports an error, even if another rank has caused it or the call has already
 * returned, the contents of the tensor are undefined, and kernels that wait for NCCL
 * end. The next call of raytrain that is COLLECTIVE or copies from a GPU then returns
 * RAYTRAIN_ECOMM, so that no checkpoint gets the undefined contents; the training
 * function should return that status.
 */
RAYTRAIN_API int raytrain_allreduce_tensor(raytrain_context *ctx,
                                           const raytrain_tensor *tensor, raytrain_op op);
RAYTRAIN_API int raytrain_broadcast_tensor(raytrain_context *ctx,
                                           const raytrain_tensor *tensor, int root);
RAYTRAIN_API int raytrain_allgather_tensor(raytrain_context *ctx,
                                           const raytrain_tensor *send,
                                           const raytrain_tensor *recv);

/*
 * Gradient averaging that overlaps with the backward pass (the design of PyTorch DDP,
 * Li et al., VLDB 2020). Pass all gradient tensors to create, in the order in which the
 * backward pass completes them. Their types are FLOAT32, FLOAT64, FLOAT16 or BFLOAT16,
 * which may be mixed (any other type is RAYTRAIN_EINVAL). They are grouped into buckets
 * of one type and of about bucket_bytes (0: a good default); a bucket is reduced as
 * soon as all its tensors are ready. Tensors that are adjacent in memory, in the same
 * order on every rank, are reduced in place; others are copied to the bucket and back.
 * On a GPU, only tensors in the same allocation count as adjacent. 16-bit floats are
 * copied to a bucket of float32, averaged, and rounded once, at the end. The gradients
 * must stay at the same address until destroy.
 *
 * Memory that the reducer allocates is fastest: workers that share a node average
 * gradients in it in place, without messages. A tensor whose data is NULL gets such
 * memory, zero at first and contiguous with the others in index order, except that a
 * tensor whose type differs from that of the one before begins at a multiple of 64
 * bytes. data must be NULL for the same tensors on every rank. raytrain_reducer_data()
 * returns the address of tensor i (NULL for a bad argument); the reducer owns it until
 * destroy.
 *
 *     raytrain_reducer_create(ctx, grads, n, 0, &reducer);
 *     every step:  ... raytrain_reducer_ready(reducer, i) as each gradient is complete;
 *                  raytrain_reducer_wait(reducer);      all gradients are means now
 *
 * In each step, call ready(i) once for each i, in any order that is the same on every
 * rank; wait() before that is RAYTRAIN_EINVAL. Buckets always start in index order.
 *
 * Gradients may be on a GPU ("Memory of devices" below): all of a rank on the same GPU,
 * and on all ranks or on none. Memory that the reducer allocates is then on this GPU,
 * too. ready(i) means that the work that the caller has queued on its stream so far
 * completes gradient i, and does not wait for this work. Work that the caller queues on
 * its stream after wait() sees the means. destroy waits for the work that was queued on
 * the GPU. If each rank has a GPU of its own, and NCCL (libnccl.so.2) is there, NCCL
 * averages the buckets in place, and the host does not wait. 16-bit floats are then
 * rounded as NCCL does it, and the means have the same bits on every rank. A failure of
 * NCCL is RAYTRAIN_ECOMM of a later wait. Otherwise, which a warning says once, buckets
 * are copied to host memory and back while the caller's stream works. The means then
 * have the same bits as on the host, and wait() returns when the gradients of all ranks
 * have been combined.
 */
RAYTRAIN_API int raytrain_reducer_create(raytrain_context *ctx,
                                         const raytrain_tensor grads[], size_t n,
                                         size_t bucket_bytes, raytrain_reducer **reducer);
RAYTRAIN_API void *raytrain_reducer_data(raytrain_reducer *reducer, size_t i);
RAYTRAIN_API int raytrain_reducer_ready(raytrain_reducer *reducer, size_t i);
RAYTRAIN_API int raytrain_reducer_wait(raytrain_reducer *reducer);
RAYTRAIN_API void raytrain_reducer_destroy(raytrain_reducer *reducer);

/*
 * Weight-update sharding (Xu et al., arXiv:2004.13336): each rank updates a part of the
 * parameters and gets the other parts from the other ranks. The update takes
 * 1/size of the time, and so does the memory of the optimizer if it keeps state for
 * its part alone.
 *
 * create_sharded (COLLECTIVE) is create with the parameters of the first n_params
 * gradients: they have the same shapes, any type, memory as above (NULL: the reducer
 * allocates it), and are on the GPU of the gradients if those are on one. Other
 * gradients, such as a number of rows, are averaged on every rank. Then:
 *
 *     every step:  ... raytrain_reducer_ready(reducer, i) for all gradients;
 *                  raytrain_reducer_wait(reducer);     this rank's parts are means now
 *                  for each parameter i:
 *                      raytrain_reducer_shard(reducer, i, NULL, &first, &n);
 *                      update elements first .. first + n - 1 of parameter i
 *                  raytrain_reducer_gather(reducer);   all ranks have all parameters
 *
 * shard says which elements of tensor i, in memory order, this rank updates: whole rows
 * of the first dimension, maybe none. (A tensor without dimensions belongs to one
 * rank.) They never change, and each rank has about the same number of elements in each
 * bucket. *slab, unless NULL, describes them as a slab, for
 * raytrain_checkpoint_put_shard() of the optimizer's state. After wait, other elements
 * of gradients are undefined. gather (COLLECTIVE) may be called at any time when no
 * gradient is being averaged (else RAYTRAIN_EINVAL), any number of times. Every rank
 * then has the bits of the rank that updated them. On a GPU, gather is queued on the
 * caller's stream; the host waits for the other ranks, unless NCCL is used.
 *
 * param returns the address of parameter i, NULL for a bad argument. Memory that the
 * reducer allocated belongs to it until destroy. If the reducer is not sharded, shard
 * and gather return RAYTRAIN_EINVAL, and param NULL.
 */
RAYTRAIN_API int raytrain_reducer_create_sharded(raytrain_context *ctx,
                                                 const raytrain_tensor grads[], size_t n,
                                                 const raytrain_tensor params[],
                                                 size_t n_params, size_t bucket_bytes,
                                                 raytrain_reducer **reducer);
RAYTRAIN_API void *raytrain_reducer_param(raytrain_reducer *reducer, size_t i);
RAYTRAIN_API int raytrain_reducer_shard(raytrain_reducer *reducer, size_t i,
                                        raytrain_slab *slab, size_t *first, size_t *n);
RAYTRAIN_API int raytrain_reducer_gather(raytrain_reducer *reducer);

/* ---- Checkpoints ---- */

/*
 * Write. create makes an empty checkpoint. put adds a tensor that is the same on every
 * rank ("replicated": each rank writes some of it). put_shard adds this rank's slab of
 * a tensor: tensor->shape is the global shape, tensor->data has the dense elements of
 * the slab. Together the slabs of all ranks must cover the global shape; a slab may be
 * empty. Two slabs are equal or have no element in common. Equal slabs, such as those
 * of replicas of a model, contain the same elements; they are stored once.
 *
 * Names are paths such as "model/fc1/weight". Each component is 1..RAYTRAIN_NAME_MAX
 * bytes of printable UTF-8, and not "." or ".."; "raytrain" is reserved as the first
 * one. The data are not copied by these calls: raytrain_report() reads them. They must
 * stay at their address until then, and what they contain during that call is saved.
 * (After raytrain_checkpoint_overlap() they must not change for longer.) All ranks put
 * the same names, types and shapes in the same order.
 */
RAYTRAIN_API raytrain_checkpoint *raytrain_checkpoint_create(raytrain_context *ctx);
RAYTRAIN_API int raytrain_checkpoint_put(raytrain_checkpoint *ck, const char *name,
                                         const raytrain_tensor *tensor);
RAYTRAIN_API int raytrain_checkpoint_put_shard(raytrain_checkpoint *ck, const char *name,
                                               const raytrain_tensor *tensor,
                                               const raytrain_slab *slab);
/* A NUL-terminated string; stored as an HDF5 string. */
RAYTRAIN_API int raytrain_checkpoint_put_string(raytrain_checkpoint *ck, const char *name,
                                                const char *value);
/*
 * Put a tensor (slab NULL) or a slab of one, and hand its memory over: it is not copied,
 * and must not change until the library calls release(tensor->data, arg). It does this
 * in the thread of the training function, once the data are written (GPU memory: once
 * they are copied), within a later raytrain_report(), raytrain_checkpoint_wait(),
 * raytrain_checkpoint_discard() or at the end of the run. If give fails, the memory
 * remains the caller's.
 */
typedef void (*raytrain_release)(void *data, void *arg);
RAYTRAIN_API int raytrain_checkpoint_give(raytrain_checkpoint *ck, const char *name,
                                          const raytrain_tensor *tensor,
                                          const raytrain_slab *slab,
                                          raytrain_release release, void *arg);
/*
 * Attach bytes, or the present contents of a regular file, which are stored as the
 * dataset "files/NAME". Names are as above. Attachments belong to single ranks: any
 * rank may attach any number of them, but two ranks must not use the same name
 * (RAYTRAIN_EINVAL of the report). Bytes are not copied, as with put; a file is read
 * into memory at once. Any rank of a later run can read each of them.
 */
RAYTRAIN_API int raytrain_checkpoint_put_bytes(raytrain_checkpoint *ck,
                                               const char *name, const void *data,
                                               size_t n);
RAYTRAIN_API int raytrain_checkpoint_put_file(raytrain_checkpoint *ck, const char *name,
                                              const char *path);
/* Free a checkpoint that will not be reported. */
RAYTRAIN_API void raytrain_checkpoint_discard(raytrain_checkpoint *ck);

/*
 * Memory of devices. put, put_shard, give, get, get_shard, the collectives of tensors and
 * reducers take tensors on NVIDIA GPUs, with device = RAYTRAIN_CUDA, and datasets can
 * have their batches there; no other call takes such memory. The first such call opens
 * the library of the driver, libcuda.so.1 of CUDA 11.0 or later. It is RAYTRAIN_ENOTSUP
 * if the library is missing or too old, RAYTRAIN_EFAILED if it reports an error. data
 * is memory of the primary context of GPU device_id, as cudaMalloc() allocates it.
 * Memory of another GPU, of the host, or freed memory is RAYTRAIN_EINVAL;
 * raytrain_report() checks this again.
 *
 * RAYTRAIN_HIP is the same for AMD GPUs, with libamdhip64.so of ROCm 5.0 or later and
 * the functions of HIP.
 *
 * raytrain_report() copies the tensors that were put or given before it returns, except
 * as described at raytrain_checkpoint_overlap() below. get and collectives without NCCL
 * also copy before they return; reducers copy in the background. All of them wait for
 * the work that this process has queued on one stream of the GPU: that of the latest
 * raytrain_set_stream() for this GPU, or the legacy default stream. They do not wait
 * for work in other streams: let that stream wait for it, by cudaStreamWaitEvent(), or
 * synchronise. The current GPU of the thread is the same afterwards. raytrain-gpu(7)
 * lists what was tested with a GPU.
 *
 * raytrain_set_stream takes a cudaStream_t, CUstream or hipStream_t, which must exist until
 * another one is set; NULL is the default stream. It is not collective, and does not wait.
 * RAYTRAIN_EINVAL for RAYTRAIN_HOST and for a GPU that does not exist; other errors as
 * above.
 */
RAYTRAIN_API int raytrain_set_stream(raytrain_context *ctx, raytrain_device device,
                                     int device_id, void *stream);

/*
 * Copies from GPUs that overlap with training. raytrain_report() only starts the copies
 * of tensors on GPUs that were given, since these do not change until they are released,
 * and of all tensors on GPUs in a checkpoint for which raytrain_checkpoint_overlap()
 * was called. With this call the caller promises not to change or free them until
 * raytrain_checkpoint_fence(). The fence makes the stream of each GPU on which this
 * process works (see above) wait for the copies, and returns at once: what is queued
 * there later may change the tensors. So the copies take place during the forward and
 * backward pass of the next step, which only read the parameters:
 *
 *     raytrain_checkpoint_overlap(ck);    before raytrain_report(ctx, ..., ck)
 *     every step:  ... forward and backward pass;
 *                  raytrain_checkpoint_fence(ctx);
 *                  the optimizer's update
 *
 * Anything else that changes or frees the tensors, from the host or in other streams,
 * must come after that: synchronise the stream after the fence, or let the other stream
 * wait for it. After a later report with a checkpoint, or raytrain_checkpoint_wait(),
 * no copy is in progress. If host memory cannot be pinned, or in the mode "sync",
 * raytrain_report() copies before it returns. If a copy fails, the save fails. fence
 * does nothing if there is nothing to wait for. Neither call affects tensors in host
 * memory.
 */
RAYTRAIN_API int raytrain_checkpoint_overlap(raytrain_checkpoint *ck);
RAYTRAIN_API int raytrain_checkpoint_fence(raytrain_context *ctx);

/*
 * The checkpoint from which this attempt starts; NULL on a fresh start. Same on every
 * rank. It is verified, unless it is a plain HDF5 file
 * (raytrain_checkpoint_is_verified()). Owned by ctx. Another number of workers may have
 * written it.
 */
RAYTRAIN_API raytrain_checkpoint *raytrain_get_checkpoint(raytrain_context *ctx);

/*
 * Read. Not collective: each rank reads what it needs. info sets dtype, ndim and shape,
 * and data to NULL. get reads a whole tensor into tensor->data; dtype, ndim and shape
 * must equal the stored ones (RAYTRAIN_ETYPE otherwise). get_shard reads the dense
 * elements of a slab; tensor->shape is the global shape. get_string allocates *value;
 * the caller frees it with free().
 */
RAYTRAIN_API int raytrain_checkpoint_info(raytrain_checkpoint *ck, const char *name,
                                          raytrain_tensor *info);
RAYTRAIN_API int raytrain_checkpoint_get(raytrain_checkpoint *ck, const char *name,
                                         const raytrain_tensor *tensor);
RAYTRAIN_API int raytrain_checkpoint_get_shard(raytrain_checkpoint *ck, const char *name,
                                               const raytrain_tensor *tensor,
                                               const raytrain_slab *slab);
RAYTRAIN_API int raytrain_checkpoint_get_string(raytrain_checkpoint *ck, const char *name,
                                                char **value);
/* Read an attachment. get_bytes allocates *n bytes and a NUL after them, which the
 * caller frees with free(). get_file writes them to a file, which replaces an existing
 * one once it is complete. */
RAYTRAIN_API int raytrain_checkpoint_get_bytes(raytrain_checkpoint *ck,
                                               const char *name, void **data,
                                               size_t *n);
RAYTRAIN_API int raytrain_checkpoint_get_file(raytrain_checkpoint *ck, const char *name,
                                              const char *path);
/* The training_iteration of its report. */
RAYTRAIN_API int64_t raytrain_checkpoint_iteration(const raytrain_checkpoint *ck);
/* A metric of that report: the mean, or rank 0's value if it was reported from Python.
 * RAYTRAIN_ENOTFOUND if the report has no metric of this name. */
RAYTRAIN_API int raytrain_checkpoint_metric(const raytrain_checkpoint *ck,
                                            const char *name, double *value);

/*
 * COLLECTIVE, with the same path. Open any checkpoint to read it. path is a checkpoint
 * file, of this run or of another one; a plain HDF5 file that another program wrote; or
 * the directory of a run (NULL: this run), which means its best checkpoint by the score
 * of its configuration, or the newest if it has no score. A relative path is relative
 * to rank 0's working directory. If the file is in the directory of this run, the call
 * waits for saves in progress. NULL on failure, on every rank, with RAYTRAIN_ENOTFOUND,
 * RAYTRAIN_ESTORAGE or RAYTRAIN_ECORRUPT (a damaged file, or another kind of file) from
 * raytrain_last_status().
 *
 * A checkpoint is verified before this returns; a plain HDF5 file cannot be verified,
 * since it has no checksums. Its datasets of numbers or of single bytes with at most
 * RAYTRAIN_MAX_DIMS dimensions are tensors, in any byte order, with or without chunks
 * and compression; its single strings are strings. The name of each is its path without
 * the first slash. Other datasets, and those with elements in other files, are
 * RAYTRAIN_ENOTSUP; links to other files are not followed. It has iteration 0 and no
 * metrics.
 *
 * Owned by ctx. Several may be open; those that are not closed are closed when the
 * training ends.
 */
RAYTRAIN_API raytrain_checkpoint *raytrain_checkpoint_open(raytrain_context *ctx,
                                                           const char *path);
/*
 * Free a checkpoint that was opened, or the one of raytrain_get_checkpoint(), which
 * returns NULL from then on. Not collective. Nothing may use ck or its names after
 * that.
 */
RAYTRAIN_API void raytrain_checkpoint_close(raytrain_checkpoint *ck);
/* True if checksums have verified all of it. False for a plain HDF5 file, for a
 * checkpoint that is being written, and for NULL. */
RAYTRAIN_API bool raytrain_checkpoint_is_verified(const raytrain_checkpoint *ck);
/*
 * The i-th name of a tensor or string in a checkpoint that is open to be read; NULL
 * after the last. They are in the order in which they were put; in a plain HDF5 file,
 * sorted in each group. Owned by ck.
 *
 *     for (size_t i = 0; (name = raytrain_checkpoint_name(ck, i)); i++)
 *         ...
 */
RAYTRAIN_API const char *raytrain_checkpoint_name(const raytrain_checkpoint *ck,
                                                  size_t i);

/* ---- Report ---- */

typedef struct raytrain_metric {
    const char *name; /* [A-Za-z_][A-Za-z0-9_./@-]*, and not a name that every report
                         has, such as time_total_s or checkpoint_bytes; the same
                         names in the same order on every rank */
    double value;     /* of this rank; NaN is recorded, with a warning */
} raytrain_metric;

/*
 * COLLECTIVE. End one training iteration: combine the metrics over all ranks (rank 0's
 * value, the mean, the minimum and the maximum are recorded), save ck unless it is NULL
 * (on all ranks or none), and agree on whether to stop. ck is consumed, even on
 * failure.
 *
 * With run_config.checkpoint_config.mode = "async", the default, it copies the tensors'
 * data and returns. They are written in the background, one checkpoint after the other;
 * a later report with a checkpoint, or the end of the run, waits until the checkpoint
 * is durable. With "sync" it is durable when this returns RAYTRAIN_OK.
 *
 * A failed save leaves earlier checkpoints as they were. It is RAYTRAIN_ESTORAGE on
 * every rank: with "sync" of this report, with "async" of a later one or at the end of
 * the run.
 */
RAYTRAIN_API int raytrain_report(raytrain_context *ctx, const raytrain_metric metrics[],
                                 size_t n_metrics, raytrain_checkpoint *ck);

/*
 * COLLECTIVE. The same with the metrics of rank 0 only: its names and values are
 * recorded as if every rank had reported them, and the metrics of other ranks are
 * ignored. Either all ranks make this call, or all call raytrain_report().
 */
RAYTRAIN_API int raytrain_report_rank0(raytrain_context *ctx,
                                       const raytrain_metric metrics[],
                                       size_t n_metrics, raytrain_checkpoint *ck);

/* The limits of a metric: bytes of a text, elements of a vector. */
#define RAYTRAIN_METRIC_TEXT_MAX 4096
#define RAYTRAIN_METRIC_VECTOR_MAX 1024

/*
 * Metrics that are not combined over the ranks: an exact integer, a text (UTF-8, at most
 * RAYTRAIN_METRIC_TEXT_MAX bytes), a small vector (1 to RAYTRAIN_METRIC_VECTOR_MAX
 * elements). They are part of the next report, even if that fails; the values of rank 0
 * are recorded, those of other ranks are ignored. A name that is set again before the
 * report gets the later value; it must not be the name of a number in the same report.
 * They are not stored in checkpoints, and run_config.stop ignores them. RAYTRAIN_EINVAL
 * for a bad name, a text that is too long or not UTF-8, or a wrong number of elements.
 */
RAYTRAIN_API int raytrain_set_metric_int64(raytrain_context *ctx, const char *name,
                                           int64_t value);
RAYTRAIN_API int raytrain_set_metric_text(raytrain_context *ctx, const char *name,
                                          const char *text);
/* NaN is recorded as missing. */
RAYTRAIN_API int raytrain_set_metric_vector(raytrain_context *ctx, const char *name,
                                            const double values[], size_t n);

/*
 * COLLECTIVE. Wait until every reported checkpoint is durable, that is, on the storage
 * of the run, where it survives the loss of all nodes. RAYTRAIN_ESTORAGE on every rank
 * if one of them could not be saved.
 */
RAYTRAIN_API int raytrain_checkpoint_wait(raytrain_context *ctx);
/* The training_iteration of the newest durable checkpoint of this run, as far as this
 * rank knows; 0 if there is none. It may differ between ranks, so do not decide about
 * collective calls by it. */
RAYTRAIN_API int64_t raytrain_durable_iteration(const raytrain_context *ctx);

/*
 * True once a stop was requested (by a signal, by the approaching end of the
 * allocation, or by run_config.stop) and a report has passed the request on to all
 * ranks. Same on every rank; changes only inside raytrain_report(). False if ctx is
 * NULL.
 */
RAYTRAIN_API bool raytrain_should_stop(const raytrain_context *ctx);

/*
 * Is a checkpoint due with the next report? True if it completes
 * run_config.checkpoint_config.checkpoint_frequency iterations, if
 * checkpoint_interval_s seconds have passed since the latest checkpoint, if neither is
 * set, or if a stop is coming. Same on every rank; changes only inside
 * raytrain_report(). False if ctx is NULL.
 *
 *     do {
 *         train(model);                               one iteration
 *         ck = NULL;
 *         if (raytrain_should_checkpoint(ctx) || is_last_iteration) {
 *             ck = raytrain_checkpoint_create(ctx);
 *             raytrain_checkpoint_put(ck, "model/weight", &weight);
 *         }
 *         rc = raytrain_report(ctx, metrics, n_metrics, ck);
 *     } while (rc == RAYTRAIN_OK && !is_last_iteration && !raytrain_should_stop(ctx));
 *
 * A training function that calls this is not stopped without a checkpoint: if a report
 * without one has passed on the request to stop, this becomes true, and
 * raytrain_should_stop() becomes true with the next report.
 */
RAYTRAIN_API bool raytrain_should_checkpoint(raytrain_context *ctx);

/* The number of reports so far, over all attempts; 0 on a fresh start. Same on every
 * rank. */
RAYTRAIN_API int64_t raytrain_training_iteration(const raytrain_context *ctx);

/*
 * Set the expected number of iterations, over all attempts. The display of progress
 * shows it and estimates the remaining time; it does not limit the run. Not collective;
 * the value of rank 0 is used. A later call replaces it; 0 means that the number is
 * unknown. RAYTRAIN_EINVAL if it is negative.
 */
RAYTRAIN_API int raytrain_set_total(raytrain_context *ctx, int64_t iterations);

/* ---- Random numbers ---- */
/*
 * Counter-based streams (Philox4x32-10, Salmon et al., SC11), seeded by `seed` of the
 * configuration. RAYTRAIN_STREAM_RANK is this worker's own stream;
 * RAYTRAIN_STREAM_SHARED yields the same numbers on every rank as long as all ranks
 * make the same calls. Checkpoints contain the state of both.
 */
typedef enum raytrain_stream { RAYTRAIN_STREAM_RANK, RAYTRAIN_STREAM_SHARED } raytrain_stream;

RAYTRAIN_API uint64_t raytrain_random_u64(raytrain_context *ctx, raytrain_stream s);
RAYTRAIN_API double raytrain_random_uniform(raytrain_context *ctx, raytrain_stream s); /* [0,1) */
RAYTRAIN_API double raytrain_random_normal(raytrain_context *ctx, raytrain_stream s);  /* N(0,1) */

/* ---- Datasets ---- */

/*
 * COLLECTIVE. This worker's shard of the dataset `name` of the configuration, at the
 * position that is recorded in the checkpoint from which this attempt starts. Owned by
 * ctx. NULL on failure; with RAYTRAIN_ESTOPPED from raytrain_last_status() if a stop
 * was requested while text was converted: then return from the training function.
 *
 * Over all workers, each row is delivered once per epoch. The order depends only on the
 * seed and the epoch: global batch k of an epoch has the same rows on any number of
 * workers, as long as the number of workers times the batch size stays the same.
 */
RAYTRAIN_API raytrain_dataset *raytrain_get_dataset_shard(raytrain_context *ctx,
                                                          const char *name);
/* The number of rows over all workers. */
RAYTRAIN_API uint64_t raytrain_dataset_rows(const raytrain_dataset *ds);
/* The number of completed epochs, 0 at first. Same on every rank. */
RAYTRAIN_API uint64_t raytrain_dataset_epoch(const raytrain_dataset *ds);
/* Get dtype and shape of one row of a column; data is NULL. */
RAYTRAIN_API int raytrain_dataset_column_info(raytrain_dataset *ds, const char *column,
                                              raytrain_tensor *row);
/* Set the number of rows that each worker gets in a batch, the same on every rank.
 * Required before raytrain_dataset_next(). */
RAYTRAIN_API int raytrain_dataset_set_batch_size(raytrain_dataset *ds, uint64_t rows);
/*
 * Advance to the next batch. *rows is this worker's number of rows: the batch size,
 * except in the last batch of an epoch, in which the remaining rows are divided evenly,
 * so that a worker may get fewer or none. All ranks get the same number of batches.
 * RAYTRAIN_END ends the epoch (*rows is 0); the following call starts the next one. The
 * key last_batch of the dataset changes the last batch: "drop" leaves the remaining
 * rows out; "pad" fills the batch of each worker with rows from the epoch's start,
 * which come last.
 */
RAYTRAIN_API int raytrain_dataset_next(raytrain_dataset *ds, uint64_t *rows);
/*
 * Have batches in memory of a GPU (RAYTRAIN_CUDA, RAYTRAIN_HIP), or in host memory
 * again (RAYTRAIN_HOST and 0), from the next batch on; until then there is no current
 * batch. Not collective. Batches are still read and preprocessed on the host.
 * raytrain_dataset_column() then returns tensors on the GPU: numbers, and the codes of
 * words. raytrain_dataset_ragged() returns host memory as before; RAYTRAIN_ETYPE if all
 * columns are for that function.
 *
 * The next batch is copied, through pinned memory, while the GPU works on the current
 * one. raytrain_dataset_next() does not wait for the copy: what the process queues
 * later on its stream ("Memory of devices" above) comes after it. Work that is still in
 * this stream at the next call may still use the batch, whose memory is reused after
 * that work. Work in other streams must be ordered with this stream, after the call
 * that delivered the batch and before the next call. The process has memory for two
 * batches on the GPU, and as much pinned memory on the host.
 *
 * Errors: RAYTRAIN_EINVAL if the GPU does not exist, RAYTRAIN_ENOTSUP without its
 * library, others as in "Memory of devices"; later, from raytrain_dataset_next(),
 * RAYTRAIN_ENOMEM if the GPU does not have enough memory.
 */
RAYTRAIN_API int raytrain_dataset_to_device(raytrain_dataset *ds, raytrain_device device,
                                            int device_id);
/* The number of rows at the end of the current batch that "pad" has added; 0
 * otherwise. */
RAYTRAIN_API uint64_t raytrain_dataset_padding(const raytrain_dataset *ds);
/*
 * Get a column of the current batch; shape[0] is *rows. For a column of words it has
 * the code of each row's word (int32), -1 if the word is missing. Valid until the next
 * call of raytrain_dataset_next(). RAYTRAIN_ETYPE for a column of texts or of sparse
 * vectors.
 */
RAYTRAIN_API int raytrain_dataset_column(raytrain_dataset *ds, const char *column,
                                         raytrain_tensor *tensor);
/* Get the number of words of a column of words, in all rows of all workers: their codes
 * are 0 to *n - 1, the same on every rank. RAYTRAIN_ETYPE for other columns. */
RAYTRAIN_API int raytrain_dataset_words(raytrain_dataset *ds, const char *column,
                                        uint64_t *n);
/* The word of a code, which ends with a NUL; *bytes gets its length, unless bytes is
 * NULL. NULL if there is no such word. Owned by ds. */
RAYTRAIN_API const char *raytrain_dataset_word(raytrain_dataset *ds, const char *column,
                                               int64_t code, uint64_t *bytes);

/* Rows with any number of elements: row i has the elements values[offsets[i]] to
 * values[offsets[i + 1] - 1]. */
typedef struct raytrain_ragged {
    uint64_t rows;
    const uint64_t *offsets; /* rows + 1 of them; the first is 0 */
    const void *values;
    raytrain_dtype dtype; /* RAYTRAIN_UINT8 for the bytes of texts */
    /* For sparse vectors: the place of each value in its vector, and the length of all
     * vectors. For texts: NULL and 0. */
    const uint32_t *indices;
    uint64_t length;
} raytrain_ragged;

/* Get a column of texts or of sparse vectors of the current batch. Valid until the next
 * call of raytrain_dataset_next(). RAYTRAIN_ETYPE for other columns. */
RAYTRAIN_API int raytrain_dataset_ragged(raytrain_dataset *ds, const char *column,
                                         raytrain_ragged *out);

/* ---- Batch mappers ---- */

/*
 * The function of a preprocessor batch_mapper: it changes, adds and removes columns of
 * a batch of rows. Other columns stay as they are. It is found by its name,
 *
 *     preprocessor = ( { batch_mapper = { function = "add_ratio"; }; } );
 *
 * in the shared object of the training function or of the predict function, or in the
 * one that the key `library` names:
 *
 *     int add_ratio(raytrain_batch *batch)
 *     {
 *         raytrain_tensor a, b;
 *         void *ratio;
 *         int rc = raytrain_batch_column(batch, "a", &a);
 *
 *         if (rc == RAYTRAIN_OK)
 *             rc = raytrain_batch_column(batch, "b", &b);
 *         if (rc == RAYTRAIN_OK)
 *             rc = raytrain_batch_output(batch, "ratio", RAYTRAIN_FLOAT32, 0, NULL, &ratio);
 *         for (uint64_t i = 0; rc == RAYTRAIN_OK && i < raytrain_batch_rows(batch); i++)
 *             ((float *)ratio)[i] = ((float *)a.data)[i] / ((float *)b.data)[i];
 *         return rc;
 *     }
 *
 * It is called first with a batch without rows, maybe more than once, to find out which
 * columns it adds and removes; it must do the same in each batch. The result for a row
 * must depend on that row alone, since the rows of a batch depend on the number of
 * workers. If it returns a value other than 0, the call that needs the batch fails; if
 * this value is the status of a call below, the sentence of that call is reported.
 *
 * It runs in a thread that reads the next batch, and in the thread of the training
 * function; in several threads at once if several datasets are in use. So it must not
 * use static variables, or call functions of this header other than raytrain_batch_*().
 */
typedef int (*raytrain_map_func)(raytrain_batch *batch);

/* 0 if batch is NULL. */
RAYTRAIN_API uint64_t raytrain_batch_rows(const raytrain_batch *batch);
/*
 * Get a column as it was before the function, like raytrain_dataset_column(). Numbers
 * may be changed in place, codes of words may not. Valid until the function returns.
 */
RAYTRAIN_API int raytrain_batch_column(raytrain_batch *batch, const char *column,
                                       raytrain_tensor *tensor);
/* Get the number of words of a column of words: codes are 0 to *n - 1. */
RAYTRAIN_API int raytrain_batch_words(raytrain_batch *batch, const char *column,
                                      uint64_t *n);
/* The word of a code, like raytrain_dataset_word(). */
RAYTRAIN_API const char *raytrain_batch_word(raytrain_batch *batch, const char *column,
                                             int64_t code, uint64_t *bytes);
/* Get a column of texts or of sparse vectors, like raytrain_dataset_ragged(). */
RAYTRAIN_API int raytrain_batch_ragged(raytrain_batch *batch, const char *column,
                                       raytrain_ragged *out);

/*
 * Add a column of numbers, or replace the one of this name. dtype, ndim and shape
 * describe a row (ndim 0: a number; shape may then be NULL). *data has room for all
 * rows of the batch, dense, with undefined values; the function fills it before it
 * returns. Each name may be added once.
 */
RAYTRAIN_API int raytrain_batch_output(raytrain_batch *batch, const char *name,
                                       raytrain_dtype dtype, int ndim,
                                       const uint64_t shape[], void **data);
/* The same for a column of words. There are n different words, the same in each batch;
 * they are copied. The function fills *codes with the code of each row's word, 0 to n -
 * 1, or -1 if the word is missing. */
RAYTRAIN_API int raytrain_batch_output_words(raytrain_batch *batch, const char *name,
                                             const char *const words[], size_t n,
                                             int32_t **codes);
/* The same for a column of texts, or of sparse vectors if rows->length is not 0. dtype
 * and length are the same in each batch, and the indices of a row ascend. Everything is
 * copied. rows->rows is the number of rows of the batch; if it is 0, the pointers may
 * be NULL. */
RAYTRAIN_API int raytrain_batch_put_ragged(raytrain_batch *batch, const char *name,
                                           const raytrain_ragged *rows);
/* Remove a column. The function can still read it until it returns. */
RAYTRAIN_API int raytrain_batch_remove(raytrain_batch *batch, const char *column);
/* Give the reason of a failure, as in `return raytrain_batch_fail(batch,
 * RAYTRAIN_EINVAL, "an age is negative")`. Returns status, or RAYTRAIN_EFAILED if that
 * is not the status of a failure. */
RAYTRAIN_API int raytrain_batch_fail(raytrain_batch *batch, int status,
                                     const char *sentence);

/* ---- Predictions ---- */

/*
 * A predict function gets the rows of an input in batches, and predicts each row with
 * the model of the checkpoint, raytrain_get_checkpoint(ctx). It runs on every worker of
 * raytrain-predict, each with different rows; the predictions become one file, in the
 * order of the input.
 *
 *     raytrain_predictor_output(p, "probability", RAYTRAIN_FLOAT32, 1, &classes);
 *     while ((rc = raytrain_predictor_next(p, &rows)) == RAYTRAIN_OK) {
 *         raytrain_dataset_column(raytrain_predictor_dataset(p), "x", &x);
 *         apply(model, &x, probability);
 *         raytrain_predictor_put(p, "probability", probability);
 *     }
 *     return rc == RAYTRAIN_END ? 0 : rc;
 *
 * A batch has the same rows on any number of workers. The prediction for a row may
 * depend only on its batch, so that predictions are the same on any number of workers
 * and after an interruption. The function must not communicate with other workers
 * between batches, since workers may have different numbers of batches.
 */
typedef int (*raytrain_predict_func)(raytrain_context *ctx, raytrain_predictor *p);

/* Declare a column of the predictions: its name, and dtype and shape of one row (ndim
 * 0: a number; shape may then be NULL). Before the first call of
 * raytrain_predictor_next(), the same on every rank. */
RAYTRAIN_API int raytrain_predictor_output(raytrain_predictor *p, const char *name,
                                           raytrain_dtype dtype, int ndim,
                                           const uint64_t shape[]);
/* Set the number of rows in a batch (default 1024), before the first call of
 * raytrain_predictor_next(). --batch-size of raytrain-predict overrides it, so use
 * *rows of each batch. */
RAYTRAIN_API int raytrain_predictor_set_batch_size(raytrain_predictor *p, uint64_t rows);
/* The rows of the input, for raytrain_dataset_rows(), raytrain_dataset_column_info() and
 * raytrain_dataset_column(). Columns are those of the current batch, valid until the
 * next batch; only raytrain_predictor_next() advances it. Owned by p; NULL if p is
 * NULL. */
RAYTRAIN_API raytrain_dataset *raytrain_predictor_dataset(raytrain_predictor *p);
/*
 * Advance to the next batch, which has *rows rows, at least 1. RAYTRAIN_END if there
 * are no more batches or a stop was requested; *rows is 0, and the function should
 * return 0. RAYTRAIN_EINVAL if an output of the previous batch was not put. The first
 * call is COLLECTIVE; later calls sometimes wait for the other workers.
 */
RAYTRAIN_API int raytrain_predictor_next(raytrain_predictor *p, uint64_t *rows);
/* Put one output for the current batch: *rows dense rows, which are copied. */
RAYTRAIN_API int raytrain_predictor_put(raytrain_predictor *p, const char *name,
                                        const void *data);

/* ---- A program instead of a shared object ---- */

typedef int (*raytrain_train_func)(raytrain_context *ctx);

/*
 * Run train_func as one worker of the group that raytrain-run started. It should be the
 * last call of main(): `return raytrain_main(argc, argv, train_func);`. Returns the exit
 * status. If the program was not started by raytrain-run, it prints how to start it and
 * returns 2.
 */
RAYTRAIN_API int raytrain_main(int argc, char *argv[], raytrain_train_func train_func);
/* The same for a program that raytrain-predict may start, too, which then runs
 * predict_func. If a function is NULL, the program cannot be started for it. */
RAYTRAIN_API int raytrain_main_functions(int argc, char *argv[],
                                         raytrain_train_func train_func,
                                         raytrain_predict_func predict_func);

#ifdef __cplusplus
}
#endif

#endif /* RAYTRAIN_H */
