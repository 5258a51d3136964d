/*
 * near_rows.c - reads rows in any order by ranges that hold several of them, through
 * column_read.c.
 */
#include "table/near_rows.h"

#include <stdlib.h>
#include <string.h>

#include "table/column_read.h"

/* The number of those of n rows that are read at once; *span: rows of the file from the
 * first to the last of them. */
static uint64_t near_run_find(const uint64_t rows[], uint64_t n, size_t bytes,
                              uint64_t *span)
{
    uint64_t end = rows[0] + 1, k = 1;

    while (k < n && rows[k] >= end && rows[k] - end <= NEAR_GAP_BYTES / bytes &&
           rows[k] - rows[0] < NEAR_SPAN_BYTES / bytes)
        end = rows[k++] + 1;
    *span = end - rows[0];
    return k;
}

int near_rows_read(const struct table *t, const struct column *c, const uint64_t rows[],
                   uint64_t n, unsigned char *out, struct error *err)
{
    size_t bytes = c->row_bytes;
    unsigned char *between = NULL;
    int rc = 0;

    for (uint64_t k, span; n > 0 && rc == 0; rows += k, n -= k, out += k * bytes) {
        k = near_run_find(rows, n, bytes, &span);
        if (span == k) {
            rc = column_read(t, c, rows[0], k, out, err);
            continue;
        }
        if (!between && !(between = malloc(NEAR_SPAN_BYTES)))
            return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a batch");
        rc = column_read(t, c, rows[0], span, between, err);
        for (uint64_t i = 0; i < k && rc == 0; i++)
            memcpy(out + i * bytes, between + (rows[i] - rows[0]) * bytes, bytes);
    }
    free(between);
    return rc;
}
