/*
 * preprocess_table.h - a table in memory, and chains of preprocessors that learn from it
 * on several ranks. Its columns: a (float64, with missing values), b (float64, positive),
 * v (float64, rows of WIDTH), c (int32), f (a as float32), w (words), m (w, with missing
 * ones) and l (lists of words). Its dictionary begins with "unused", which no row has but
 * those of l.
 */
#ifndef RAYTRAIN_TEST_PREPROCESS_TABLE_H
#define RAYTRAIN_TEST_PREPROCESS_TABLE_H

#include "../preprocess/expected.h"
#include "preprocess/transform.h"
#include "thread_comm.h"

#define N_WORDS (sizeof all_words / sizeof *all_words)

extern struct error err;
extern struct frame table;

/* For cmocka: before all tests, and after them. */
int table_make(void **state);
int table_free(void **state);
/* Another column, with memory for all rows. */
struct frame_column *column(struct frame *f, const char *name, enum frame_kind kind,
                            raytrain_dtype dtype, uint64_t width);
/* Rows first .. first + n - 1, as readers make them. Returns -1, as other threads call
 * it. */
int rows_take(struct frame *f, uint64_t first, uint64_t n, struct error *e);

/* The list of preprocessors in ( ). */
int chain_parse(const char *text, struct chain *chain, struct error *e);

struct job {
    const char *text;
    uint64_t batch;
    struct chain chains[THREAD_COMM_MAX]; /* of each rank */
    struct error errors[THREAD_COMM_MAX];
    int passes;
};

/* Let `ranks` ranks learn, each from a part of the table in batches of this number of rows.
 * They must all return the same; the error is rank 0's. job_clear() in any case. */
int fit(struct job *job, const char *text, int ranks, uint64_t batch);
void job_clear(struct job *job);

/* All rows of the table, through a fitted chain; checks that they have the columns that
 * the chain said they would have. */
void transformed(const struct chain *chain, struct frame *f);

double number(const struct frame_column *c, size_t i);
/* By tolerance * max(1, |y|); NaN is close to NaN. */
bool close_to(double x, double y, double tolerance);
void assert_column(const struct frame *f, const char *name, const double *expected,
                   size_t n, double tolerance);

#endif
