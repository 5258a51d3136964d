/*
 * predict_plan.h - how the rows of a prediction are divided into parts, and which of
 * them a rank takes. These functions only compute.
 *
 * A part is the unit of progress: consecutive rows, whose predictions become one file
 * when they are complete. Its rows are a multiple of a batch, so that batch k begins
 * with row k * batch of the input on any number of workers, and after any restart.
 */
#ifndef RAYTRAIN_PREDICT_PREDICT_PLAN_H
#define RAYTRAIN_PREDICT_PREDICT_PLAN_H

#include <stdint.h>

#define PREDICT_PART_ROWS   65536                /* at most, unless a batch has more */
#define PREDICT_PART_BYTES  ((uint64_t)64 << 20) /* of predictions; the same limit */
#define PREDICT_PARTS_EACH  8   /* parts of each worker, at least, if possible */
#define PREDICT_REPORT_S    1.0 /* the longest time between two reports, as estimated */

struct predict_plan {
    uint64_t rows, batch; /* rows of the input, and of a batch; not 0 */
    uint64_t part_rows;   /* rows of a part; the last part may have fewer */
    uint64_t n;           /* number of parts */
};

/* row_bytes: the size of the predictions of a row. */
void predict_plan_make(struct predict_plan *plan, uint64_t rows, uint64_t batch,
                       uint64_t row_bytes, int workers);
/* Makes a plan with parts of a given size. */
void predict_plan_set(struct predict_plan *plan, uint64_t rows, uint64_t batch,
                      uint64_t part_rows);

/* The rows of part i < n. */
uint64_t predict_plan_first(const struct predict_plan *plan, uint64_t i);
uint64_t predict_plan_count(const struct predict_plan *plan, uint64_t i);

/* Rank r takes the adjacent parts from cut r up to cut r + 1 of the `missing` ones, so
 * that it reads the input in order. In each round a rank takes one part, or none. */
uint64_t predict_cut(uint64_t missing, int rank, int size);
uint64_t predict_rounds(uint64_t missing, int size);

/* Ranks wait for each other to report. After a report at the end of `round` of
 * `rounds`, which has taken `seconds` so far, returns the round of the next report:
 * after the same number of rounds again, or after as many as take PREDICT_REPORT_S if
 * that is less. The last round has a report. */
uint64_t predict_report_at(uint64_t round, uint64_t rounds, double seconds);

#endif
