/* csv_heads.h - reads the beginnings of CSV files: their columns, and where their data
 * begin. */
#ifndef RAYTRAIN_TEXT_CSV_HEADS_H
#define RAYTRAIN_TEXT_CSV_HEADS_H

#include "comm/comm.h"
#include "text/csv_header.h"
#include "text/source.h"

#define CSV_RECORD_MAX ((size_t)1 << 30) /* bytes of a record */

/* Files, one after the other. */
struct csv_files {
    const struct text_source *sources;
    size_t n;
    int64_t *starts,
        *sizes;     /* the records of file i are from starts[i] up to sizes[i] */
    char delimiter; /* in all of them */
    struct csv_names
        names; /* of the columns, or a record of the first file that has one */
};

/*
 * COLLECTIVE, with the same outcome on every rank: looks at the sources, each on one
 * rank. A `delimiter` of 0 is guessed. Call csv_files_clear() in any case.
 */
int csv_files_look(struct comm *comm, struct csv_files *files,
                   const struct text_source sources[], size_t n, char delimiter,
                   bool header, struct error *err);
/* Opens file i, whose size must not have changed. */
int csv_files_open(const struct csv_files *files, size_t i, struct text_file *f,
                   struct error *err);
void csv_files_clear(struct csv_files *files);

#endif
