/*
 * predictor.h - the loop of a prediction on one rank, behind raytrain_predictor of
 * raytrain.h: batches of the input in order, what is predicted of them, and in the end
 * the file of all predictions.
 *
 * The rows are cut into shards (predict_plan.h), which the ranks take in rounds. A shard
 * whose predictions are complete is published (shard_file.h); a prediction that goes on
 * after an interruption makes only those that are missing. Batches, shards and the file
 * have the same bytes on any number of ranks.
 *
 * Collectives: create; the first next, and each one that completes a round with a report;
 * finish. A report comes after the same round on all ranks: so the number of rows that are
 * done is known, and a request to stop reaches all ranks at once. Since ranks wait for
 * each other then, not every round has one (predict_report_at()).
 *
 * Threads: the training thread alone.
 */
#ifndef RAYTRAIN_PREDICT_PREDICTOR_H
#define RAYTRAIN_PREDICT_PREDICTOR_H

#include "comm/comm.h"
#include "data/dataset.h"
#include "config/predict_config.h"

struct predict_progress {
    uint64_t rows,
        done;       /* of the whole input; done in this attempt or an earlier one */
    uint64_t here;  /* done in this attempt */
    double seconds; /* that took, from the first batch on */
};

/* All of it outlives the predictor. */
struct predictor_env {
    struct comm *comm; /* the predictor's own */
    struct comm *node; /* as dataset_env's */
    const char *run_dir;
    const struct predict_config *config;
    const struct dataset_config *input;
    const struct chain *chain; /* fitted preprocessors for the input; NULL: none */
    const char *checkpoint;    /* what it predicts by, for the record; NULL: nothing */
    int64_t iteration;
    /* COLLECTIVE: rounds are complete. *stop, the same on every rank: end early. */
    int (*progress)(void *arg, const struct predict_progress *p, bool *stop,
                    struct error *err);
    /* This rank makes progress: before each batch, and each block of the output. */
    void (*goes_on)(void *arg);
    void *arg;
    /* As dataset_env's, during predictor_create(). */
    const char *invocation; /* dataset.h */
    const struct text_watch *watch;
    void (*warn)(void *arg, const char *text);
};

/* COLLECTIVE. Opens the input. */
int predictor_create(const struct predictor_env *env, raytrain_predictor **out,
                     struct error *err);
void predictor_destroy(raytrain_predictor *p); /* NULL is fine */

/* The rows of the current batch, as the preprocessors have changed them; before the first
 * one, what columns there are. It is moved by predictor_next() alone. */
raytrain_dataset *predictor_dataset(raytrain_predictor *p);
/* Before the first next: RAYTRAIN_EINVAL after it. */
int predictor_output(raytrain_predictor *p, const char *name, raytrain_dtype dtype,
                     int ndim, const uint64_t shape[], struct error *err);
int predictor_set_batch_size(raytrain_predictor *p, uint64_t rows, struct error *err);
/* 0: a batch of *rows rows; 1: there are no more, or a stop was asked for; -1: error, also
 * if an output of the batch before was not put. */
int predictor_next(raytrain_predictor *p, uint64_t *rows, struct error *err);
/* Copies the rows of one output of the current batch. */
int predictor_put(raytrain_predictor *p, const char *name, const void *data,
                  struct error *err);
/* Was next called? */
bool predictor_has_begun(const raytrain_predictor *p);
/* The outputs that the predictor puts, in the order in which they were declared: dtype and
 * shape of a row. NULL: there is none of this number. */
const char *predictor_output_at(const raytrain_predictor *p, size_t i,
                                raytrain_tensor *row);

/* COLLECTIVE. The predict function has returned 0: make the file, unless a stop was asked
 * for. RAYTRAIN_EFAILED if it has not come to the end. */
int predictor_finish(raytrain_predictor *p, struct error *err);

#endif
