/*
 * csv_file.h - CSV files, one after the other, become rows of typed columns, by all
 * ranks at once. The result does not depend on how many they are, nor on the size of
 * blocks.
 *
 * Every rank has an equal range of all bytes. It reads the range twice: to learn how
 * many records begin before it (csv_scan.h), and to parse those that begin in it. Types
 * are guessed from samples of all ranges; if another value turns up, all rows are
 * parsed once more, with types that are certain then.
 *
 * Memory of a rank: a block, its rows, and the distinct words of all wanted columns; a
 * block has 512 bytes for each column, and grows to the longest record.
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
    bool optional; /* nothing is declared if the column is not there, or has a type */
};

struct csv_options {
    char delimiter;      /* 0: the one of , ; tab | that suits the first file */
    bool without_header; /* columns are named by their numbers, from 0 on */
    const struct csv_declared *declared; /* types; other columns by their values */
    size_t n_declared;
    struct missing_texts missing;
    /* Fields of columns for which this is false are not parsed: the sink gets some
     * number in their place. NULL: all are wanted. */
    bool (*wanted)(const void *arg, const char *column);
    const void *wanted_arg;
    size_t block_bytes; /* 0: 256 KiB, or more for many columns */
};

/*
 * COLLECTIVE, with the same arguments on every rank; the result is agreed on. Files
 * that have no record, not even a header, are left out; the headers of all others must
 * be equal.
 *
 * RAYTRAIN_EINVAL, with file and line: a record with another number of fields, a value
 * that is not of the declared type, a quote that is not closed, a byte that is NUL.
 * RAYTRAIN_ECORRUPT: a file changes while it is read. RAYTRAIN_ENOTFOUND: a declared
 * column is not there and not optional, a file is not there.
 */
int csv_convert(struct comm *comm, const struct text_source sources[], size_t n,
                const struct csv_options *options, const struct row_sink *sink,
                void *arg, struct error *err);

#endif
