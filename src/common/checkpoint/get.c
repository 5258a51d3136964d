/*
 * get.c - read from a restored checkpoint: tensors by name and slab, strings, items.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/by_parts.h"
#include "checkpoint/checkpoint_impl.h"
#include "checkpoint/slab_io.h"
#include "util/fs.h"
#include "util/tensor.h"

static int restored_check(const raytrain_checkpoint *ck, struct error *err)
{
    if (!ck)
        return error_set(err, RAYTRAIN_EINVAL, "the checkpoint is NULL");
    if (!ck->restored)
        return error_set(err, RAYTRAIN_EINVAL,
                         "a checkpoint that is being written cannot be read");
    return 0;
}

static int no_string(const struct tensor_entry *e, struct error *err)
{
    if (e->dtype != DTYPE_STRING)
        return 0;
    return error_set(err, RAYTRAIN_ETYPE,
                     "'%s' is a string; read it with raytrain_checkpoint_get_string()",
                     e->name);
}

static const struct tensor_entry *stored_entry_find(raytrain_checkpoint *ck,
                                                    const char *name, struct error *err)
{
    const struct tensor_entry *e = entry_find(ck, name, err);

    if (!e && name && ck->foreign)
        ck->foreign->absent(ck, name, err);
    return e;
}

int checkpoint_info(raytrain_checkpoint *ck, const char *name, raytrain_tensor *info,
                    struct error *err)
{
    const struct tensor_entry *e;

    if (restored_check(ck, err) < 0)
        return -1;
    if (!info)
        return error_set(err, RAYTRAIN_EINVAL, "info is NULL");
    e = stored_entry_find(ck, name, err);
    if (!e || no_string(e, err) < 0)
        return -1;
    *info = (raytrain_tensor){.dtype = (raytrain_dtype)e->dtype, .ndim = e->ndim};
    memcpy(info->shape, e->shape, sizeof info->shape);
    return 0;
}

/* "float32 [3, 4]" */
static const char *shape_text(uint32_t dtype, int ndim, const uint64_t *shape,
                              char text[256])
{
    int n = snprintf(text, 256, "%s [", entry_dtype_name(dtype));

    for (int d = 0; d < ndim && d < RAYTRAIN_MAX_DIMS; d++)
        n += snprintf(text + n, 256 - (size_t)n, "%s%" PRIu64, d ? ", " : "", shape[d]);
    snprintf(text + n, 256 - (size_t)n, "]");
    return text;
}

static int tensor_match(const struct tensor_entry *e, const raytrain_tensor *t,
                        struct error *err)
{
    bool alike = (uint32_t)t->dtype == e->dtype && t->ndim == e->ndim;
    char stored[256], asked[256];

    for (int d = 0; alike && d < e->ndim; d++)
        alike = t->shape[d] == e->shape[d];
    if (alike)
        return 0;
    return error_set(err, RAYTRAIN_ETYPE, "'%s' is %s, and was asked for as %s",
                     e->name, shape_text(e->dtype, e->ndim, e->shape, stored),
                     shape_text(t->dtype, t->ndim, t->shape, asked));
}

int checkpoint_get(raytrain_checkpoint *ck, const char *name,
                   const raytrain_tensor *tensor, const raytrain_slab *slab,
                   struct error *err)
{
    const struct tensor_entry *e;
    struct slab_stream stream;
    raytrain_slab whole;

    if (restored_check(ck, err) < 0)
        return -1;
    if (!tensor)
        return error_set(err, RAYTRAIN_EINVAL, "tensor is NULL");
    e = stored_entry_find(ck, name, err);
    if (!e || no_string(e, err) < 0 || tensor_match(e, tensor, err) < 0)
        return -1;
    if (tensor_check_host(tensor, err) < 0)
        return error_prefix(err, "'%s'", e->name);
    if (!slab) {
        slab_whole(e->ndim, e->shape, &whole);
        slab = &whole;
    }
    if (slab_check(e->ndim, e->shape, slab, err) < 0)
        return error_prefix(err, "'%s'", e->name);
    slab_stream_init(&stream, e->ndim, e->shape, e->element_bytes, slab);
    if (e->bytes == 0 || stream.bytes == 0)
        return 0;
    if (!tensor->data)
        return error_set(err, RAYTRAIN_EINVAL, "'%s': tensor->data is NULL", e->name);
    if (ck->foreign && e->offset == 0)
        return ck->foreign->get(ck, e, slab, tensor->data, err);
    if (e->by_parts ? by_parts_get(ck, e, slab, tensor->data) < 0
                    : slab_read_all(ck->fd, e->offset, &stream, tensor->data) < 0)
        return checkpoint_read_error(ck, err);
    return 0;
}

