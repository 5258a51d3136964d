/*
 * extents.c - which bytes of a checkpoint's file are whose.
 */
#include "config.h"

#include <stdlib.h>

#include "checkpoint/checkpoint_impl.h"

static int extent_compare(const void *a, const void *b)
{
    const struct extent *p = a, *q = b;

    return (p->start > q->start) - (p->start < q->start);
}

int extents_gaps(const raytrain_checkpoint *ck, uint64_t file_bytes,
                 struct extent **gaps, size_t *n, struct error *err)
{
    struct extent *used = calloc(ck->n_tensors + 1, sizeof *used);
    struct extent *out = calloc(ck->n_tensors + 1, sizeof *out);
    uint64_t at = HEAD_BYTES;
    size_t n_used = 0, n_out = 0;
    int rc = 0;

    if (!used || !out)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < ck->n_tensors; i++) {
        const struct tensor_entry *e = &ck->tensors[i];

        if (e->bytes == 0)
            continue;
        if (e->offset > file_bytes || e->bytes > file_bytes - e->offset)
            rc = error_set(err, RAYTRAIN_ECORRUPT, "dataset '%s' leaves the file",
                           e->name);
        used[n_used++] = (struct extent){e->offset, e->offset + e->bytes};
    }
    if (rc == 0 && n_used > 1)
        qsort(used, n_used, sizeof *used, extent_compare);
    for (size_t i = 0; rc == 0 && i < n_used; i++) {
        if (used[i].start < at)
            rc = error_set(err, RAYTRAIN_ECORRUPT, "datasets overlap in the file");
        else if (used[i].start > at)
            out[n_out++] = (struct extent){at, used[i].start};
        at = used[i].end;
    }
    if (rc == 0 && at < file_bytes)
        out[n_out++] = (struct extent){at, file_bytes};
    free(used);
    if (rc < 0) {
        free(out);
        return -1;
    }
    *gaps = out;
    *n = n_out;
    return 0;
}
