/*
 * reader.h - the interface of the data formats. A reader finds the columns of a file
 * and where their rows lie; any thread then reads rows with pread(2). A format whose
 * rows have no fixed place (compressed, text) is expanded at open into an anonymous
 * file that the node's ranks share.
 *
 * One rank of each node reads the format, and the others receive the table
 * (table_share.h), so that a thousand workers do not parse a file each.
 *
 * To add a format: write a file that defines a `struct reader_ops`. probe() recognises
 * it by the first bytes of a file, open() finds the columns and where their rows are. A
 * size from a file is checked against the length of the file before it is used. A file
 * without rows is opened too: it has the columns of the others. Add the name to
 * READER_FORMATS (config/registry.h), and the endings of such files to the table in
 * config/data_files.c.
 */
#ifndef RAYTRAIN_TABLE_READER_H
#define RAYTRAIN_TABLE_READER_H

#include "config/data_config.h"
#include "config/registry.h"
#include "table/left_out.h"
#include "table/reader_file.h"
#include "table/table.h"
#include "table/words_union.h"

/* What to read, and which part: the caller is rank `rank` of `size` ranks that read
 * this dataset together; each adds all columns, with its own part of the rows. Today
 * one rank of each node reads alone: 0 of 1. */
struct reader_job {
    const struct dataset_config *config;
    int rank, size;
    struct words_union *words; /* reader_open() sets it */
    struct left_out *left_out; /* for the user; NULL: not wanted */
};

struct reader_ops {
    /* True if the first bytes of the file are those of this format. */
    bool (*probe)(const unsigned char *head, size_t n, const char *path);
    /*
     * Adds the columns of config->path that config->columns asks for (all of them if it
     * is NULL) to a table whose source 0 is the open file. What cannot be a column is
     * an error if it was asked for; otherwise it is added to job->left_out. Checks
     * sizes in the file against its length before it uses them. On failure the caller
     * clears the table. A column of words does not have words, but codes of those of
     * job->words.
     */
    int (*open)(const struct reader_job *job, struct table *out, struct error *err);
};

/* reader_idx, reader_hdf5, ... */
#define READER_DECLARE(name) extern const struct reader_ops reader_##name;
READER_FORMATS(READER_DECLARE)
#undef READER_DECLARE

/* The names of all formats, for messages: "idx, hdf5". */
const char *reader_formats(void);

/* The number of first bytes that probe gets. */
#define READER_HEAD 4096

/*
 * Opens the files of config->path with the reader that config->format names, or that
 * recognises their first bytes, and checks that each of config->columns exists. The
 * rows are those of all files, in the order of their names. On failure *out is empty.
 */
int reader_open(const struct reader_job *job, struct table *out, struct error *err);

#endif
