/* repeat_rows.h - a batch that is filled up by repeating its rows. */
#ifndef RAYTRAIN_SERVE_REPEAT_ROWS_H
#define RAYTRAIN_SERVE_REPEAT_ROWS_H

#include "protocol/service_wire.h"

/*
 * In place of `rows` rows (at least 1) of n columns, `wanted` rows, at least as many:
 * those, again and again. rows_of[] then points into *memory, which is malloc'ed and
 * the caller's. RAYTRAIN_ENOMEM, or RAYTRAIN_EFIT if they are too large for a message.
 */
int repeat_rows(const struct service_column columns[], size_t n, uint64_t rows,
                uint64_t wanted, struct service_rows rows_of[], void **memory,
                struct error *err);

#endif
