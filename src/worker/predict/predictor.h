/*
 * predictor.h - raytrain_predictor of raytrain.h: the interface that gives batches to a
 * predict function, and takes its predictions.
 *
 * Implementations: the rows of files and a file of predictions (file_predictor.c), and
 * a service (serve/service_predictor.c).
 *
 * Only the training thread may call these.
 */
#ifndef RAYTRAIN_PREDICT_PREDICTOR_H
#define RAYTRAIN_PREDICT_PREDICTOR_H

#include "data/dataset.h"
#include "predict/predicted.h"

/* Rows of a batch, if neither the predict function nor the user sets another number. */
#define PREDICTOR_BATCH 1024

struct predictor_ops {
    /*
     * Ends the current batch, if there is one (base->rows are its rows), and makes the
     * next one the current batch of the dataset. 0: *rows and base->rows are its rows;
     * 1: there are no more, or a stop was requested; -1: error. The first call, before
     * base->begun, begins the prediction: the outputs are known then. It may be
     * COLLECTIVE.
     */
    int (*next)(raytrain_predictor *base, uint64_t *rows, struct error *err);
    /* Copies the rows of this column of base->predicted, for the current batch. */
    int (*put)(raytrain_predictor *base, size_t column, const void *data,
               struct error *err);
    /* Ends the current batch, which cannot be predicted, with the reason. NULL: that
     * ends the prediction. */
    int (*fail)(raytrain_predictor *base, const struct error *why, struct error *err);
    /* Called when the predict function has returned 0. May be COLLECTIVE. */
    int (*finish)(raytrain_predictor *base, struct error *err);
    /* Frees everything except the base's members, and the object itself, which may be
     * half made. */
    void (*destroy)(raytrain_predictor *base);
};

/* The first member of all implementations. */
struct raytrain_predictor {
    const struct predictor_ops *ops;
    raytrain_dataset *input;    /* its current batch is that of the prediction */
    struct predicted predicted; /* the columns of the output */
    uint64_t batch;             /* the predict function's choice; 0: none */
    uint64_t rows;              /* of the current batch; 0: there is none */
    bool begun;                 /* next was called, and the prediction has begun */
};

void predictor_destroy(raytrain_predictor *p); /* NULL is fine */

/* The rows of the current batch, after the preprocessors; before the first batch, only
 * the columns. Only predictor_next() may move it. */
raytrain_dataset *predictor_dataset(raytrain_predictor *p);
/* To be called before the first next; after it, RAYTRAIN_EINVAL. */
int predictor_output(raytrain_predictor *p, const char *name, raytrain_dtype dtype,
                     int ndim, const uint64_t shape[], struct error *err);
int predictor_set_batch_size(raytrain_predictor *p, uint64_t rows, struct error *err);
/* 0: a batch of *rows rows; 1: there are no more, or a stop was requested; -1:
 * error. */
int predictor_next(raytrain_predictor *p, uint64_t *rows, struct error *err);
/* Copies the rows of one output of the current batch. */
int predictor_put(raytrain_predictor *p, const char *name, const void *data,
                  struct error *err);
/* For a batch that cannot be predicted. 0: the reason was sent to the source of the
 * batch, and predictor_next() may be called; -1: the prediction cannot continue, and
 * *err has the reason. */
int predictor_fail(raytrain_predictor *p, const struct error *why, struct error *err);
/* True if the prediction continues after a batch that failed. */
bool predictor_goes_on(const raytrain_predictor *p);
/* True if next was called. */
bool predictor_has_begun(const raytrain_predictor *p);
/* Name, dtype and shape of a row of output i, in the order in which outputs were
 * declared. NULL: there are not that many. */
const char *predictor_output_at(const raytrain_predictor *p, size_t i,
                                raytrain_tensor *row);

/* COLLECTIVE, when the predict function has returned 0: completes the output, unless a
 * stop was requested. RAYTRAIN_EFAILED if the function has not taken all batches. */
int predictor_finish(raytrain_predictor *p, struct error *err);

/* For implementations: checks that there are outputs. */
int predictor_check(const raytrain_predictor *p, struct error *err);
/* Always -1: the predict function has returned before it had all batches. */
int predictor_fail_early(struct error *err);

#endif
