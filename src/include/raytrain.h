/*
 * raytrain.h - distributed training under Slurm: what a training function can call.
 *
 * A training function runs once on every worker (one rank, one process):
 *
 *     int train_func(raytrain_context *ctx);
 *
 * It lives in a shared object that raytrain-run loads, or in a program that
 * hands it to raytrain_main(). Returning 0 means that this worker finished;
 * anything else means that it failed, and the group with it. One that returns the
 * raytrain_status of a call that failed makes raytrain-run say the same (storage,
 * configuration); calling exit() is a failure too.
 *
 * CONVENTIONS
 *
 * Status.   Functions that can fail return RAYTRAIN_OK (0) or another
 *           raytrain_status, and leave a sentence for raytrain_last_error().
 *           The library never prints and never exits (raytrain_main() does).
 *           On failure outputs are untouched unless a function says otherwise.
 * NULL.     A NULL where an object is expected is RAYTRAIN_EINVAL, never a crash.
 *           Every destroy/close accepts NULL.
 * Memory.   Tensors and buffers belong to the caller. The library copies what it
 *           keeps, with the exceptions that are named where they occur.
 * Threads.  A context and its objects belong to the thread that runs the training
 *           function: call from that thread alone.
 * Ranks.    A call marked COLLECTIVE is made by all workers, in the same order,
 *           with matching arguments. A result marked "same on every rank" may
 *           steer later collective calls.
 * Shapes.   Tensors are dense, row-major (C order), at most RAYTRAIN_MAX_DIMS
 *           dimensions. Sizes are counted in elements unless a name says bytes.
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

#define RAYTRAIN_MAX_DIMS 8  /* dimensions of a tensor */
#define RAYTRAIN_NAME_MAX 255 /* bytes of a metric's or tensor's name, without the NUL */

typedef struct raytrain_context raytrain_context;       /* this worker's session */
typedef struct raytrain_checkpoint raytrain_checkpoint; /* being written, or restored */
typedef struct raytrain_dataset raytrain_dataset;       /* this worker's shard */
typedef struct raytrain_reducer raytrain_reducer;       /* gradient buckets */

/* What went wrong. raytrain_status_name() has the words. */
typedef enum raytrain_status {
    RAYTRAIN_OK = 0,
    RAYTRAIN_EINVAL,   /* a bad argument, or a bad value in the configuration */
    RAYTRAIN_ETYPE,    /* the value there has another type, or another shape */
    RAYTRAIN_ENOTFOUND, /* no such name, no such file */
    RAYTRAIN_ENOMEM,   /* out of memory */
    RAYTRAIN_EFIT,     /* does not fit the allocation or the machine */
    RAYTRAIN_ESTORAGE, /* no space, no permission, an I/O error */
    RAYTRAIN_ECORRUPT, /* a file is truncated, damaged or not what it claims */
    RAYTRAIN_ECOMM,    /* the workers could not communicate, or did not agree */
    RAYTRAIN_EFAILED,  /* the training failed */
    RAYTRAIN_ESTOPPED, /* stopped on request */
    RAYTRAIN_EUSAGE,   /* a command line that makes no sense */
    RAYTRAIN_ENOTSUP,  /* not available in this version or build */
    RAYTRAIN_END       /* not an error: the epoch has no more batches */
} raytrain_status;

/* A short constant name, such as "not found". Never NULL. */
RAYTRAIN_API const char *raytrain_status_name(int status);

/* ---- Element types and tensors -------------------------------------------------- */

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
    RAYTRAIN_BYTES /* opaque bytes, one byte an element */
} raytrain_dtype;

/* Bytes of one element; 0 for an unknown type. */
RAYTRAIN_API size_t raytrain_dtype_size(raytrain_dtype dtype);
/* "float32", "int64", ...; "unknown" for an unknown type. */
RAYTRAIN_API const char *raytrain_dtype_name(raytrain_dtype dtype);

/*
 * A view of dense row-major memory that somebody else owns. ndim 0 is a scalar;
 * a dimension of 0 makes an empty tensor, whose data may be NULL.
 */
