/*
 * rows_request.h - rows for which a client wants predictions, on their way through a
 * service: cut into pieces, each of which is in one batch, and put together again from
 * the answers.
 */
#ifndef RAYTRAIN_SERVICE_ROWS_REQUEST_H
#define RAYTRAIN_SERVICE_ROWS_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/service_wire.h"

#define REQUEST_TEXT_MAX 1024

struct rows_request_text;

struct service_request {
    /* Set by the caller, and unchanged until done() has been called. */
    uint64_t rows;                     /* > 0 */
    const struct service_rows *inputs; /* in the order of the model; at any address */
    /* Called once, without locks, by any thread. */
    void (*done)(struct service_request *q);
    void *arg;

    /* The answer: an HTTP status and, unless that is 200, a sentence. */
    int status;
    char text[REQUEST_TEXT_MAX];
    struct service_rows *outputs; /* in the order of the model; NULL unless it is 200 */
    bool
        version_ended; /* a newer version may answer it: submit it again, to that one */
    uint64_t batch_rows; /* of the last batch that had rows of it */
    double seconds;      /* from service_submit() to the answer */

    /* For the service only. */
    const struct service_column *columns; /* of the outputs */
    size_t n_outputs;
    struct rows_request_text *texts; /* of outputs, by piece */
    double since;
    uint64_t answered;            /* rows */
    unsigned under_way;           /* pieces in batches */
    unsigned waiting;             /* pieces in the queue */
    struct service_request *next; /* of a rows_request_list */
};

struct rows_request_list {
    struct service_request *first, **end;
};

void rows_request_list_init(struct rows_request_list *list);
void rows_request_list_add(struct rows_request_list *list, struct service_request *q);

/* Allocate the answer. -1: status and text have the reason. */
int rows_request_begin(struct service_request *q, const struct service_column outputs[],
                       size_t n_outputs);
/* Take the answer to rows first to first + n - 1, which is in `found` from row `at` on.
 * -1: there is no memory. */
int rows_request_take(struct service_request *q, const struct service_rows found[],
                      uint64_t at, uint64_t first, uint64_t n);
/* All rows have an answer: `outputs` and status 200, or 500 without memory. */
void rows_request_complete(struct service_request *q);
/* Give an answer other than 200. The first one counts. */
void rows_request_fail(struct service_request *q, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Free the answer. Zeroed is fine. */
void service_request_clear(struct service_request *q);

#endif
