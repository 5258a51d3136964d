/*
 * prefetch.h - a thread that fills one batch at a time, while the training function
 * uses another. Otherwise it sleeps. It takes no signals except SIGBUS (file_view.h),
 * and calls neither HDF5 nor MPI.
 */
#ifndef RAYTRAIN_DATA_PREFETCH_H
#define RAYTRAIN_DATA_PREFETCH_H

#include "data/batch_source.h"
#include "preprocess/transform.h"

struct prefetch;

/* The thread uses the source and the transform until destroy, but does not own them.
 * `schema` is that of batch_init(); `transform`, unless NULL, is applied to batches. */
int prefetch_create(struct batch_source *source, const struct frame *schema,
                    const struct transform *transform, struct prefetch **out,
                    struct error *err);
/* Sets a function that the thread calls for each batch, after the transform; if it
 * fails, so does the job. NULL: none. No job may be pending. */
void prefetch_set_after(struct prefetch *p,
                        int (*after)(void *arg, const struct frame *batch,
                                     struct error *err),
                        void *arg);
/* Starts a job; none may be pending. The thread owns the batch, which may have any
 * columns, until wait returns. */
void prefetch_start(struct prefetch *p, const struct batch_job *job,
                    struct frame *batch);
/* Wait for the job, and return its outcome. 0 at once if none was started. */
int prefetch_wait(struct prefetch *p, struct error *err);
/* Seconds for which all calls of prefetch_wait() together have waited. */
double prefetch_waited_s(const struct prefetch *p);
void prefetch_destroy(struct prefetch *p); /* waits and joins; NULL is fine */

#endif
