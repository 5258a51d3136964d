/*
 * by_parts.c - tensors that are cut across their rows, and stored by parts.
 *
 * A rank that holds some columns of a row-major tensor (tensor parallelism) has a short
 * run of each row. In a contiguous dataset these runs are far apart: a rank would write
 * them one by one, and to read them again it would read all of the file. So the parts of
 * such a tensor lie in the file one after the other, each dense as in the memory of the
 * rank that wrote it: it is written by one long write, and read by one if the tensor is
 * cut as it was. To HDF5 the parts are a line of elements, a contiguous dataset below
 * /raytrain/parts, and the tensor is a virtual dataset, a view of that line. HDF5 1.10 or
 * later, h5dump and h5py read it like any other.
 *
 * Chunks of HDF5 would not do: all have one size, and begin at its multiples, which
 * does not fit 1000 columns on 3 ranks. If the ranks exchanged pieces, so that each
 * writes whole rows, most bytes of the tensor would travel at each save, and a rank
 * that reads its columns would not gain, since reading is not collective.
 *
 * The code for checksums, for copies in memory and for pages that nodes share depends
 * on this only through part_stream_init(): a stream that happens to be contiguous in
 * the file.
 */
#include "config.h"

#include <stdlib.h>

#include "checkpoint/by_parts.h"
#include "checkpoint/slab_io.h"
#include "util/fs.h"

#define SHORT_RUN   65536u     /* runs shorter than this are slow */
#define PART_MIN    4096u      /* HDF5 needs about 200 bytes for a part */
#define PIECE_BYTES (1u << 20) /* read at once */

bool by_parts_choose(const struct tensor_entry *e, const struct part *parts, size_t n)
{
    struct slab_stream stream;

    if (n < 2 || e->bytes / n < PART_MIN)
        return false;
    for (size_t k = 0; k < n; k++) {
        slab_stream_init(&stream, e->ndim, e->shape, e->element_bytes, &parts[k].slab);
        if (stream.segment_bytes < SHORT_RUN && stream.segment_bytes < stream.bytes)
            return true;
    }
    return false;
}

void part_stream_init(const struct tensor_entry *e, const raytrain_slab *slab,
                      uint64_t at, struct slab_stream *stream)
{
    slab_stream_init(stream, e->ndim, e->shape, e->element_bytes, slab);
    if (e->by_parts && stream->bytes > 0)
        *stream = (struct slab_stream){
            .bytes = stream->bytes, .segment_bytes = stream->bytes, .base = at};
}

/* ---- Reading ---- */

/* The stream of a box within a larger one, which is dense. */
static void stream_within(const struct tensor_entry *e, const raytrain_slab *outer,
                          const raytrain_slab *box, struct slab_stream *stream)
{
    raytrain_slab inner = *box;

    for (int d = 0; d < e->ndim; d++)
        inner.start[d] -= outer->start[d];
    slab_stream_init(stream, e->ndim, outer->count, e->element_bytes, &inner);
}

/* Read a stream, which begins at `base` of the file, and scatter it along another. */
static int scattered_read(int fd, uint64_t base, const struct slab_stream *from,
                          const struct slab_stream *to, void *data)
{
    void *piece = malloc(PIECE_BYTES);
    int rc = piece ? 0 : -1;

    for (uint64_t at = 0; rc == 0 && at < from->bytes;) {
        uint64_t left = from->bytes - at, n = left < PIECE_BYTES ? left : PIECE_BYTES;

        rc = slab_read(fd, base, from, at, at + n, piece);
        if (rc == 0)
            slab_stream_scatter(to, at, at + n, piece, data, 0);
        at += n;
    }
    free(piece); /* keeps errno */
    return rc;
}

/* Read the elements that the slab and one part have in common. */
static int part_get(const raytrain_checkpoint *ck, const struct tensor_entry *e,
                    const struct part *part, const raytrain_slab *slab, void *data)
{
    uint64_t base = e->offset + part->at;
    struct slab_stream from, to;
    raytrain_slab box;

    if (!slab_common(e->ndim, &part->slab, slab, &box))
        return 0;
    stream_within(e, &part->slab, &box, &from);
    stream_within(e, slab, &box, &to);
    if (to.segment_bytes == to.bytes)
        return slab_read_all(ck->fd, base, &from, (unsigned char *)data + to.base);
    return scattered_read(ck->fd, base, &from, &to, data);
}

int by_parts_get(const raytrain_checkpoint *ck, const struct tensor_entry *e,
                 const raytrain_slab *slab, void *data)
{
    const struct part *parts = ck->parts + e->first_part;

    for (uint64_t k = 0; k < e->n_parts; k++)
        if (part_get(ck, e, &parts[k], slab, data) < 0)
            return -1;
    return 0;
}

int by_parts_read(const raytrain_checkpoint *ck, const struct tensor_entry *e,
                  uint64_t from, void *data, size_t n)
{
    const struct part *parts = ck->parts + e->first_part;
    void *piece = malloc(n + 1);
    int rc = piece ? 0 : -1;

    for (uint64_t k = 0; rc == 0 && k < e->n_parts; k++) {
        struct slab_stream stream;
        uint64_t first, end;

        slab_stream_init(&stream, e->ndim, e->shape, e->element_bytes, &parts[k].slab);
        first = slab_stream_find(&stream, from);
        end = slab_stream_find(&stream, from + n);
        rc = fs_pread_full(ck->fd, piece, end - first, e->offset + parts[k].at + first);
        if (rc == 0)
            slab_stream_scatter(&stream, first, end, piece, data, from);
    }
    free(piece);
    return rc;
}