int checkpoint_get_string(raytrain_checkpoint *ck, const char *name, char **value,
                          struct error *err)
{
    const struct tensor_entry *e;
    char *text;

    if (restored_check(ck, err) < 0)
        return -1;
    if (!value)
        return error_set(err, RAYTRAIN_EINVAL, "value is NULL");
    e = stored_entry_find(ck, name, err);
    if (!e)
        return -1;
    if (e->dtype != DTYPE_STRING)
        return error_set(err, RAYTRAIN_ETYPE, "'%s' is a tensor, not a string",
                         e->name);
    if (ck->foreign)
        return ck->foreign->get_string(ck, e, value, err);
    text = malloc(e->bytes);
    if (!text)
        return error_no_memory(err);
    if (fs_pread_full(ck->fd, text, e->bytes, e->offset) < 0) {
        checkpoint_read_error(ck, err);
        free(text);
        return -1;
    }
    text[e->bytes - 1] = '\0';
    *value = text;
    return 0;
}

/* ---- The list of entries ---- */

bool checkpoint_is_restored(const raytrain_checkpoint *ck)
{
    return ck->restored;
}

bool checkpoint_is_verified(const raytrain_checkpoint *ck)
{
    return ck->restored && !ck->foreign;
}

int public_names_make(raytrain_checkpoint *ck, struct error *err)
{
    ck->public_names = calloc(ck->n_tensors + 1, sizeof *ck->public_names);
    if (!ck->public_names)
        return error_no_memory(err);
    for (size_t i = 0; i < ck->n_tensors; i++)
        if (!name_is_below(ck->tensors[i].name, CHECKPOINT_RESERVED))
            ck->public_names[ck->n_public_names++] = ck->tensors[i].name;
    return 0;
}

const char *checkpoint_name(const raytrain_checkpoint *ck, size_t i)
{
    return i < ck->n_public_names ? ck->public_names[i] : NULL;
}

bool checkpoint_item(const raytrain_checkpoint *ck, size_t i,
                     struct checkpoint_item *item)
{
    const struct tensor_entry *e;

    if (i >= ck->n_tensors)
        return false;
    e = &ck->tensors[i];
    *item = (struct checkpoint_item){
        .name = e->name,
        .type = entry_dtype_name(e->dtype),
        .is_string = e->dtype == DTYPE_STRING,
        .is_internal = name_is_below(e->name, CHECKPOINT_RESERVED),
        .is_attachment = name_is_below(e->name, CHECKPOINT_ATTACHED) &&
                         e->dtype == RAYTRAIN_BYTES && e->ndim == 1,
        .dtype = e->dtype == DTYPE_STRING ? RAYTRAIN_BYTES : (raytrain_dtype)e->dtype,
        .ndim = e->ndim,
        .bytes = e->bytes};
    memcpy(item->shape, e->shape, sizeof item->shape);
    return true;
}

bool checkpoint_item_find(const raytrain_checkpoint *ck, const char *name, size_t *i)
{
    int64_t number = name_map_find(&ck->names, name, strlen(name));

    *i = number >= 0 ? (size_t)number : 0;
    return number >= 0;
}

int checkpoint_item_read(const raytrain_checkpoint *ck, size_t i, uint64_t from,
                         void *buf, size_t n, struct error *err)
{
    const struct tensor_entry *e = &ck->tensors[i];
    int rc = 0;

    if (e->by_parts)
        rc = by_parts_read(ck, e, from, buf, n);
    else if (n > 0)
        rc = fs_pread_full(ck->fd, buf, n, e->offset + from);
    return rc < 0 ? checkpoint_read_error(ck, err) : 0;
}

uint64_t checkpoint_file_bytes(const raytrain_checkpoint *ck)
{
    return ck->head.file_bytes;
}
