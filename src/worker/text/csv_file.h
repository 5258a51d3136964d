/*
 * csv_file.h - all ranks together turn CSV files, one after the other, into rows of
 * typed columns. The result does not depend on the number of ranks, nor on the size of
 * blocks.
 *
 * Every rank has an equal range of all bytes. It reads the range twice: to count the
 * records that begin before it (csv_scan.h), and to parse those that begin in it. Types
 * are guessed from samples of all ranges. If a value does not fit, all rows are parsed
 * once more; by then all values have been seen.
 *
 * Memory of a rank: a block, its rows, and the distinct words of all wanted columns. A
 * block has at least 512 bytes for each column, and grows to the longest record.
 */
#ifndef RAYTRAIN_TEXT_CSV_FILE_H
#define RAYTRAIN_TEXT_CSV_FILE_H

#include "comm/comm.h"
#include "text/csv_value.h"
#include "text/row_sink.h"
#include "text/source.h"

struct csv_declared {
    const char *column;
    enum csv_type type;
    bool optional; /* ignored if the column does not exist, or has a declared type */
};

struct csv_options {
    char delimiter;      /* 0: the one of , ; tab | that fits the first file */
    bool without_header; /* the names of columns are their numbers, from 0 */
    const struct csv_declared *declared; /* types; others follow from the values */
    size_t n_declared;
    struct missing_texts missing;
    /* If false, the fields of the column are not parsed: the sink gets undefined
     * numbers. NULL: all are wanted. */
    bool (*wanted)(const void *arg, const char *column);
    const void *wanted_arg;
    size_t block_bytes; /* 0: 256 KiB, or more for many columns */
};

/*
 * COLLECTIVE, with the same arguments and the same outcome on every rank. Files without
 * a record, not even a header, are skipped; the headers of all others must be equal.
 *
 * RAYTRAIN_EINVAL, with file and line: a record with another number of fields, a value
 * that does not have the declared type, a quote that is not closed, a NUL byte.
 * RAYTRAIN_ECORRUPT: a file changes while it is read. RAYTRAIN_ENOTFOUND: a file does
 * not exist, or a declared column that is not optional.
 */
int csv_convert(struct comm *comm, const struct text_source sources[], size_t n,
                const struct csv_options *options, const struct row_sink *sink,
                void *arg, struct error *err);

#endif
