/* service_counts.c - add an answer to the counts, and compute sums and quantiles. */
#include "service/service_counts.h"

#include "service/rows_request.h"

const double service_latency_ends[COUNT_LATENCIES - 1] = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
    0.05,   0.1,     0.25,   0.5,   1,      2.5,   10};

const char *const service_answer_names[COUNT_ANSWERS] = {
    "ok", "bad_request", "queue_full", "unavailable", "failed"};

static size_t answer_kind(int status)
{
    switch (status) {
    case 200:
        return COUNT_OK;
    case 429:
        return COUNT_FULL;
    case 503:
        return COUNT_UNAVAILABLE;
    default:
        return status < 500 ? COUNT_BAD : COUNT_FAILED;
    }
}

void service_counts_answer(struct service_counts *c, const struct service_request *q)
{
    size_t i = 0;

    c->answers[answer_kind(q->status)]++;
    if (q->status != 200)
        return;
    c->rows += q->rows;
    while (i < COUNT_LATENCIES - 1 && q->seconds > service_latency_ends[i])
        i++;
    c->latencies[i]++;
    c->latency_s += q->seconds;
}

void service_counts_batch(struct service_counts *c, uint64_t rows)
{
    size_t i = 0;

    while (i < COUNT_BATCHES - 1 && rows > (uint64_t)1 << i)
        i++;
    c->batches[i]++;
    c->batch_rows += rows;
}

uint64_t service_counts_sum(const uint64_t of[], size_t n)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += of[i];
    return sum;
}

double service_counts_quantile(const struct service_counts *c, double part)
{
    double all = (double)service_counts_sum(c->latencies, COUNT_LATENCIES), below = 0;

    for (size_t i = 0; all > 0 && i < COUNT_LATENCIES - 1; i++) {
        below += (double)c->latencies[i];
        if (below >= part * all)
            return service_latency_ends[i];
    }
    return all > 0 ? service_latency_ends[COUNT_LATENCIES - 2] : 0;
}
