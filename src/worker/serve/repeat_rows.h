/* repeat_rows.h - fills up a batch by repeating its rows. */
#ifndef RAYTRAIN_SERVE_REPEAT_ROWS_H
#define RAYTRAIN_SERVE_REPEAT_ROWS_H

#include "protocol/service_wire.h"

/*
 * Makes `wanted` rows from `rows` rows (at least 1, at most `wanted`) of n columns, by
 * repeating them. rows_of[] then points into *memory, which the caller frees.
 * RAYTRAIN_ENOMEM, or RAYTRAIN_EFIT if they are too large for a message.
 */
int repeat_rows(const struct service_column columns[], size_t n, uint64_t rows,
                uint64_t wanted, struct service_rows rows_of[], void **memory,
                struct error *err);

#endif
