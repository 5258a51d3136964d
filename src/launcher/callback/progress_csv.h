/*
 * progress_csv.h - the file RUN/progress.csv: a header, and a row for each report that
 * counts, in order of iteration.
 *
 * Columns are the keys of reports, except by_rank, in the order in which they first
 * appear; training_iteration is the first. A metric that appears later becomes the last
 * column: the file is replaced by one with the new header, whose earlier rows are empty
 * there. Quoting is that of RFC 4180; lines end with a newline alone. Missing values,
 * null and NaN are empty; a vector is text, its JSON.
 */
#ifndef RAYTRAIN_CALLBACK_PROGRESS_CSV_H
#define RAYTRAIN_CALLBACK_PROGRESS_CSV_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/error.h"

#define PROGRESS_CSV "progress.csv"
/* More metrics are left out: each column needs a byte in each row. */
#define PROGRESS_CSV_COLUMNS 2000

struct progress_csv;

/* Reads and writes nothing yet. NULL without memory. */
struct progress_csv *progress_csv_new(const char *run_dir);
void progress_csv_free(struct progress_csv *csv); /* NULL is fine */

/* Rebuild the file from all reports in the run directory. */
int progress_csv_rebuild(struct progress_csv *csv, struct error *err);
/* Add a report, unless progress_csv_rebuild() has added it. If its iteration is not
 * later than the last row's, it replaces the rows from its iteration on. */
int progress_csv_add(struct progress_csv *csv, const json_t *report, struct error *err);
/* Write the rows that were added. A file that needs another header is replaced only now
 * and then, unless `all` asks to write everything now. */
int progress_csv_flush(struct progress_csv *csv, bool all, struct error *err);
/* Has a metric been left out? */
bool progress_csv_is_full(const struct progress_csv *csv);

#endif
