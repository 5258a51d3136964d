/*
 * predict_plan.h - how the rows of a prediction are cut into parts, and which of them a
 * rank takes. Arithmetic alone.
 *
 * A part is the unit of progress: consecutive rows, whose predictions become one file
 * when they are complete. It is a multiple of the batch, so that batch k is the rows
 * k*batch.. of the input on any number of workers, and after any restart.
 */
#ifndef RAYTRAIN_PREDICT_PREDICT_PLAN_H
#define RAYTRAIN_PREDICT_PREDICT_PLAN_H

#include <stdint.h>

#define PREDICT_PART_ROWS   65536                /* at most, unless a batch has more */
#define PREDICT_PART_BYTES  ((uint64_t)64 << 20) /* of predictions, at most: the same */
#define PREDICT_PARTS_EACH  8   /* for each worker, at least, if possible */
#define PREDICT_REPORT_S    1.0 /* between two reports, at most, by rounds so far */

struct predict_plan {
    uint64_t rows, batch; /* of the input, of a batch; neither is 0 */
    uint64_t part_rows;   /* of a part; the last one may have fewer */
    uint64_t n;           /* parts */
};

/* row_bytes: of the predictions of a row. */
void predict_plan_make(struct predict_plan *plan, uint64_t rows, uint64_t batch,
                       uint64_t row_bytes, int workers);
/* With parts of a size that was chosen before. */
void predict_plan_set(struct predict_plan *plan, uint64_t rows, uint64_t batch,
                      uint64_t part_rows);

/* The rows of part i < n. */
uint64_t predict_plan_first(const struct predict_plan *plan, uint64_t i);
uint64_t predict_plan_count(const struct predict_plan *plan, uint64_t i);

/* Of `missing` parts in order, rank r takes those from cut r up to cut r + 1: adjacent
 * ones, so that it reads on where it was. In each of the rounds a rank takes one, or
 * none. */
uint64_t predict_cut(uint64_t missing, int rank, int size);
uint64_t predict_rounds(uint64_t missing, int size);

/* Ranks wait for each other to report. After a report at the end of `round`, of
 * `rounds` that take as long each as those so far, `seconds` in all, the next one is at
 * the end of this round: after as many rounds again, or as many as take
 * PREDICT_REPORT_S. The last round has one. */
uint64_t predict_report_at(uint64_t round, uint64_t rounds, double seconds);

#endif
