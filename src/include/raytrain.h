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
 * Calling exit() is a failure, too.
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

/* The version of this header; raytrain_version() has that of the library. */
#define RAYTRAIN_VERSION_MAJOR 0
#define RAYTRAIN_VERSION_MINOR 1
#define RAYTRAIN_VERSION_PATCH 0
/* Was this header, at least, of that version? For #if. */
#define RAYTRAIN_VERSION_AT_LEAST(major, minor)                                        \
    (RAYTRAIN_VERSION_MAJOR > (major) ||                                               \
     (RAYTRAIN_VERSION_MAJOR == (major) && RAYTRAIN_VERSION_MINOR >= (minor)))

#define RAYTRAIN_MAX_DIMS 8  /* dimensions of a tensor */
#define RAYTRAIN_NAME_MAX 255 /* bytes of a metric's or tensor's name, without the NUL */

typedef struct raytrain_context raytrain_context;       /* this worker's session */
typedef struct raytrain_checkpoint raytrain_checkpoint; /* being written, or read */
typedef struct raytrain_dataset raytrain_dataset;       /* this worker's shard */
typedef struct raytrain_reducer raytrain_reducer;       /* gradient buckets */
typedef struct raytrain_predictor raytrain_predictor;   /* a prediction */
typedef struct raytrain_batch raytrain_batch;           /* rows to be changed */

/* What went wrong; raytrain_status_name() describes it. */
typedef enum raytrain_status {
    RAYTRAIN_OK = 0,
    RAYTRAIN_EINVAL,   /* a bad argument, or a bad value in the configuration */
    RAYTRAIN_ETYPE,    /* the value has another type, or another shape */
    RAYTRAIN_ENOTFOUND, /* no such name, no such file */
    RAYTRAIN_ENOMEM,   /* out of memory */
    RAYTRAIN_EFIT,     /* does not fit the allocation or the machine */
    RAYTRAIN_ESTORAGE, /* no space, no permission, an I/O error */
    RAYTRAIN_ECORRUPT, /* a file is truncated, damaged or not what it claims */
    RAYTRAIN_ECOMM,    /* the workers could not communicate, or did not agree */
    RAYTRAIN_EFAILED,  /* the training failed */
    RAYTRAIN_ESTOPPED, /* stopped on request */
    RAYTRAIN_EUSAGE,   /* an invalid command line */
    RAYTRAIN_ENOTSUP,  /* not available in this version or build */
    RAYTRAIN_END       /* not an error: the epoch has no more batches */
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

/* Where the data of a tensor are. A call refuses a device that it does not take
 * (RAYTRAIN_ENOTSUP) and does not touch the data. "Memory of devices" below says which
 * calls take GPUs. */
typedef enum raytrain_device {
    RAYTRAIN_HOST = 0,
    RAYTRAIN_CUDA, /* memory of an NVIDIA GPU, as cudaMalloc() returns it */
    RAYTRAIN_HIP   /* memory of an AMD GPU, as hipMalloc() returns it */
} raytrain_device;

/*
 * A view of dense row-major memory, which it does not own. ndim 0 is a scalar; a
 * dimension of 0 makes an empty tensor, whose data may be NULL.
 *
 * Always initialise a tensor: members that are not named must be zero, which means host
 * memory. Any other value in `reserved` is RAYTRAIN_EINVAL: it may get a meaning later.
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
    int device_id; /* which one of that kind, as in cudaSetDevice(); 0 for the host */
    uint64_t reserved[2];
} raytrain_tensor;

/* A box in a global shape: count[i] elements from start[i] on, along axis i. */
typedef struct raytrain_slab {
    uint64_t start[RAYTRAIN_MAX_DIMS];
    uint64_t count[RAYTRAIN_MAX_DIMS];
} raytrain_slab;

/* ---- The worker's place in the group ---- */

/* All return -1 if ctx is NULL. */
RAYTRAIN_API int raytrain_rank(const raytrain_context *ctx);             /* 0 .. size-1 */
RAYTRAIN_API int raytrain_world_size(const raytrain_context *ctx);       /* workers */
RAYTRAIN_API int raytrain_local_rank(const raytrain_context *ctx);       /* on this node */
RAYTRAIN_API int raytrain_local_world_size(const raytrain_context *ctx); /* on this node */
RAYTRAIN_API int raytrain_node_rank(const raytrain_context *ctx);        /* of this node */
RAYTRAIN_API int raytrain_node_count(const raytrain_context *ctx);

/* The number of arguments after the training function on the command line. *argv, which
 * ctx owns, holds them, and a NULL. */
RAYTRAIN_API int raytrain_args(const raytrain_context *ctx, char ***argv);

/* ---- The run ---- */

/* The name of the run, and the absolute path of its directory, which all ranks share.
 * Owned by ctx; NULL if ctx is. raytrain-format(5) describes the files there: a training
 * function does not write to it, but to the directory below. */