typedef struct raytrain_tensor {
    void *data;
    raytrain_dtype dtype;
    int ndim;
    uint64_t shape[RAYTRAIN_MAX_DIMS];
} raytrain_tensor;

/* A box within a global shape: count[i] elements from start[i] on, along each axis. */
typedef struct raytrain_slab {
    uint64_t start[RAYTRAIN_MAX_DIMS];
    uint64_t count[RAYTRAIN_MAX_DIMS];
} raytrain_slab;

/* ---- The worker's place in the group -------------------------------------------- */

/* -1 where ctx is NULL. */
RAYTRAIN_API int raytrain_rank(const raytrain_context *ctx);             /* 0 .. size-1 */
RAYTRAIN_API int raytrain_world_size(const raytrain_context *ctx);       /* workers */
RAYTRAIN_API int raytrain_local_rank(const raytrain_context *ctx);       /* on this node */
RAYTRAIN_API int raytrain_local_world_size(const raytrain_context *ctx); /* on this node */
RAYTRAIN_API int raytrain_node_rank(const raytrain_context *ctx);        /* of this node */
RAYTRAIN_API int raytrain_node_count(const raytrain_context *ctx);

/* How many arguments came after the training function on the command line; *argv, owned by
 * ctx, has them and ends with a NULL. */
RAYTRAIN_API int raytrain_args(const raytrain_context *ctx, char ***argv);

/*
 * The sentence left by the latest call on ctx that failed; "" if none has.
 * Owned by ctx, valid until the next call. NULL is accepted (and says so).
 */
RAYTRAIN_API const char *raytrain_last_error(const raytrain_context *ctx);

/* ---- train_loop_config ----------------------------------------------------------- */
/*
 * Look-ups by key; a dot enters a group ("optimizer.lr"). A missing key stores the
 * default and returns RAYTRAIN_OK; a value of another type is RAYTRAIN_ETYPE and the
 * sentence names key, expected type and found type. An integer serves where a double
 * is asked for. Strings and arrays returned belong to ctx; a default is handed back as it
 * is.
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

/* ---- Communication (COLLECTIVE, all of it) --------------------------------------- */

/* Workers that do not make the same collective calls in the same order, with matching
 * arguments, all get RAYTRAIN_ECOMM, and a message that says what each of them did. */

typedef enum raytrain_op { RAYTRAIN_SUM = 1, RAYTRAIN_MEAN, RAYTRAIN_MAX } raytrain_op;

/*
 * Combine data[0..n) over all workers, in place; the same bits on every rank, and the
 * same bits again for the same number of workers in the same places. dtype is
 * FLOAT32, FLOAT64 or INT64; MEAN of INT64 is refused. Waits without hogging a core.
 */
RAYTRAIN_API int raytrain_allreduce(raytrain_context *ctx, void *data, size_t n,
                                    raytrain_dtype dtype, raytrain_op op);
/* The common case: mean of float32, in place. */
RAYTRAIN_API int raytrain_allreduce_mean(raytrain_context *ctx, float *data, size_t n);
/* Copy root's bytes to everyone. */
RAYTRAIN_API int raytrain_broadcast(raytrain_context *ctx, void *data, size_t n_bytes,
                                    int root);
RAYTRAIN_API int raytrain_barrier(raytrain_context *ctx);

/*
 * Gradient averaging that overlaps with the backward pass (the design of PyTorch DDP,
 * Li et al., VLDB 2020). Name all gradient tensors (FLOAT32) once, in the order in
 * which the backward pass finishes them. They are grouped into buckets of about
 * bucket_bytes (0: a good default); a bucket is reduced as soon as all its tensors are
 * ready. Tensors that are adjacent in memory are reduced in place, others are copied
 * to the bucket and back. The gradient memory must stay where it is until destroy.
 *
 * Fastest is memory of the reducer's own: a tensor whose data is NULL gets it, zeros at
 * first, end to end with the others in index order; raytrain_reducer_data() says where
 * tensor i lies (NULL for a bad argument). It is the reducer's, until destroy. Workers
 * that share a node average such gradients where they lie, without any message. data is
 * NULL for the same tensors on every rank.
 *
 *     raytrain_reducer_create(ctx, grads, n, 0, &reducer);
 *     every step:  ... raytrain_reducer_ready(reducer, i) as each gradient is complete;
 *                  raytrain_reducer_wait(reducer);      all gradients are means now
 *
 * ready(i) may come in any order that is the same on every rank, once a step for each
 * i; wait() without all of them is RAYTRAIN_EINVAL. Buckets always start in index order.
 */
