/* predict_plan.c - the arithmetic of parts and batches. */
#include "predict/predict_plan.h"

static uint64_t ceiling(uint64_t a, uint64_t b)
{
    return a / b + (a % b > 0);
}

void predict_plan_set(struct predict_plan *plan, uint64_t rows, uint64_t batch,
                      uint64_t part_rows)
{
    *plan = (struct predict_plan){.rows = rows,
                                  .batch = batch,
                                  .part_rows = part_rows,
                                  .n = ceiling(rows, part_rows)};
}

void predict_plan_make(struct predict_plan *plan, uint64_t rows, uint64_t batch,
                       uint64_t row_bytes, int workers)
{
    uint64_t most = PREDICT_PART_ROWS,
             even = rows / ((uint64_t)workers * PREDICT_PARTS_EACH);

    if (row_bytes > 0 && most > PREDICT_PART_BYTES / row_bytes)
        most = PREDICT_PART_BYTES / row_bytes;
    if (even < most)
        most = even;
    if (most < batch)
        most = batch;
    predict_plan_set(plan, rows, batch, most / batch * batch);
}

uint64_t predict_plan_first(const struct predict_plan *plan, uint64_t i)
{
    return i * plan->part_rows;
}

uint64_t predict_plan_count(const struct predict_plan *plan, uint64_t i)
{
    uint64_t left = plan->rows - predict_plan_first(plan, i);

    return left < plan->part_rows ? left : plan->part_rows;
}

uint64_t predict_cut(uint64_t missing, int rank, int size)
{
    uint64_t ranks = (uint64_t)size, r = (uint64_t)rank;

    return missing / ranks * r + missing % ranks * r / ranks;
}

uint64_t predict_rounds(uint64_t missing, int size)
{
    return ceiling(missing, (uint64_t)size);
}

uint64_t predict_report_at(uint64_t round, uint64_t rounds, double seconds)
{
    uint64_t next = 2 * round;
    double round_s = seconds / (double)round;

    if ((double)(next - round) * round_s > PREDICT_REPORT_S)
        next = round + (uint64_t)(PREDICT_REPORT_S / round_s);
    if (next == round)
        next++;
    return next < rounds ? next : rounds;
}