RAYTRAIN_API const char *raytrain_run_name(const raytrain_context *ctx);
RAYTRAIN_API const char *raytrain_run_dir(const raytrain_context *ctx);
/*
 * A directory for the training function's own files, RUN/artifacts, which the first call
 * creates. The library never writes, reads or removes anything in it; all ranks and all
 * attempts share it, so each rank uses names of its own. Owned by ctx. NULL on failure,
 * with a sentence for raytrain_last_error().
 */
RAYTRAIN_API const char *raytrain_artifacts_dir(raytrain_context *ctx);

/*
 * The sentence of the latest call on ctx that failed; "" if none has. Owned by ctx,
 * valid until the next call. NULL is accepted (and the sentence says so).
 */
RAYTRAIN_API const char *raytrain_last_error(const raytrain_context *ctx);
/* The raytrain_status of that call, for one that returns NULL instead of a status;
 * RAYTRAIN_OK if none has failed. */
RAYTRAIN_API int raytrain_last_status(const raytrain_context *ctx);

/* ---- train_loop_config ---- */
/*
 * Look up a key; a dot enters a group ("optimizer.lr"). A missing key yields the
 * default and RAYTRAIN_OK. A value of another type is RAYTRAIN_ETYPE; the sentence
 * names the key, the expected type and the type found. An integer is accepted for a
 * double. Returned strings and arrays belong to ctx; defaults are returned as passed.
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

/* If workers do not make the same collective calls in the same order, with matching
 * arguments, all get RAYTRAIN_ECOMM, and a message that says what each of them did. */

typedef enum raytrain_op {
    RAYTRAIN_SUM = 1,
    RAYTRAIN_MEAN,
    RAYTRAIN_MAX,
    RAYTRAIN_MIN
} raytrain_op;

/*
 * Combine data[0..n) over all workers, in place. The result has the same bits on every
 * rank, and the same bits again for the same number of workers in the same places.
 * dtype is FLOAT32, FLOAT64, FLOAT16, BFLOAT16 or INT64; MEAN of INT64 is refused.
 * 16-bit floats are combined as float32, and rounded once, at the end. MIN and MAX
 * ignore NaNs, unless all values are NaN. Does not occupy a core while it waits.
 */
RAYTRAIN_API int raytrain_allreduce(raytrain_context *ctx, void *data, size_t n,
                                    raytrain_dtype dtype, raytrain_op op);
/* The common case: mean of float32, in place. */
RAYTRAIN_API int raytrain_allreduce_mean(raytrain_context *ctx, float *data, size_t n);
/* Copy the bytes of rank `root` to all ranks. */
RAYTRAIN_API int raytrain_broadcast(raytrain_context *ctx, void *data, size_t n_bytes,
                                    int root);
/* Copy n_bytes of each worker, the same number, to every one: recv has room for
 * world_size x n_bytes, which arrive in the order of the ranks. The buffers must not
 * overlap. */
RAYTRAIN_API int raytrain_allgather(raytrain_context *ctx, const void *send,
                                    size_t n_bytes, void *recv);
/* Returns when all workers have called it. */
RAYTRAIN_API int raytrain_barrier(raytrain_context *ctx);

