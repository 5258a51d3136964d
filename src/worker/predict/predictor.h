/*
 * predictor.h - raytrain_predictor of raytrain.h: an interface of whatever gives
 * batches to a predict function and takes its predictions.
 *
 * Implementations: the rows of files and a file of predictions (file_predictor.c), and
 * a service (serve/service_predictor.c).
 *
 * Threads: the training thread alone.
 */
#ifndef RAYTRAIN_PREDICT_PREDICTOR_H
#define RAYTRAIN_PREDICT_PREDICTOR_H

#include "data/dataset.h"
#include "predict/predicted.h"

/* Rows of a batch, if neither the predict function nor the user wish another number. */
#define PREDICTOR_BATCH 1024

struct predictor_ops {
    /*
     * The predict function is done with the current batch, if there is one: base->rows
     * are its rows. Get the next one, and make it the current batch of the dataset. 0:
     * *rows and base->rows are its rows; 1: there are no more, or a stop was asked for;
     * -1: error. The first call, before base->begun, begins the prediction: from then
     * on the outputs are known. It may be COLLECTIVE.
     */
    int (*next)(raytrain_predictor *base, uint64_t *rows, struct error *err);
    /* Copy the rows of this column of base->predicted, of the current batch. */
    int (*put)(raytrain_predictor *base, size_t column, const void *data,
               struct error *err);
    /* The current batch cannot be predicted, for this reason; there is no current batch
     * then. NULL: that ends the prediction. */
    int (*fail)(raytrain_predictor *base, const struct error *why, struct error *err);
    /* The predict function has returned 0. May be COLLECTIVE. */
    int (*finish)(raytrain_predictor *base, struct error *err);
    /* Free all but what is in the base, and the object itself; it may be half-built. */
    void (*destroy)(raytrain_predictor *base);
};

/* What all of them have, as their first member. */
struct raytrain_predictor {
    const struct predictor_ops *ops;
    raytrain_dataset *input;    /* its current batch is that of the prediction */
    struct predicted predicted; /* the columns of the output */
    uint64_t batch;             /* as the predict function likes; 0: no wish */
    uint64_t rows;              /* of the current batch; 0: there is none */
    bool begun;                 /* next was called, and has made a beginning */
};

void predictor_destroy(raytrain_predictor *p); /* NULL is fine */

/* The rows of the current batch, as the preprocessors have changed them; before the
 * first one, what columns there are. It is moved by predictor_next() alone. */
raytrain_dataset *predictor_dataset(raytrain_predictor *p);
/* Before the first next: RAYTRAIN_EINVAL after it. */
int predictor_output(raytrain_predictor *p, const char *name, raytrain_dtype dtype,
                     int ndim, const uint64_t shape[], struct error *err);
int predictor_set_batch_size(raytrain_predictor *p, uint64_t rows, struct error *err);
/* 0: a batch of *rows rows; 1: there are no more, or a stop was asked for; -1:
 * error. */
int predictor_next(raytrain_predictor *p, uint64_t *rows, struct error *err);
/* Copies the rows of one output of the current batch. */
int predictor_put(raytrain_predictor *p, const char *name, const void *data,
                  struct error *err);
/* The current batch cannot be predicted, for this reason. 0: the reason was sent to the
 * source of the batch, and predictor_next() may be called; -1: the prediction cannot go
 * on, and *err has the reason. */
int predictor_fail(raytrain_predictor *p, const struct error *why, struct error *err);
/* Does it go on after a batch that failed? */
bool predictor_goes_on(const raytrain_predictor *p);
/* Was next called? */
bool predictor_has_begun(const raytrain_predictor *p);
/* The outputs that the predictor puts, in the order in which they were declared: dtype
 * and shape of a row. NULL: there is none of this number. */
const char *predictor_output_at(const raytrain_predictor *p, size_t i,
                                raytrain_tensor *row);

/* COLLECTIVE. The predict function has returned 0: make what is left to be made, unless
 * a stop was asked for. RAYTRAIN_EFAILED if it has not reached the end. */
int predictor_finish(raytrain_predictor *p, struct error *err);

/* For implementations: are there outputs? */
int predictor_check(const raytrain_predictor *p, struct error *err);
/* Always -1: the predict function has returned without having had all batches. */
int predictor_fail_early(struct error *err);

#endif
