/* index.h - the tables of a checkpoint that are read as a whole. */
#ifndef RAYTRAIN_CHECKPOINT_INDEX_H
#define RAYTRAIN_CHECKPOINT_INDEX_H

#include "checkpoint/checkpoint_impl.h"

/* Bytes of those tables that are read as a whole: report, metrics, tensors. -1 if the
 * head's numbers make no sense. */
int index_bytes(const struct file_head *head, uint64_t *bytes);
/* Fill ck from its head, these tables, which lie in memory one after the other, and the
 * table of shapes in its file. Trusts no number in them. */
int index_parse(raytrain_checkpoint *ck, const void *tables, uint64_t n,
                struct error *err);

/* A range of bytes of a file. */
struct extent {
    uint64_t start, end;
};
/* The metadata: the extents of a file that are neither its head nor tensors' bytes, in
 * order. *extents is malloc'ed. RAYTRAIN_ECORRUPT if tensors overlap or leave the file.
 */
int metadata_extents(const raytrain_checkpoint *ck, uint64_t file_bytes,
                     struct extent **extents, size_t *n, struct error *err);

#endif