RAYTRAIN_API int raytrain_reducer_create(raytrain_context *ctx,
                                         const raytrain_tensor grads[], size_t n,
                                         size_t bucket_bytes, raytrain_reducer **reducer);
RAYTRAIN_API void *raytrain_reducer_data(raytrain_reducer *reducer, size_t i);
RAYTRAIN_API int raytrain_reducer_ready(raytrain_reducer *reducer, size_t i);
RAYTRAIN_API int raytrain_reducer_wait(raytrain_reducer *reducer);
RAYTRAIN_API void raytrain_reducer_destroy(raytrain_reducer *reducer);

/* ---- Checkpoints ----------------------------------------------------------------- */

/*
 * Write. create starts an empty checkpoint; put names a tensor that is the same on
 * every rank ("replicated": each rank writes a part of it); put_shard names this
 * rank's slab of a tensor whose global shape is tensor->shape, tensor->data being the
 * slab's own dense elements. Together the ranks' slabs must cover the global shape
 * exactly once (an empty slab is fine).
 *
 * Names are paths such as "model/fc1/weight"; each part is 1..RAYTRAIN_NAME_MAX bytes of
 * printable UTF-8, none is "." or ".."; the first part "raytrain" is reserved.
 * The data are not copied: they must stay unchanged until raytrain_report() returns.
 * All ranks put the same names, types and shapes in the same order.
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
/* Throw away one that is not reported after all. */
RAYTRAIN_API void raytrain_checkpoint_discard(raytrain_checkpoint *ck);

/*
 * The checkpoint that this attempt starts from, already verified; NULL on a fresh
 * start. Same on every rank. Owned by ctx. May have been written by any number of
 * workers.
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
/* training_iteration of the report that published it. */
RAYTRAIN_API int64_t raytrain_checkpoint_iteration(const raytrain_checkpoint *ck);
/* A (mean) metric of that report; RAYTRAIN_ENOTFOUND if it had none of that name. */
RAYTRAIN_API int raytrain_checkpoint_metric(const raytrain_checkpoint *ck,
                                            const char *name, double *value);

/* ---- Report ----------------------------------------------------------------------- */

typedef struct raytrain_metric {
    const char *name; /* [A-Za-z_][A-Za-z0-9_./-]*; same names, same order on every
                         rank; none that every report has, such as time_total_s or
                         checkpoint_bytes */
    double value;     /* this rank's; NaN is recorded, and the user is warned */
} raytrain_metric;

/*
 * COLLECTIVE. End one training iteration: combine the metrics over all ranks (rank 0's
 * value, mean, min, max are kept), publish ck if it is not NULL (every rank or none),
 * and agree on whether to stop. ck is consumed, also on failure.
 *
 * With run_config.checkpoint_config.mode = "async", the default, it copies the tensors'
 * data and returns; they are written in the background, one checkpoint after the other.
 * The checkpoint is durable once a later report with a checkpoint, or the end of the
 * run, has waited for it. With "sync" it is durable when this returns RAYTRAIN_OK.
 *
 * A failed save leaves the earlier checkpoints as they were, and is RAYTRAIN_ESTORAGE
 * on every rank: of this report ("sync"), of a later one or of the end of the run
 * ("async").
 */
RAYTRAIN_API int raytrain_report(raytrain_context *ctx, const raytrain_metric metrics[],
                                 size_t n_metrics, raytrain_checkpoint *ck);

/*
 * True once a stop was asked for (a signal, the end of the allocation comes near, or
 * run_config.stop was met) and a report has carried that to all ranks. Same on every
 * rank. Changes only inside raytrain_report().
 */
RAYTRAIN_API bool raytrain_should_stop(const raytrain_context *ctx);

