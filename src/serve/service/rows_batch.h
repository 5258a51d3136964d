/*
 * rows_batch.h - pieces of requests as one message to a worker, and the worker's answer
 * distributed to these pieces.
 */
#ifndef RAYTRAIN_SERVICE_ROWS_BATCH_H
#define RAYTRAIN_SERVICE_ROWS_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/service_wire.h"
#include "service/rows_request.h"

/* Rows of a request that are in one batch, or wait for one. */
struct piece {
    /* NULL: the request has got another answer. */
    struct service_request *q;
    uint64_t first, n;
    /* It was in a batch that failed, and is tried once more, alone. */
    bool alone;
    struct piece *next;
};

struct rows_batch {
    uint64_t id, rows;
    struct piece *pieces;   /* a list, of malloc'ed ones */
    unsigned char *payload; /* until it is sent */
    uint64_t bytes;
};

/* The message: RAYTRAIN_ENOMEM, RAYTRAIN_EFIT. */
int rows_batch_pack(struct rows_batch *b, const struct service_column inputs[],
                    size_t n, struct error *err);
/* The payload is not needed any more. */
void rows_batch_sent(struct rows_batch *b);
/* Give each piece its answer, and advance q->answered. RAYTRAIN_ECORRUPT: it is not an
 * answer to this batch. */
int rows_batch_answer(struct rows_batch *b, const struct service_column outputs[],
                      size_t n, uint64_t rows, const unsigned char *payload,
                      uint64_t bytes, struct error *err);
/* Also frees the pieces that are left in it. NULL is fine. */
void rows_batch_destroy(struct rows_batch *b);

#endif
