/*
 * file_predictor.h - the predictor of raytrain-predict, on one rank: batches of the
 * input in order, what is predicted of them, and in the end the file of all
 * predictions.
 *
 * The rows are cut into parts (predict_plan.h), which the ranks take in rounds. A part
 * whose predictions are complete is published (output_part.h); a prediction that goes
 * on after an interruption makes only those that are missing. Batches, parts and the
 * file have the same bytes on any number of ranks.
 *
 * Collectives: create; the first next, and each one that completes a round with a
 * report; finish. A report comes after the same round on all ranks: so the number of
 * rows that are done is known, and a request to stop reaches all ranks at once. Since
 * ranks wait for each other then, not every round has one (predict_report_at()).
 *
 * Threads: the training thread alone.
 */
#ifndef RAYTRAIN_PREDICT_FILE_PREDICTOR_H
#define RAYTRAIN_PREDICT_FILE_PREDICTOR_H

#include "comm/comm.h"
#include "config/predict_config.h"
#include "predict/predictor.h"

struct predict_progress {
    uint64_t rows,
        done;       /* of the whole input; done in this attempt or an earlier one */
    uint64_t here;  /* done in this attempt */
    double seconds; /* that took, from the first batch on */
};

/* All of it outlives the predictor. */
struct file_predictor_env {
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
    void *warn_arg;
};

/* COLLECTIVE. Opens the input. */
int file_predictor_create(const struct file_predictor_env *env,
                          raytrain_predictor **out, struct error *err);

#endif