/*
 * Is a checkpoint due with the coming report? Yes where
 * run_config.checkpoint_config.checkpoint_frequency iterations are complete with it,
 * where checkpoint_interval_s seconds have passed by then since the latest checkpoint,
 * where neither is set, and where a stop is coming. Same on every rank; changes only
 * inside raytrain_report(). False where ctx is NULL.
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
 * A training function that asks is not stopped without a checkpoint: where a report
 * without one has carried the request to stop, this says yes, and
 * raytrain_should_stop() does after the report that follows.
 */
RAYTRAIN_API bool raytrain_should_checkpoint(raytrain_context *ctx);

/* Reports so far, over all attempts: 0 on a fresh start. Same on every rank. */
RAYTRAIN_API int64_t raytrain_training_iteration(const raytrain_context *ctx);

/* ---- Random numbers ---------------------------------------------------------------- */
/*
 * Counter-based streams (Philox4x32-10, Salmon et al., SC11) seeded by the
 * configuration's `seed`. RANK is this worker's own stream, SHARED yields the same
 * numbers on every rank as long as all draw alike. Both are part of every checkpoint.
 */
typedef enum raytrain_stream { RAYTRAIN_STREAM_RANK, RAYTRAIN_STREAM_SHARED } raytrain_stream;

RAYTRAIN_API uint64_t raytrain_random_u64(raytrain_context *ctx, raytrain_stream s);
RAYTRAIN_API double raytrain_random_uniform(raytrain_context *ctx, raytrain_stream s); /* [0,1) */
RAYTRAIN_API double raytrain_random_normal(raytrain_context *ctx, raytrain_stream s);  /* N(0,1) */

/* ---- Datasets ---------------------------------------------------------------------- */

/*
 * COLLECTIVE. This worker's shard of the dataset `name` of the configuration, at the
 * position that the checkpoint of this attempt holds. NULL on failure. Owned by ctx.
 *
 * Every row is delivered once an epoch, over all workers. The order is a function of
 * seed and epoch alone: global batch k of an epoch holds the same rows on any number of
 * workers as long as workers x batch size is the same.
 */
RAYTRAIN_API raytrain_dataset *raytrain_get_dataset_shard(raytrain_context *ctx,
                                                          const char *name);
RAYTRAIN_API uint64_t raytrain_dataset_rows(const raytrain_dataset *ds); /* global */
/* Epochs completed: 0 at first. Same on every rank. */
RAYTRAIN_API uint64_t raytrain_dataset_epoch(const raytrain_dataset *ds);
/* dtype and shape of one row of a column, data NULL. */
RAYTRAIN_API int raytrain_dataset_column_info(raytrain_dataset *ds, const char *column,
                                              raytrain_tensor *row);
/* Rows that each worker gets at a time, the same on every rank. Required before next. */
RAYTRAIN_API int raytrain_dataset_set_batch_size(raytrain_dataset *ds, uint64_t rows);
/*
 * Move to the next batch. *rows is this worker's number of rows: the batch size, except
 * in the last batch of an epoch, where what is left is split evenly and a worker may get
 * fewer, even 0. All ranks get the same number of batches. RAYTRAIN_END ends the epoch
 * (*rows is 0); the call after it starts the next one.
 */
RAYTRAIN_API int raytrain_dataset_next(raytrain_dataset *ds, uint64_t *rows);
/* The current batch's column: shape[0] is *rows. Valid until the next call of next. */
RAYTRAIN_API int raytrain_dataset_column(raytrain_dataset *ds, const char *column,
                                         raytrain_tensor *tensor);

/* ---- A program instead of a shared object ------------------------------------------ */

typedef int (*raytrain_train_func)(raytrain_context *ctx);

/*
 * Run train_func as one worker of the group that raytrain-run started; main()'s last
 * call: `return raytrain_main(argc, argv, train_func);`. Returns the exit status. Started
 * by hand, without raytrain-run, it says how to start it and returns 2.
 */
RAYTRAIN_API int raytrain_main(int argc, char *argv[], raytrain_train_func train_func);

#ifdef __cplusplus
}
#endif

#endif /* RAYTRAIN_H */