/*
 * The same with tensors, which may be in memory of devices ("Memory of devices" below):
 * all elements of a tensor, in place. That of allgather receives world_size times as many
 * elements as it sends, in any shape (else RAYTRAIN_ETYPE). They match the calls above, so
 * that the memory of the ranks may be of different kinds.
 *
 * If all ranks have their tensors on GPUs, each on one of its own, NCCL combines and
 * copies them there: libnccl.so.2 of NCCL 2.10 or later, which the first such call
 * opens. The call comes after what was queued on the caller's stream ("Memory of
 * devices" below), and returns once it is queued itself: what is queued on that stream
 * from then on sees the result, and the host does after it has waited for the stream.
 * Until then the memory must stay allocated. The result has the same bits on every
 * rank, but not those of the host: 16-bit floats are rounded after each addition, a
 * mean is a sum of parts that were divided, and NaNs are treated as NCCL does. The GPU
 * of the first call is that of all others on GPUs; a call with one of another GPU
 * goes through host memory.
 *
 * Else what is on a GPU is copied to host memory and back, for which the call needs as
 * much host memory as the tensors have: the result has the bits of a call in host
 * memory, and is there when the call returns. Broadcast and allgather give the memory
 * to MPI as it is, if the MPI library says that it takes such memory ("CUDA-aware"). If
 * NCCL is missing or too old, or ranks share a GPU, this is said once. If it is there and
 * fails, run_config.device_collectives says whether that is an error (raytrain.cfg(5)).
 *
 * If NCCL reports an error, also one that another rank has caused, or that comes after
 * the call, what it was writing is undefined, kernels that wait for it end, and the
 * next call of raytrain that is COLLECTIVE or copies from a GPU is RAYTRAIN_ECOMM, so
 * that no checkpoint has it; the training function should return that.
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
 * Li et al., VLDB 2020). Pass all gradient tensors once, in the order in which the
 * backward pass completes them: FLOAT32, FLOAT64, FLOAT16 or BFLOAT16, which may be
 * mixed (any other type is RAYTRAIN_EINVAL). They are grouped into buckets of about
 * bucket_bytes (0: a good default) and of one type; a bucket is reduced as soon as all
 * its tensors are ready. Tensors that are adjacent in memory, in the same order on
 * every rank, are reduced in place, others are copied to the bucket and back; on a GPU,
 * only what is in one allocation counts as adjacent. 16-bit floats are copied to a bucket
 * of float32, averaged, and rounded once, at the end. The gradients must stay at the same
 * address until destroy.
 *
 * Memory of the reducer is fastest: a tensor whose data is NULL gets it, initially zero
 * and contiguous with the others in index order, except that a tensor of another type
 * than the one before begins at a multiple of 64 bytes. raytrain_reducer_data() returns the
 * address of tensor i (NULL for a bad argument); the reducer owns it until destroy.
 * Workers that share a node average such gradients in place, without messages. data
 * must be NULL for the same tensors on every rank.
 *
 *     raytrain_reducer_create(ctx, grads, n, 0, &reducer);
 *     every step:  ... raytrain_reducer_ready(reducer, i) as each gradient is complete;
 *                  raytrain_reducer_wait(reducer);      all gradients are means now
 *
 * In each step, call ready(i) once for each i, in any order that is the same on every
 * rank; wait() before that is RAYTRAIN_EINVAL. Buckets always start in index order.
 *
 * Gradients may be on a GPU ("Memory of devices" below), all of them on the same one, and
 * on all ranks or on none; memory of the reducer is there, too, and zero. ready(i) says that
 * what the caller has queued on its stream so far completes gradient i, and does not wait
 * for it. wait() lets what the caller queues on its stream from then on come after the
 * means. If each rank has a GPU of its own, and NCCL (libnccl.so.2), buckets are averaged
 * by NCCL, in place, and the host waits for nothing. 16-bit floats are then combined as NCCL
 * does it, and the bits of the means are NCCL's, the same on every rank. A failure of NCCL
 * is RAYTRAIN_ECOMM of a later wait. Else, which is reported once, buckets are copied to
 * host memory and back, which overlaps with the work of the caller's stream; the means have
 * the bits that they would have on the host, and wait() returns when the other ranks'
 * numbers have been combined with this one's. destroy waits for the work that was queued on
 * the GPU.
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
 * gradients: the same shapes, any type, memory as above (NULL: the reducer's), on the GPU
 * of the gradients if they are on one. Other gradients, such as a number of rows, are
 * averaged on every rank. The rest follows:
 *
 *     every step:  ... raytrain_reducer_ready(reducer, i) for all gradients;
 *                  raytrain_reducer_wait(reducer);     this rank's parts are means now
 *                  for each parameter i:
 *                      raytrain_reducer_shard(reducer, i, NULL, &first, &n);
 *                      update elements first .. first + n - 1 of parameter i
 *                  raytrain_reducer_gather(reducer);   all ranks have all parameters
 *
 * shard says which elements of tensor i, in memory order, this rank updates: whole rows
 * (of the first dimension; a tensor without dimensions belongs to one rank), maybe none.
 * It never changes, and ranks have about as many elements of each bucket. *slab, unless
 * NULL, is the same as a slab, for raytrain_checkpoint_put_shard() of the optimizer's
 * state. After wait, elements of gradients outside of the part are undefined. gather
 * (COLLECTIVE) is called when no gradient is being averaged (else RAYTRAIN_EINVAL), as
 * often as the ranks like. Every rank then has the bits of the rank that updated them.
 * On a GPU, gather comes between what the caller has queued on its stream and what it
 * queues from then on; the host waits for the other ranks, unless there is NCCL.
 *
 * param returns the address of parameter i, which the reducer owns until destroy if it
 * provided it; NULL for a bad argument. shard, param and gather of a reducer that is not
 * sharded are RAYTRAIN_EINVAL (param: NULL).
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
 * Write. create makes an empty checkpoint; put adds a tensor that is the same on every
 * rank ("replicated": each rank writes some of it); put_shard adds this rank's slab of
 * a tensor with the global shape tensor->shape, tensor->data being the dense elements
 * of the slab. Together the slabs of all ranks must cover the global shape (an empty
 * slab is fine). Two slabs are equal or have no element in common; equal ones, as of
 * replicas, have the same elements, and one of the ranks writes them.
 *
 * Names are paths such as "model/fc1/weight". Each component is 1..RAYTRAIN_NAME_MAX
 * bytes of printable UTF-8, and not "." or ".."; "raytrain" is reserved as the first
 * one. The data are not copied: raytrain_report() reads them. They must stay where they
 * are, and what they are during that call is saved (longer after
 * raytrain_checkpoint_overlap()). All ranks put the same names, types and shapes in the
 * same order.
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
 * and must not change until release(tensor->data, arg) gives it back. The thread of the
 * training function makes that call once the data are written (memory of a device: once
 * they are copied), within a later
 * raytrain_report(), raytrain_checkpoint_wait(), raytrain_checkpoint_discard() or the
 * end of the run. release may be free(), by way of a function of this type. If this
 * fails, the memory remains the caller's.
 */
