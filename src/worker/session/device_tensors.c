/*
 * device_tensors.c - tensors of checkpoints whose data are on a device.
 *
 * What is put is copied when the report takes a snapshot (saving.h). What is read comes piece
 * by piece through pinned memory: while the card copies one, the next is read.
 */
#include "session/session.h"

#include "checkpoint/slab.h"
#include "device/device.h"
#include "util/quote.h"
#include "util/tensor.h"

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

/* Does the checkpoint have this tensor, with this slab? *host is the tensor without data.
 */
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

static int pieces_get(raytrain_checkpoint *ck, const char *name, raytrain_tensor *host,
                      const raytrain_slab *slab, struct device_store *store,
                      struct error *err)
{
    struct slab_cut cut;
    raytrain_slab piece;
    uint64_t n;

    slab_cut_init(&cut, host->ndim, raytrain_dtype_size(host->dtype), slab,
                  DEVICE_PIECE_BYTES);
    while (slab_cut_next(&cut, &piece, &n)) {
        host->data = device_store_room(store, err);
        if (!host->data || checkpoint_get(ck, name, host, &piece, err) < 0 ||
            device_store_send(store, (size_t)n, err) < 0)
            return -1;
    }
    return 0;
}

int session_device_get(raytrain_checkpoint *ck, const char *name,
                       const raytrain_tensor *tensor, const raytrain_slab *slab,
                       struct error *err)
{
    raytrain_tensor host = *tensor;
    struct device_store store;
    raytrain_slab whole;
    uint64_t bytes;
    int rc;

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
    slab_tensor_bytes(host.ndim, slab->count, raytrain_dtype_size(host.dtype), &bytes);
    if (!tensor->data)
        return error_set(err, RAYTRAIN_EINVAL, "'%s': tensor->data is NULL", name);
    if (device_store_begin(tensor->device, tensor->device_id, tensor->data, bytes,
                           &store, err) < 0)
        return error_prefix(err, "'%s'", name);
    rc = pieces_get(ck, name, &host, slab, &store, err);
    if (device_store_end(&store, rc == 0 ? err : NULL) < 0)
        rc = -1;
    return rc;
}
