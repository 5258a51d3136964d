/*
 * dataset_fit.c - passes this rank's range of rows, block by block, to the
 * preprocessors that learn (preprocess/chain_fit.c).
 */
#include "data/dataset_fit.h"

#include "preprocess/chain_fit.h"

/* Bytes of a block. Several times as much is in use, a part of it in the second-level
 * cache of a core. */
#define BLOCK_BYTES ((size_t)1 << 20)

struct fit_range {
    raytrain_dataset *ds;
    struct dataset_fit *fit;
    uint64_t first, end; /* rows */
    uint64_t block, at, total;
};

static int range_rewind(void *arg, struct error *err)
{
    struct fit_range *r = arg;

    r->at = r->first;
    return dataset_state_set(r->ds, &(struct dataset_state){.position = r->first}, err);
}

/* The chain may change the batch in any way, so it gets all of it. */
static void batch_swap(struct frame *a, struct frame *b)
{
    struct frame kept = *a;

    *a = *b;
    *b = kept;
}

static int range_next(void *arg, struct frame *frame, struct error *err)
{
    struct fit_range *r = arg;
    uint64_t left = r->end - r->at, rows = left < r->block ? left : r->block;

    if (r->fit->block && r->fit->block(r->fit->arg, r->total, err) < 0)
        return -1;
    if (rows == 0)
        return 0;
    if (dataset_set_batch_size(r->ds, rows, err) < 0 ||
        dataset_next(r->ds, &rows, err) < 0)
        return -1;
    batch_swap(frame, dataset_batch(r->ds));
    r->at += rows;
    r->total += rows;
    return 1;
}

static uint64_t fit_block_rows(const struct frame *schema)
{
    size_t bytes = 1;

    for (size_t i = 0; i < schema->n_columns; i++)
        bytes += frame_row_bytes(&schema->columns[i]);
    return bytes < BLOCK_BYTES ? BLOCK_BYTES / bytes : 1;
}

/* The number of those of n rows that are before the rows of a rank. */
static uint64_t rows_before(uint64_t n, int rank, int size)
{
    uint64_t each = n / (uint64_t)size, rest = n % (uint64_t)size, r = (uint64_t)rank;

    return r * each + (r < rest ? r : rest);
}

int dataset_fit(raytrain_dataset *ds, struct comm *comm, struct dataset_fit *fit,
                struct error *err)
{
    const struct frame *schema = dataset_schema(ds);
    uint64_t n = dataset_rows(ds);
    struct fit_range range = {.ds = ds,
                              .fit = fit,
                              .first = rows_before(n, comm->rank, comm->size),
                              .end = rows_before(n, comm->rank + 1, comm->size),
                              .block = fit_block_rows(schema)};
    const struct chain_source source = {
        .schema = schema, .rewind = range_rewind, .next = range_next, .arg = &range};

    return chain_fit(fit->chain, &source, comm, &fit->passes, err);
}