typedef void (*raytrain_release)(void *data, void *arg);
RAYTRAIN_API int raytrain_checkpoint_give(raytrain_checkpoint *ck, const char *name,
                                          const raytrain_tensor *tensor,
                                          const raytrain_slab *slab,
                                          raytrain_release release, void *arg);
/*
 * Attach bytes, or the contents of a file as they are now: opaque to the library, stored
 * as the dataset "files/NAME". They belong to single ranks: any subset of the ranks may
 * attach any number of them, but no two ranks the same name (RAYTRAIN_EINVAL of the
 * report), and names are as above. bytes are not copied, as with put; a file is read
 * into memory at once. Any rank of a later run can read each of them.
 */
RAYTRAIN_API int raytrain_checkpoint_put_bytes(raytrain_checkpoint *ck,
                                               const char *name, const void *data,
                                               size_t n);
RAYTRAIN_API int raytrain_checkpoint_put_file(raytrain_checkpoint *ck, const char *name,
                                              const char *path);
/* Destroy a checkpoint that is not reported after all. */
RAYTRAIN_API void raytrain_checkpoint_discard(raytrain_checkpoint *ck);

/*
 * Memory of devices. put, put_shard, give, get, get_shard, the collectives of tensors and
 * reducers take tensors on NVIDIA GPUs, with device = RAYTRAIN_CUDA, and datasets bring
 * their batches there; no other call does. The library of the driver, libcuda.so.1 of
 * CUDA 11.0 or later, is opened by the first such call; RAYTRAIN_ENOTSUP if it is missing
 * or too old, RAYTRAIN_EFAILED if it reports an error. data is memory of the primary context
 * of GPU device_id, which is what the runtime API allocates; other memory is
 * RAYTRAIN_EINVAL: of another GPU, of the host, or freed. raytrain_report() checks that
 * again.
 *
 * RAYTRAIN_HIP is the same for AMD GPUs, with libamdhip64.so of ROCm 5.0 or later, and HIP's
 * functions in place of CUDA's.
 *
 * raytrain_report() copies what was put before it returns, except as said below;
 * get copies before it returns, and so do collectives that are not NCCL's; reducers copy
 * meanwhile. All wait for the work that this process has queued on one stream of the GPU:
 * that of the latest raytrain_set_stream() for this GPU, or the legacy default stream.
 * They do not wait for work in other streams: let that stream wait for it, by
 * cudaStreamWaitEvent(), or synchronise. A tensor that was given is copied, too, and
 * released as others are. The GPU that was current for the thread is current again
 * afterwards. (raytrain-gpu(7) says what was tried with a GPU.)
 *
 * raytrain_set_stream takes a cudaStream_t, CUstream or hipStream_t, which must exist until
 * another one is set; NULL is the default stream. It is not collective, and does not wait.
 * RAYTRAIN_EINVAL for RAYTRAIN_HOST and for a GPU that is not there; other errors as above.
 */
RAYTRAIN_API int raytrain_set_stream(raytrain_context *ctx, raytrain_device device,
                                     int device_id, void *stream);

/*
 * Copies from GPUs that overlap with training. raytrain_report() only starts the copies
 * of tensors on GPUs that were given, since these do not change until they are released,
 * and of all tensors on GPUs in a checkpoint of which raytrain_checkpoint_overlap() says:
 * they stay as they are, and allocated, until raytrain_checkpoint_fence(). The fence makes
 * the stream of each GPU on which this process works (see above) wait for the copies, and
 * returns at once: what is queued there from then on may change the tensors. So the copies
 * take place during the forward and backward pass of the next step, which read the
 * parameters:
 *
 *     raytrain_checkpoint_overlap(ck);    before raytrain_report(ctx, ..., ck)
 *     every step:  ... forward and backward pass;
 *                  raytrain_checkpoint_fence(ctx);
 *                  the optimizer's update
 *
 * Whatever changes or frees the tensors otherwise, from the host or in other streams, must
 * come after that: synchronise the stream after the fence, or let the other one wait for
 * it. After a later report with a checkpoint, or raytrain_checkpoint_wait(), no copy is
 * under way. If the memory on the host cannot be pinned, raytrain_report() copies before
 * it returns. A copy that fails is a failure of the save, as any other. fence does nothing
 * if there is nothing to wait for; both have no effect on tensors in host memory.
 */
RAYTRAIN_API int raytrain_checkpoint_overlap(raytrain_checkpoint *ck);
RAYTRAIN_API int raytrain_checkpoint_fence(raytrain_context *ctx);

/*
 * The checkpoint that this attempt starts from, already verified unless it is a plain
 * HDF5 file (raytrain_checkpoint_is_verified()); NULL on a fresh start. Same on every
 * rank. Owned by ctx. Any number of workers may have written it.
 */
RAYTRAIN_API raytrain_checkpoint *raytrain_get_checkpoint(raytrain_context *ctx);

/*
 * Read (not collective; each rank reads what it needs). info fills dtype, ndim and
 * shape, data NULL. get reads a whole tensor into tensor->data; dtype, ndim and shape
 * must equal the stored ones (RAYTRAIN_ETYPE otherwise). get_shard reads a slab, dense,
 * tensor->shape being the global shape. get_string returns memory to free().
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
/* What was attached under this name: *n bytes, to free(), with a NUL after them that
 * does not count; or a new file of them, which replaces an older one once it is
 * complete. */
