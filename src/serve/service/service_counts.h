/*
 * service_counts.h - counts of a service's answers: the numbers for /metrics and the
 * page.
 */
#ifndef RAYTRAIN_SERVICE_SERVICE_COUNTS_H
#define RAYTRAIN_SERVICE_SERVICE_COUNTS_H

#include <stddef.h>
#include <stdint.h>

struct service_request;

enum {
    COUNT_OK,
    COUNT_BAD,
    COUNT_FULL,
    COUNT_UNAVAILABLE,
    COUNT_FAILED,
    COUNT_ANSWERS
};

#define COUNT_BATCHES   16 /* up to 1, 2, 4, ... 2^14 rows, and more */
#define COUNT_LATENCIES 16

/* Upper ends of the buckets, in seconds; the last bucket has none. */
extern const double service_latency_ends[COUNT_LATENCIES - 1];
/* "ok", "bad_request", ... */
extern const char *const service_answer_names[COUNT_ANSWERS];

struct service_counts {
    uint64_t answers[COUNT_ANSWERS];
    uint64_t rows; /* of answers that are ok */
    uint64_t batches[COUNT_BATCHES];
    uint64_t batch_rows;
    uint64_t latencies[COUNT_LATENCIES]; /* of answers that are ok */
    double latency_s;                    /* their sum */
    uint64_t retries;                    /* pieces that were sent again */
    uint64_t workers_lost, switches;
};

void service_counts_answer(struct service_counts *c, const struct service_request *q);
void service_counts_batch(struct service_counts *c, uint64_t rows);
uint64_t service_counts_sum(const uint64_t of[], size_t n);
/* A bound below which this part of the latencies lies, such as 0.5 or 0.99; 0 if there
 * are none. */
double service_counts_quantile(const struct service_counts *c, double part);

#endif
