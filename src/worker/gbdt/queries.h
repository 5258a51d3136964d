/*
 * queries.h - the queries of a dataset, for ranking: adjacent rows with the same number
 * in the column of queries. If a number comes back later, the rows of one query would
 * become two, and the ranking would be learnt from halves; so that is refused.
 *
 * Threads: the training thread.
 */
#ifndef RAYTRAIN_GBDT_QUERIES_H
#define RAYTRAIN_GBDT_QUERIES_H

#include "comm/comm.h"
#include "data/dataset.h"
#include "gbdt/rows_job.h"

/* The query in row `row` of its column as bits, which are in the order of the numbers.
 */
uint64_t gbdt_query_key(const struct frame_column *c, uint64_t row);

/*
 * COLLECTIVE over the ranks that have the parts of the dataset, with the same outcome
 * on all of them. RAYTRAIN_EINVAL: a query comes back; the message names both places.
 * Frees the keys of the rows.
 */
int gbdt_queries_check(const raytrain_dataset *ds, const struct rows_job *job,
                       struct comm *parts, struct gbdt_rows *rows, struct error *err);

#endif