RAYTRAIN_API int raytrain_checkpoint_get_bytes(raytrain_checkpoint *ck,
                                               const char *name, void **data,
                                               size_t *n);
RAYTRAIN_API int raytrain_checkpoint_get_file(raytrain_checkpoint *ck, const char *name,
                                              const char *path);
/* training_iteration of the report that published it. */
RAYTRAIN_API int64_t raytrain_checkpoint_iteration(const raytrain_checkpoint *ck);
/* A metric of that report: a mean, or rank 0's value if a Python script has reported
 * it. RAYTRAIN_ENOTFOUND if there is none of that name. */
RAYTRAIN_API int raytrain_checkpoint_metric(const raytrain_checkpoint *ck,
                                            const char *name, double *value);

/*
 * COLLECTIVE, with the same path. Open any checkpoint to read it: a checkpoint file, of
 * this run or of another one; the directory of a run, or NULL for this run: its best
 * checkpoint by the score of its configuration, the newest without one; or a plain HDF5
 * file that another program wrote. A relative path is relative to rank 0's working
 * directory. A save of this run that is under way is waited for if the file is in its
 * directory. NULL on failure, with a sentence for raytrain_last_error(), on every rank:
 * RAYTRAIN_ENOTFOUND, RAYTRAIN_ESTORAGE, RAYTRAIN_ECORRUPT (a damaged file, or one that
 * is neither).
 *
 * A checkpoint is verified before this returns. A plain HDF5 file cannot be: it has no
 * checksums. Its datasets of numbers and of single bytes, of at most RAYTRAIN_MAX_DIMS
 * dimensions, are tensors, and its single strings strings; each has one name, its path
 * without the first slash. Other byte orders, chunks and compression make no
 * difference. Others, and those with elements in other files, are RAYTRAIN_ENOTSUP, and
 * links to other files are not followed. Iteration 0, no metrics.
 *
 * Owned by ctx: close it to free its memory, or leave that to the end of the training.
 * Several may be open.
 */
RAYTRAIN_API raytrain_checkpoint *raytrain_checkpoint_open(raytrain_context *ctx,
                                                           const char *path);
/*
 * Free a checkpoint that was opened, or the one of raytrain_get_checkpoint(), which
 * returns NULL from then on. Not collective. Nothing may use ck or its names after
 * that.
 */
RAYTRAIN_API void raytrain_checkpoint_close(raytrain_checkpoint *ck);
/* Was all of it verified by checksums? False for a plain HDF5 file, for a checkpoint
 * that is being written, and for NULL. */
RAYTRAIN_API bool raytrain_checkpoint_is_verified(const raytrain_checkpoint *ck);
/*
 * The i-th name of a tensor or string in a checkpoint that can be read; NULL after the
 * last. In the order in which they were put; in a plain HDF5 file, sorted in each
 * group. Owned by ck.
 *
 *     for (size_t i = 0; (name = raytrain_checkpoint_name(ck, i)); i++)
 *         ...
 */
RAYTRAIN_API const char *raytrain_checkpoint_name(const raytrain_checkpoint *ck,
                                                  size_t i);

/* ---- Report ---- */

typedef struct raytrain_metric {
    const char *name; /* [A-Za-z_][A-Za-z0-9_./@-]*; same names, same order on every
                         rank; not one that every report has, such as time_total_s
                         or checkpoint_bytes */
    double value;     /* of this rank; NaN is recorded, with a warning */
} raytrain_metric;

/*
 * COLLECTIVE. End one training iteration: combine the metrics over all ranks (rank 0's
 * value, mean, min, max are recorded), save ck unless it is NULL (on all ranks or
 * none), and agree on whether to stop. ck is consumed, also on failure.
 *
 * With run_config.checkpoint_config.mode = "async", the default, it copies the tensors'
 * data and returns; they are written in the background, one checkpoint after the other.
 * The checkpoint is durable once a later report with a checkpoint, or the end of the
 * run, has waited for it. With "sync" it is durable when this returns RAYTRAIN_OK.
 *
 * A failed save leaves earlier checkpoints as they were, and is RAYTRAIN_ESTORAGE on
 * every rank: of this report ("sync"), or of a later one or the end of the run
 * ("async").
 */
RAYTRAIN_API int raytrain_report(raytrain_context *ctx, const raytrain_metric metrics[],
                                 size_t n_metrics, raytrain_checkpoint *ck);

/*
 * COLLECTIVE. The same with metrics that rank 0 alone has: its names and values are
 * recorded, as if every rank had reported them, and the metrics of the other ranks are
 * ignored. All ranks make this call, or all make raytrain_report().
 */
RAYTRAIN_API int raytrain_report_rank0(raytrain_context *ctx,
                                       const raytrain_metric metrics[],
                                       size_t n_metrics, raytrain_checkpoint *ck);

/* Bytes of a metric's text, and elements of its vector. */
#define RAYTRAIN_METRIC_TEXT_MAX 4096
#define RAYTRAIN_METRIC_VECTOR_MAX 1024

