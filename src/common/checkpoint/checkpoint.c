/*
 * checkpoint.c - a checkpoint in memory: created, filled by puts, destroyed.
 */
#include "config.h"

#include "checkpoint/checkpoint_impl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/quote.h"
#include "util/tensor.h"

raytrain_checkpoint *checkpoint_create(struct error *err)
{
    raytrain_checkpoint *ck = calloc(1, sizeof *ck);

    if (!ck)
        error_no_memory(err);
    else
        ck->fd = -1;
    return ck;
}

void checkpoint_stays(raytrain_checkpoint *ck)
{
    ck->stays = true;
}

void checkpoint_release_devices(raytrain_checkpoint *ck)
{
    for (size_t i = 0; i < ck->n_tensors; i++) {
        struct tensor_entry *e = &ck->tensors[i];

        if (e->device == RAYTRAIN_HOST)
            continue;
        memory_release(&e->memory);
        e->memory.release = NULL;
    }
}

void checkpoint_destroy(raytrain_checkpoint *ck)
{
    if (!ck)
        return;
    for (size_t i = 0; i < ck->n_tensors; i++) {
        free(ck->tensors[i].name);
        memory_release(&ck->tensors[i].memory);
    }
    free(ck->tensors);
    name_map_clear(&ck->names);
    attachments_clear(ck);
    if (ck->fd >= 0)
        close(ck->fd);
    free(ck->path);
    free((void *)ck->meta.metrics);
    free(ck->parts);
    free(ck->shape_sums);
    free(ck->public_names);
    if (ck->foreign)
        ck->foreign->destroy(ck->foreign);
    free(ck);
}

/* Check a tensor that is put. This rank has its data, unless `elsewhere`. *bytes is the
 * size of the whole tensor. */
static int put_check(const raytrain_tensor *t, const raytrain_slab *slab,
                     bool elsewhere, uint64_t *bytes, struct error *err)
{
    size_t element = raytrain_dtype_size(t->dtype);
    uint64_t mine;

    if (tensor_check(t, err) < 0)
        return -1;
    if (element == 0)
        return error_set(err, RAYTRAIN_EINVAL, "unknown element type %d",
                         (int)t->dtype);
    if (t->ndim < 0 || t->ndim > RAYTRAIN_MAX_DIMS)
        return error_set(err, RAYTRAIN_EINVAL, "%d dimensions; 0 to %d are possible",
                         t->ndim, RAYTRAIN_MAX_DIMS);
    if (slab_tensor_bytes(t->ndim, t->shape, element, bytes) < 0)
        return error_set(err, RAYTRAIN_EINVAL, "its size does not fit 63 bits");
    mine = *bytes;
    if (slab && slab_check(t->ndim, t->shape, slab, err) < 0)
        return -1;
    if (elsewhere || (slab && slab_is_empty(t->ndim, slab)))
        mine = 0;
    if (mine > 0 && !t->data)
        return error_set(err, RAYTRAIN_EINVAL, "its data is NULL");
    return 0;
}

int checkpoint_check_tensor(const raytrain_tensor *tensor, const raytrain_slab *slab,
                            uint64_t *bytes, struct error *err)
{
    if (put_check(tensor, slab, false, bytes, err) < 0)
        return -1;
    if (slab) /* its size is less than that of the whole, which fits */
        slab_tensor_bytes(tensor->ndim, slab->count, raytrain_dtype_size(tensor->dtype),
                          bytes);
    return 0;
}

/* Ranks with equal slabs divide the work, so an even share of the tensor is the most
 * that a rank copies. */
void checkpoint_expect(raytrain_checkpoint *ck, const char *name,
                       const raytrain_tensor *tensor, const raytrain_slab *slab,
                       int size)
{
    struct tensor_entry *e = entry_find(ck, name, NULL);
    uint64_t share, mine;

    if (!e || checkpoint_check_tensor(tensor, slab, &mine, NULL) < 0)
        return;
    share = e->bytes / (uint64_t)size + (e->bytes % (uint64_t)size != 0);
    if (e->expected >= share)
        return;
    mine = mine < share - e->expected ? mine : share - e->expected;
    e->expected += mine;
    ck->expected += mine;
    if (tensor->device != RAYTRAIN_HOST)
        ck->expected_devices += mine;
}

uint64_t checkpoint_expected(const raytrain_checkpoint *ck,
                             enum checkpoint_snapshot which)
{
    return which == SNAPSHOT_DEVICES ? ck->expected_devices : ck->expected;
}

