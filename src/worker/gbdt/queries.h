/*
 * queries.h - the queries of a dataset, for ranking: adjacent rows with the same number
 * in the column of queries. A number that occurs again later is refused: it would make
 * two queries of one, and the ranking would be learnt from incomplete ones.
 *
 * Only the training thread may call these.
 */
#ifndef RAYTRAIN_GBDT_QUERIES_H
#define RAYTRAIN_GBDT_QUERIES_H

#include "comm/comm.h"
#include "data/dataset.h"
#include "gbdt/rows_job.h"

/* The query in row `row` of its column, as bits that sort like the numbers. */
uint64_t gbdt_query_key(const struct frame_column *c, uint64_t row);

/*
 * COLLECTIVE over the ranks that have the parts of the dataset, with the same outcome
 * on all of them. RAYTRAIN_EINVAL: a query occurs again; the message names both places.
 * Frees the keys of the rows.
 */
int gbdt_queries_check(const raytrain_dataset *ds, const struct rows_job *job,
                       struct comm *parts, struct gbdt_rows *rows, struct error *err);

#endif
