/* part_reader.h - reads the tables of parts and of hashes, a block at a time. */
#ifndef RAYTRAIN_CHECKPOINT_PART_READER_H
#define RAYTRAIN_CHECKPOINT_PART_READER_H

#include "checkpoint/checkpoint_impl.h"

#define TABLE_BLOCK 512u

/* A table of numbers in the file, one block of which is in memory. */
struct table {
    uint64_t at, n;      /* where it is in the file; how many numbers */
    uint64_t first, end; /* those in memory */
    uint64_t numbers[TABLE_BLOCK];
};
/* The table of hashes. */
void hashes_start(struct table *hashes, const raytrain_checkpoint *ck);
/* Number i < n. */
int table_get(const raytrain_checkpoint *ck, struct table *t, uint64_t i, uint64_t *to,
              struct error *err);
/* The most blocks of a table with this number of entries. */
uint64_t table_blocks(uint64_t n);

/* Reads the parts in the order of the file. It owns no memory. */
struct part_reader {
    const raytrain_checkpoint *ck;
    struct table shapes;
    bool opening;          /* shape_sums are filled, not compared */
    uint64_t next;         /* number of the table of shapes */
    uint64_t at, hash;     /* of the next part */
    uint64_t tensor, part; /* of part_reader_next() */
};
void part_reader_start(struct part_reader *r, const raytrain_checkpoint *ck);
/* 1: *part is the next one; 0: there are no more; -1. RAYTRAIN_ECORRUPT if the table has
 * changed since the file was opened. */
int part_reader_next(struct part_reader *r, struct part *part, struct error *err);
/* The steps of this, for index.c: the shape of a tensor, of which ndim is known, and then
 * each of its parts. They trust no number in the file. */
int part_reader_shape(struct part_reader *r, const struct tensor_entry *e,
                      uint64_t shape[RAYTRAIN_MAX_DIMS], struct error *err);
int part_reader_part(struct part_reader *r, const struct tensor_entry *e,
                     struct part *part, struct error *err);

#endif
