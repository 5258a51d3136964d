/*
 * device_tensors.c - tensors of checkpoints whose data are on a device.
 *
 * Tensors that are put are copied when the report takes a snapshot (saving.h). Reading
 * goes through pinned memory, piece by piece: while the GPU copies one, the next is
 * read. Large tensors are read by a few threads, as for host memory.
 */
#include "session/session.h"

#include <pthread.h>
#include <stdatomic.h>

#include "checkpoint/slab.h"
#include "device/device.h"
#include "session/checkpoints.h"
#include "util/quote.h"
#include "util/tensor.h"
#include "util/thread.h"

int session_device_put_check(const char *name, const raytrain_tensor *tensor,
                             const raytrain_slab *slab, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    uint64_t bytes;
    int rc = checkpoint_check_tensor(tensor, slab, &bytes, err);

    if (rc == 0 && bytes > 0)
        rc = device_check(tensor->device, tensor->device_id, tensor->data, bytes, err);
    return rc < 0 ? error_prefix(err, "tensor %s", quote(name, quoted)) : 0;
}

/* Does the checkpoint have this tensor, with this slab? *host is the tensor without
 * data. */
static int get_check(raytrain_checkpoint *ck, const char *name, raytrain_tensor *host,
                     const raytrain_slab *slab, struct error *err)
{
    uint64_t element[2]; /* a scalar has no empty slab */
    raytrain_slab none = {{0}, {0}};
    int rc;

    host->data = element;
    rc = checkpoint_get(ck, name, host, &none, err);
    host->data = NULL;
    if (rc == 0 && slab && slab_check(host->ndim, host->shape, slab, err) < 0)
        rc = error_prefix(err, "'%s'", name);
    return rc;
}

/* ---- Reading, by several threads ---- */

/* One thread, which reads every `of`-th piece into memory of its lane. */
struct piece_reader {
    raytrain_checkpoint *ck;
    const char *name;
    raytrain_tensor host;
    const raytrain_slab *slab;
    const struct device_store *store;
    atomic_bool *failed; /* a thread has failed, and the others stop */
    int lane, of;
    int rc;
    struct error err;
    pthread_t thread;
    bool started;
};

static int piece_get(struct piece_reader *r, struct device_lane *lane,
                     const raytrain_slab *piece, uint64_t at, uint64_t n)
{
    r->host.data = device_lane_room(lane, &r->err);
    if (!r->host.data || checkpoint_get(r->ck, r->name, &r->host, piece, &r->err) < 0)
        return -1;
    return device_lane_send(lane, at, (size_t)n, &r->err);
}

static int pieces_get(struct piece_reader *r, struct device_lane *lane)
{
    struct slab_cut cut;
    raytrain_slab piece;
    uint64_t at = 0, n;

    slab_cut_init(&cut, r->host.ndim, raytrain_dtype_size(r->host.dtype), r->slab,
                  DEVICE_PIECE_BYTES);
    for (int i = 0; slab_cut_next(&cut, &piece, &n); i = (i + 1) % r->of, at += n) {
        if (i != r->lane)
            continue;
        if (atomic_load(r->failed))
            return 0;
        if (piece_get(r, lane, &piece, at, n) < 0)
            return -1;
    }
    return 0;
}

static void *reader_run(void *arg)
{
    struct piece_reader *r = arg;
    struct device_lane lane;

    r->rc = device_lane_enter(r->store, r->lane, &lane, &r->err);
    if (r->rc == 0) {
        r->rc = pieces_get(r, &lane);
        device_lane_leave(&lane);
    }
    if (r->rc < 0)
        atomic_store(r->failed, true);
    return NULL;
}

/* Read all that `all` describes, by n threads, including this one. */
static int readers_run(const struct piece_reader *all, int n, struct error *err)
{
    struct piece_reader readers[DEVICE_LANES_MAX];
    int rc = 0;

    for (int i = 0; i < n; i++) {
        readers[i] = *all;
        readers[i].lane = i;
        readers[i].of = n;
    }
    for (int i = 1; i < n; i++)
        readers[i].started =
            thread_start(&readers[i].thread, reader_run, &readers[i], NULL) == 0;
    /* This thread takes the shares for which no thread could be started. */
    for (int i = 0; i < n; i++)
        if (!readers[i].started)
            reader_run(&readers[i]);
    for (int i = 0; i < n; i++) {
        if (readers[i].started)
            pthread_join(readers[i].thread, NULL);
        if (readers[i].rc < 0 && rc == 0 && err)
            *err = readers[i].err;
        rc = readers[i].rc < 0 ? -1 : rc;
    }
    return rc;
}

/* Files of other programs are read by HDF5, in this thread only. */
static int readers_wanted(const raytrain_checkpoint *ck, uint64_t bytes)
{
    int n = checkpoint_is_verified(ck) ? slab_readers(bytes) : 1;

    return n < DEVICE_LANES_MAX ? n : DEVICE_LANES_MAX;
}

/* Read a slab that is not empty, of a tensor that the checkpoint has. */
static int slab_get(raytrain_checkpoint *ck, const char *name,
                    const raytrain_tensor *tensor, const raytrain_tensor *host,
                    const raytrain_slab *slab, struct error *err)
{
    struct device_store store;
    atomic_bool failed;
    const struct piece_reader all = {.ck = ck,
                                     .name = name,
                                     .host = *host,
                                     .slab = slab,
                                     .store = &store,
                                     .failed = &failed};
    uint64_t bytes;
    int rc, n;

    atomic_init(&failed, false);
    slab_tensor_bytes(host->ndim, slab->count, raytrain_dtype_size(host->dtype),
                      &bytes);
    n = readers_wanted(ck, bytes);
    if (device_store_begin(tensor->device, tensor->device_id, tensor->data, bytes, n,
                           &store, err) < 0)
        return error_prefix(err, "'%s'", name);
    rc = readers_run(&all, n, err);
    if (device_store_end(&store, rc == 0 ? err : NULL) < 0)
        rc = -1;
    return rc;
}

int session_device_get(raytrain_checkpoint *ck, const char *name,
                       const raytrain_tensor *tensor, const raytrain_slab *slab,
                       struct error *err)
{
    raytrain_tensor host = *tensor;
    raytrain_slab whole;

    host.device = RAYTRAIN_HOST;
    host.device_id = 0;
    if (get_check(ck, name, &host, slab, err) < 0)
        return -1;
    if (tensor_check(tensor, err) < 0)
        return error_prefix(err, "'%s'", name);
    slab_whole(host.ndim, host.shape, &whole);
    slab = slab ? slab : &whole;
    if (slab_is_empty(host.ndim, slab))
        return 0;
    if (!tensor->data)
        return error_set(err, RAYTRAIN_EINVAL, "'%s': tensor->data is NULL", name);
    return slab_get(ck, name, tensor, &host, slab, err);
}
