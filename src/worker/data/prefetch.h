/*
 * prefetch.h - one thread that fills one batch at a time, while the training function
 * uses another. It sleeps otherwise. It takes no signals but SIGBUS (file_view.h), and
 * calls neither HDF5 nor MPI.
 */
#ifndef RAYTRAIN_DATA_PREFETCH_H
#define RAYTRAIN_DATA_PREFETCH_H

#include "data/batch_source.h"
#include "preprocess/transform.h"

struct prefetch;

/* The source and the transform are the thread's until destroy, but not owned. `schema`
 * is that of batch_init(); `transform` is applied to what was read. NULL: none is. */
int prefetch_create(struct batch_source *source, const struct frame *schema,
                    const struct transform *transform, struct prefetch **out,
                    struct error *err);
/* From now on called in the thread for each batch that has been read, after the
 * transform; its failure is that of the job. NULL: nothing is. No job may be
 * pending. */
void prefetch_set_after(struct prefetch *p,
                        int (*after)(void *arg, const struct frame *batch,
                                     struct error *err),
                        void *arg);
/* No job may be pending. The batch is the thread's until wait returns; it may have any
 * columns. */
void prefetch_start(struct prefetch *p, const struct batch_job *job,
                    struct frame *batch);
/* Wait for the job, and return its outcome. 0 at once if none was started. */
int prefetch_wait(struct prefetch *p, struct error *err);
/* Seconds for which all calls of prefetch_wait() together have waited. */
double prefetch_waited_s(const struct prefetch *p);
void prefetch_destroy(struct prefetch *p); /* waits and joins; NULL is fine */

#endif
