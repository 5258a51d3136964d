/*
 * csv_range.h - the bytes of CSV files that a rank parses, and the numbers of their
 * rows.
 *
 * A rank has the records that begin in its range, which is an equal share of the data
 * of all files, one after the other. A piece is the part of a range that is in one
 * file.
 */
#ifndef RAYTRAIN_TEXT_CSV_RANGE_H
#define RAYTRAIN_TEXT_CSV_RANGE_H

#include "text/csv_heads.h"
#include "text/csv_scan.h"

#define CSV_SAMPLES 16

struct csv_piece {
    size_t file;
    uint64_t from, to; /* in the file */
    enum csv_state state;
    size_t next; /* file, and the bytes of those before it */
    uint64_t base;
};

struct csv_range {
    const struct csv_files *files;
    uint64_t from, to;    /* of all data */
    uint64_t first, rows; /* rows that end before the range; rows of all files */
    struct csv_piece
        samples[CSV_SAMPLES]; /* places in the range; `to` is that of their piece */
    size_t n_samples;
    enum csv_state state; /* at the beginning */
};

/* COLLECTIVE, with the same outcome on every rank: finds the range of this rank, and
 * scans it in blocks. */
int csv_range_scan(struct comm *comm, struct csv_range *range,
                   const struct csv_files *files, size_t block_bytes,
                   struct error *err);

/* The next piece; the first one if *piece is zeroed. False: there is none. */
bool csv_range_piece(const struct csv_range *range, struct csv_piece *piece);

#endif