/* A new entry for the tensor, without its data; NULL on failure. */
static struct tensor_entry *tensor_add(raytrain_checkpoint *ck, const char *name,
                                       const raytrain_tensor *tensor,
                                       const raytrain_slab *slab, bool elsewhere,
                                       struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    struct tensor_entry *e;
    uint64_t bytes;

    if (!ck || !name || !tensor) {
        error_set(err, RAYTRAIN_EINVAL, "checkpoint, name or tensor is NULL");
        return NULL;
    }
    if (ck->restored) {
        error_set(err, RAYTRAIN_EINVAL,
                  "a restored checkpoint cannot be changed; create a new one");
        return NULL;
    }
    if (put_check(tensor, slab, elsewhere, &bytes, err) < 0) {
        error_prefix(err, "tensor %s", quote(name, quoted));
        return NULL;
    }
    e = entry_add(ck, strdup(name), err);
    if (!e)
        return NULL;
    e->dtype = tensor->dtype;
    e->ndim = tensor->ndim;
    if (e->ndim > 0)
        memcpy(e->shape, tensor->shape, (size_t)e->ndim * sizeof *e->shape);
    e->element_bytes = entry_dtype_size(e->dtype);
    e->bytes = bytes;
    e->device = tensor->device;
    e->device_id = tensor->device_id;
    slab_whole(e->ndim, e->shape, &e->slab);
    return e;
}

int checkpoint_put(raytrain_checkpoint *ck, const char *name,
                   const raytrain_tensor *tensor, const raytrain_slab *slab,
                   struct error *err)
{
    return checkpoint_give(ck, name, tensor, slab, NULL, NULL, err);
}

int checkpoint_give(raytrain_checkpoint *ck, const char *name,
                    const raytrain_tensor *tensor, const raytrain_slab *slab,
                    raytrain_release release, void *arg, struct error *err)
{
    struct tensor_entry *e = tensor_add(ck, name, tensor, slab, false, err);

    if (!e)
        return -1;
    e->data = tensor->data;
    e->memory = (struct memory){release, tensor->data, arg};
    e->sharded = slab != NULL;
    for (int d = 0; slab && d < e->ndim; d++) {
        e->slab.start[d] = slab->start[d];
        e->slab.count[d] = slab->count[d];
    }
    return 0;
}

int checkpoint_give_one(raytrain_checkpoint *ck, const char *name,
                        const raytrain_tensor *tensor, int writer, bool mine,
                        raytrain_release release, void *arg, struct error *err)
{
    struct tensor_entry *e = tensor_add(ck, name, tensor, NULL, !mine, err);

    if (!e)
        return -1;
    if (mine) {
        e->data = tensor->data;
        e->memory = (struct memory){release, tensor->data, arg};
    }
    e->sharded = true;
    e->writer = writer;
    e->elsewhere = !mine;
    return 0;
}

static void release_free(void *data, void *arg)
{
    (void)arg;
    free(data);
}

int checkpoint_put_string(raytrain_checkpoint *ck, const char *name, const char *value,
                          struct error *err)
{
    struct tensor_entry *e;
    char *copy;

    if (!ck || !name || !value)
        return error_set(err, RAYTRAIN_EINVAL, "checkpoint, name or string is NULL");
    if (ck->restored)
        return error_set(err, RAYTRAIN_EINVAL,
                         "a restored checkpoint cannot be changed; create a new one");
    if (strlen(value) >= INT32_MAX)
        return error_set(err, RAYTRAIN_EINVAL,
                         "'%s': a string of 2 GiB or more; put it as a tensor of bytes",
                         name);
    copy = strdup(value);
    if (!copy)
        return error_no_memory(err);
    e = entry_add(ck, strdup(name), err);
    if (!e) {
        free(copy);
        return -1;
    }
    e->dtype = DTYPE_STRING;
    e->ndim = 1;
    e->shape[0] = e->bytes = strlen(copy) + 1;
    e->element_bytes = 1;
    e->data = copy;
    e->memory = (struct memory){release_free, copy, NULL};
    slab_whole(1, e->shape, &e->slab);
    return 0;
}

void checkpoint_add_metadata(raytrain_checkpoint *ck,
                             int (*write)(const void *arg, struct h5_image *file,
                                          struct error *err),
                             const void *arg)
{
    ck->write_metadata = write;
    ck->write_metadata_arg = arg;
}

/* ---- Facts about a restored checkpoint ---- */

const char *checkpoint_path(const raytrain_checkpoint *ck)
{
    return ck->path;
}

const struct checkpoint_meta *checkpoint_meta(const raytrain_checkpoint *ck)
{
    return &ck->meta;
}