/*
 * Metrics that are not combined over the ranks: an exact integer, a text (UTF-8, at most
 * RAYTRAIN_METRIC_TEXT_MAX bytes), a small vector (1 to RAYTRAIN_METRIC_VECTOR_MAX
 * elements). They are part of the next report, whether that succeeds or not; the values
 * of rank 0 are recorded, those of other ranks are ignored. A name that is set again
 * before the report gets the later value; it must not be the name of a number in the
 * same report. Checkpoints do not have them, and run_config.stop does not see them.
 * RAYTRAIN_EINVAL for a bad name, a text that is too long or not UTF-8, or another
 * number of elements.
 */
RAYTRAIN_API int raytrain_set_metric_int64(raytrain_context *ctx, const char *name,
                                           int64_t value);
RAYTRAIN_API int raytrain_set_metric_text(raytrain_context *ctx, const char *name,
                                          const char *text);
/* NaN is recorded as missing. */
RAYTRAIN_API int raytrain_set_metric_vector(raytrain_context *ctx, const char *name,
                                            const double values[], size_t n);

/*
 * COLLECTIVE. Wait until every checkpoint that was reported is durable: on the storage
 * of the run, where it survives the loss of all nodes. RAYTRAIN_ESTORAGE on every rank
 * if one could not be saved.
 */
RAYTRAIN_API int raytrain_checkpoint_wait(raytrain_context *ctx);
/* The training_iteration of the newest checkpoint of this run that is durable, as far
 * as this rank knows; 0: none is. Not the same on every rank at any moment, so do not
 * decide about collective calls by it. */
RAYTRAIN_API int64_t raytrain_durable_iteration(const raytrain_context *ctx);

/*
 * True once a stop was requested (by a signal, by the approaching end of the
 * allocation, or by run_config.stop) and a report has passed that to all ranks. Same on
 * every rank. Changes only inside raytrain_report().
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
 * raytrain_should_stop() after the following report.
 */
RAYTRAIN_API bool raytrain_should_checkpoint(raytrain_context *ctx);

/* Reports so far, over all attempts; 0 on a fresh start. Same on every rank. */
RAYTRAIN_API int64_t raytrain_training_iteration(const raytrain_context *ctx);

/*
 * The expected number of iterations, over all attempts: for the display
 * of progress, which shows how much is done and how long the rest takes. It ends nothing.
 * Not collective; that of rank 0 counts. A later call replaces it; 0: the number is not
 * known any more. RAYTRAIN_EINVAL if it is negative.
 */
RAYTRAIN_API int raytrain_set_total(raytrain_context *ctx, int64_t iterations);

/* ---- Random numbers ---- */
/*
 * Counter-based streams (Philox4x32-10, Salmon et al., SC11), seeded by `seed` of the
 * configuration. RANK is this worker's own stream; SHARED yields the same numbers on
 * every rank as long as all make the same calls. Checkpoints contain the state of both.
 */
typedef enum raytrain_stream { RAYTRAIN_STREAM_RANK, RAYTRAIN_STREAM_SHARED } raytrain_stream;

RAYTRAIN_API uint64_t raytrain_random_u64(raytrain_context *ctx, raytrain_stream s);
RAYTRAIN_API double raytrain_random_uniform(raytrain_context *ctx, raytrain_stream s); /* [0,1) */
RAYTRAIN_API double raytrain_random_normal(raytrain_context *ctx, raytrain_stream s);  /* N(0,1) */

/* ---- Datasets ---- */

/*
 * COLLECTIVE. This worker's shard of the dataset `name` of the configuration, at the
 * position in the checkpoint of this attempt. NULL on failure. Owned by ctx. If a stop is
 * asked for while text is converted, it fails with RAYTRAIN_ESTOPPED: then return.
 *
 * Over all workers, each row is delivered once per epoch. The order depends on seed and
 * epoch alone: global batch k of an epoch has the same rows on any number of workers as
 * long as workers x batch size is the same.
 */
RAYTRAIN_API raytrain_dataset *raytrain_get_dataset_shard(raytrain_context *ctx,
                                                          const char *name);
RAYTRAIN_API uint64_t raytrain_dataset_rows(const raytrain_dataset *ds); /* global */
/* Epochs completed: 0 at first. Same on every rank. */
RAYTRAIN_API uint64_t raytrain_dataset_epoch(const raytrain_dataset *ds);
/* dtype and shape of one row of a column; data is NULL. */
RAYTRAIN_API int raytrain_dataset_column_info(raytrain_dataset *ds, const char *column,
                                              raytrain_tensor *row);
/* The number of rows in a batch, the same on every rank. Required before next. */
RAYTRAIN_API int raytrain_dataset_set_batch_size(raytrain_dataset *ds, uint64_t rows);
/*
 * Advance to the next batch. *rows is this worker's number of rows: the batch size,
 * except in the last batch of an epoch, in which the remaining rows are split evenly and
 * a worker may get fewer, even 0. All ranks get the same number of batches. RAYTRAIN_END
 * ends the epoch (*rows is 0); the following call starts the next one. The key last_batch
 * of the dataset changes this: "drop" leaves the remaining rows out, "pad" fills the batch
 * of each worker up with rows from the epoch's start, which come last.
 */
