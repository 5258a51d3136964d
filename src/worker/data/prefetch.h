/*
 * prefetch.h - one thread that fills one batch at a time, while the training function
 * uses another. It sleeps otherwise. It takes no signals, and calls neither HDF5 nor
 * MPI.
 */
#ifndef RAYTRAIN_DATA_PREFETCH_H
#define RAYTRAIN_DATA_PREFETCH_H

#include "data/batch.h"

struct prefetch;

/* The rows order[first..first+count). */
struct prefetch_job {
    struct shuffle order;
    uint64_t first, count;
    struct batch *batch; /* with room for them; the thread's until wait returns */
};

/* The table must not change until destroy. */
int prefetch_create(const struct table *t, struct prefetch **out, struct error *err);
/* No job may be pending. */
void prefetch_start(struct prefetch *p, const struct prefetch_job *job);
/* Wait for the job, and return its outcome. 0 at once if none was started. */
int prefetch_wait(struct prefetch *p, struct error *err);
void prefetch_destroy(struct prefetch *p); /* waits and joins; NULL is fine */

#endif
