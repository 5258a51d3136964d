/*
 * part_reader.c - read the two tables of a checkpoint that grow with the number of ranks that
 * wrote it, shapes and hashes, from its file: a block at a time, and never all of them.
 *
 * Opening a file checks every number in the table of shapes, and keeps a hash of each of
 * its blocks. A reader compares these with what it reads later: every rank gets the
 * same parts of a checkpoint, or an error.
 */
#include "config.h"

#include <string.h>

#include "checkpoint/checksum.h"
#include "checkpoint/part_reader.h"
#include "util/fs.h"

/* ---- Numbers ---- */

void hashes_start(struct table *hashes, const raytrain_checkpoint *ck)
{
    *hashes = (struct table){.at = ck->head.hashes_at, .n = ck->head.n_hashes};
}

/* Bring the block of number i into memory. */
static int table_load(const raytrain_checkpoint *ck, struct table *t, uint64_t i,
                      struct error *err)
{
    uint64_t first = i - i % TABLE_BLOCK, left = t->n - first;

    t->first = first;
    t->end = first; /* in case it fails */
    if (left > TABLE_BLOCK)
        left = TABLE_BLOCK;
    if (fs_pread_full(ck->fd, t->numbers, left * sizeof *t->numbers,
                      t->at + first * sizeof *t->numbers) < 0)
        return checkpoint_read_error(ck, err);
    t->end = first + left;
    return 0;
}

static bool table_has(const struct table *t, uint64_t i)
{
    return i >= t->first && i < t->end;
}

int table_get(const raytrain_checkpoint *ck, struct table *t, uint64_t i, uint64_t *to,
              struct error *err)
{
    if (!table_has(t, i) && table_load(ck, t, i, err) < 0)
        return -1;
    *to = t->numbers[i - t->first];
    return 0;
}

uint64_t table_blocks(uint64_t n)
{
    return n / TABLE_BLOCK + 1;
}

/* ---- Parts ---- */

void part_reader_start(struct part_reader *r, const raytrain_checkpoint *ck)
{
    *r = (struct part_reader){
        .ck = ck, .shapes = {.at = ck->head.shapes_at, .n = ck->head.n_shapes}};
}

/* The block in memory is that of number r->next. */
static int shapes_load(struct part_reader *r, struct error *err)
{
    struct table *t = &r->shapes;
    uint64_t *sum = &r->ck->shape_sums[r->next / TABLE_BLOCK], found;

    if (table_load(r->ck, t, r->next, err) < 0)
        return -1;
    found = XXH3_64bits(t->numbers, (t->end - t->first) * sizeof *t->numbers);
    if (r->opening)
        *sum = found;
    if (found == *sum)
        return 0;
    t->end = t->first;
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "%s: its tables are not what they were when it was opened",
                     r->ck->path);
}

/* The next numbers of the table, for this tensor. */
static int extents_take(struct part_reader *r, const struct tensor_entry *e,
                        uint64_t extents[RAYTRAIN_MAX_DIMS], const char *missing,
                        struct error *err)
{
    for (int d = 0; d < e->ndim; d++, r->next++) {
        if (r->next == r->shapes.n)
            return tensor_fault(r->ck, e, missing, err);
        if (!table_has(&r->shapes, r->next) && shapes_load(r, err) < 0)
            return -1;
        extents[d] = r->shapes.numbers[r->next - r->shapes.first];
    }
    return 0;
}

int part_reader_shape(struct part_reader *r, const struct tensor_entry *e,
                      uint64_t shape[RAYTRAIN_MAX_DIMS], struct error *err)
{
    r->at = 0;
    return extents_take(r, e, shape, "its shape is missing", err);
}

int part_reader_part(struct part_reader *r, const struct tensor_entry *e,
                     struct part *part, struct error *err)
{
    const struct file_head *head = &r->ck->head;
    raytrain_slab slab = {0};
    struct slab_stream stream;
    uint64_t n_hashes;

    if (!e->sharded)
        slab_whole(e->ndim, e->shape, &slab);
    else if (extents_take(r, e, slab.start, "its parts are missing", err) < 0 ||
             extents_take(r, e, slab.count, "its parts are missing", err) < 0)
        return -1;
    if (slab_check(e->ndim, e->shape, &slab, NULL) < 0 || slab_is_empty(e->ndim, &slab))
        return tensor_fault(r->ck, e, "a part of it exceeds its shape", err);
    slab_stream_init(&stream, e->ndim, e->shape, e->element_bytes, &slab);
    n_hashes = chunks_of(stream.bytes, head->chunk_bytes);
    if (n_hashes > head->n_hashes - r->hash)
        return tensor_fault(r->ck, e, "it has no checksums", err);
    *part = (struct part){.tensor = (uint64_t)(e - r->ck->tensors),
                          .slab = slab,
                          .at = r->at,
                          .first_hash = r->hash,
                          .n_hashes = n_hashes};
    r->at += stream.bytes; /* if it wraps around, the parts overlap, and are refused */
    r->hash += n_hashes;
    return 0;
}

int part_reader_next(struct part_reader *r, struct part *part, struct error *err)
{
    for (; r->tensor < r->ck->n_tensors; r->tensor++, r->part = 0) {
        const struct tensor_entry *e = &r->ck->tensors[r->tensor];
        uint64_t shape[RAYTRAIN_MAX_DIMS];

        if (r->part == 0 && part_reader_shape(r, e, shape, err) < 0)
            return -1;
        if (r->part < e->n_parts) {
            r->part++;
            return part_reader_part(r, e, part, err) < 0 ? -1 : 1;
        }
    }
    return 0;
}