RAYTRAIN_API int raytrain_dataset_next(raytrain_dataset *ds, uint64_t *rows);
/*
 * From the next batch on, and until this is called again, columns are in GPU memory
 * (RAYTRAIN_CUDA), or in host memory; there is no current batch until then. Not collective.
 * Batches are still read and preprocessed on the host. What raytrain_dataset_column() returns is
 * on the GPU, as its tensor says: numbers, and the codes of words. raytrain_dataset_ragged()
 * returns host memory as before; RAYTRAIN_ETYPE if all columns are for it.
 *
 * A batch is copied ahead, by way of pinned memory, while the GPU works on the one before;
 * next does not wait for the copy, but orders the caller's stream ("Memory of devices"
 * above) after it. Work on a batch that is in this stream when next is called may go on:
 * its memory is used again only after that. Work in other streams must be ordered with this
 * one: after next, and before the next call. The process has twice the bytes of a batch on
 * the GPU, and as much pinned memory on the host.
 *
 * Errors as of "Memory of devices": RAYTRAIN_EINVAL if the GPU is not there,
 * RAYTRAIN_ENOTSUP without its library, RAYTRAIN_ENOMEM if there is not enough memory on it,
 * then of next.
 */
RAYTRAIN_API int raytrain_dataset_to_device(raytrain_dataset *ds, raytrain_device device,
                                            int device_id);
/* How many rows at the end of the current batch are there only to fill it up. */
RAYTRAIN_API uint64_t raytrain_dataset_padding(const raytrain_dataset *ds);
/*
 * A column of the current batch; shape[0] is *rows. Valid until the next call of next. Of
 * a column of words, the code of each row's word (int32), -1 if it is missing.
 * RAYTRAIN_ETYPE for columns that are for raytrain_dataset_ragged().
 */
RAYTRAIN_API int raytrain_dataset_column(raytrain_dataset *ds, const char *column,
                                         raytrain_tensor *tensor);
/* How many words a column of words has, in all rows of all workers: their codes are 0 to
 * *n - 1, the same on every rank. RAYTRAIN_ETYPE for other columns. */
RAYTRAIN_API int raytrain_dataset_words(raytrain_dataset *ds, const char *column,
                                        uint64_t *n);
/* The word of a code, which ends with a NUL; *bytes (may be NULL) is its length. NULL if
 * there is no such word. Owned by ds. */
RAYTRAIN_API const char *raytrain_dataset_word(raytrain_dataset *ds, const char *column,
                                               int64_t code, uint64_t *bytes);

/* Rows with any number of elements: row i has values[k], k from offsets[i] on, up to but
 * not including offsets[i + 1]. */
typedef struct raytrain_ragged {
    uint64_t rows;
    const uint64_t *offsets; /* rows + 1, from 0 on */
    const void *values;
    raytrain_dtype dtype; /* of texts RAYTRAIN_UINT8: their bytes */
    /* Sparse vectors: the place of each value in its vector, and how long vectors are. Of
     * texts: NULL, and 0. */
    const uint32_t *indices;
    uint64_t length;
} raytrain_ragged;

/* A column of texts or of sparse vectors of the current batch. Valid until the next call
 * of next. RAYTRAIN_ETYPE for other columns. */
RAYTRAIN_API int raytrain_dataset_ragged(raytrain_dataset *ds, const char *column,
                                         raytrain_ragged *out);

/* ---- Batch mappers ---- */

/*
 * The function of a preprocessor batch_mapper: it changes the columns of a batch of rows,
 * adds some and removes others. What it leaves alone stays. It is found by its name,
 *
 *     preprocessor = ( { batch_mapper = { function = "add_ratio"; }; } );
 *
 * in the shared object of the training function, of the predict function, or in the one
 * that the key `library` names:
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
 * It is called with no rows first, and maybe again, which says what columns it makes and
 * removes: the same in each batch. What it makes of a row depends on that row alone, since
 * batches have other rows on other numbers of workers. Any value but 0 fails the call that
 * needs the batch; if it is the status of a call below, its reason is reported.
 *
 * It runs in a thread of its own, which reads a batch ahead, and in the thread of the
 * training function; in several at once if several datasets are in use. So it keeps
 * nothing in static variables, and calls no other function of this header than these.
 */
typedef int (*raytrain_map_func)(raytrain_batch *batch);

/* 0 if batch is NULL. */
RAYTRAIN_API uint64_t raytrain_batch_rows(const raytrain_batch *batch);
/*
 * A column as it is before the function: as raytrain_dataset_column(). The numbers may be
 * changed in place, the codes of words may not. Valid until the function returns.
 */
RAYTRAIN_API int raytrain_batch_column(raytrain_batch *batch, const char *column,
                                       raytrain_tensor *tensor);
/* How many words a column of words has: codes are 0 to *n - 1. */
RAYTRAIN_API int raytrain_batch_words(raytrain_batch *batch, const char *column,
                                      uint64_t *n);
/* The word of a code: as raytrain_dataset_word(). */
RAYTRAIN_API const char *raytrain_batch_word(raytrain_batch *batch, const char *column,
                                             int64_t code, uint64_t *bytes);
/* A column of texts or of sparse vectors: as raytrain_dataset_ragged(). */
RAYTRAIN_API int raytrain_batch_ragged(raytrain_batch *batch, const char *column,
                                       raytrain_ragged *out);

/*
 * A column of numbers, new or in place of the one of this name: dtype and shape of a row
 * (ndim 0: a number; shape may be NULL then). *data is for all rows of the batch, dense,
 * and has any values; the function fills it before it returns. A name is made once.
 */
RAYTRAIN_API int raytrain_batch_output(raytrain_batch *batch, const char *name,
                                       raytrain_dtype dtype, int ndim,
                                       const uint64_t shape[], void **data);
/* The same for a column of words, of which there are n, the same in each batch: the
 * function fills in the code of each row's word, 0 to n - 1, -1 if it is missing. The
 * words, which differ from each other, are copied. */
RAYTRAIN_API int raytrain_batch_output_words(raytrain_batch *batch, const char *name,
                                             const char *const words[], size_t n,
                                             int32_t **codes);
/* The same for a column of texts, or of sparse vectors if `length` is not 0: dtype and
 * length are the same in each batch, and the indices of a row rise. All is copied. `rows`
 * is that of the batch; if it is 0, the pointers may be NULL. */
RAYTRAIN_API int raytrain_batch_put_ragged(raytrain_batch *batch, const char *name,
                                           const raytrain_ragged *rows);
/* Remove a column. It can still be read in this call of the function. */
RAYTRAIN_API int raytrain_batch_remove(raytrain_batch *batch, const char *column);
/* The reason of a failure, for `return raytrain_batch_fail(batch, RAYTRAIN_EINVAL, "an age
 * is negative")`: returns status, or RAYTRAIN_EFAILED if that is none of a failure. */
RAYTRAIN_API int raytrain_batch_fail(raytrain_batch *batch, int status,
                                     const char *sentence);

/* ---- Predictions ---- */

/*
 * A predict function gets the rows of an input in batches, and says for each row what
 * the model of the checkpoint, raytrain_get_checkpoint(ctx), makes of it. It runs on
 * every worker of raytrain-predict, each with other rows; the predictions become one
 * file, in the order of the input.
 *
 *     raytrain_predictor_output(p, "probability", RAYTRAIN_FLOAT32, 1, &classes);
 *     while ((rc = raytrain_predictor_next(p, &rows)) == RAYTRAIN_OK) {
 *         raytrain_dataset_column(raytrain_predictor_dataset(p), "x", &x);
 *         apply(model, &x, probability);
 *         raytrain_predictor_put(p, "probability", probability);
 *     }
 *     return rc == RAYTRAIN_END ? 0 : rc;
 *
 * Batches are the same rows on any number of workers, and what is put for a row may
 * depend on its batch alone: then so are the predictions, also after an interruption.
 * The function must not communicate with other workers between batches, since they need
 * not have the same number of them.
 */
typedef int (*raytrain_predict_func)(raytrain_context *ctx, raytrain_predictor *p);

/* An output: the name of a column of the predictions, dtype and shape of one row (ndim 0:
 * a number; shape may be NULL then). Before the first next, on every rank the same. */
RAYTRAIN_API int raytrain_predictor_output(raytrain_predictor *p, const char *name,
                                           raytrain_dtype dtype, int ndim,
                                           const uint64_t shape[]);
/* The number of rows in a batch that suits the model (default 1024), before the first
 * next. --batch-size of raytrain-predict overrides it; ask the first batch. */
RAYTRAIN_API int raytrain_predictor_set_batch_size(raytrain_predictor *p, uint64_t rows);
/* The rows of the input, for raytrain_dataset_rows(), raytrain_dataset_column_info() and
 * raytrain_dataset_column(): columns of the current batch, valid until the next one.
 * Owned by p, which alone moves it. NULL if p is. */
RAYTRAIN_API raytrain_dataset *raytrain_predictor_dataset(raytrain_predictor *p);
/*
 * COLLECTIVE at the first call; later calls wait for the other workers from time to time.
 * Advance to the next batch of *rows rows, at least 1. RAYTRAIN_END: there are no more (or
 * a stop was requested), and *rows is 0; return 0 then. RAYTRAIN_EINVAL if an output of
 * the batch before was not put.
 */
RAYTRAIN_API int raytrain_predictor_next(raytrain_predictor *p, uint64_t *rows);
/* One output of the current batch: *rows dense rows, which are copied. */
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
/* The same for a program that raytrain-predict may start, too, and which is then a worker
 * with predict_func. Either function may be NULL: then it cannot be started so. */
RAYTRAIN_API int raytrain_main_functions(int argc, char *argv[],
                                         raytrain_train_func train_func,
                                         raytrain_predict_func predict_func);

#ifdef __cplusplus
}
#endif

#endif /* RAYTRAIN_H */
