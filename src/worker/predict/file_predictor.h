/*
 * file_predictor.h - the predictor of raytrain-predict on one rank: it delivers batches
 * of the input in order, takes their predictions, and at the end makes the file of all
 * predictions.
 *
 * The rows are divided into parts (predict_plan.h), which the ranks take in rounds. A
 * part whose predictions are complete is published (output_part.h); after an
 * interruption, only the missing parts are made. Batches, parts and the file have the
 * same bytes on any number of ranks.
 *
 * Collectives: create; the first next, and each one that completes a round with a
 * report; finish. A report comes after the same round on all ranks: so the number of
 * rows that are done is known, and a request to stop reaches all ranks at once. Since
 * ranks wait for each other then, not every round has one (predict_report_at()).
 *
 * Only the training thread may call these.
 */
#ifndef RAYTRAIN_PREDICT_FILE_PREDICTOR_H
#define RAYTRAIN_PREDICT_FILE_PREDICTOR_H

#include "comm/comm.h"
#include "config/predict_config.h"
#include "predict/predictor.h"

struct predict_progress {
    uint64_t rows,
        done;       /* all rows of the input; those done, also by earlier attempts */
    uint64_t here;  /* done in this attempt */
    double seconds; /* the time for these, from the first batch on */
};

/* All of it outlives the predictor. */
struct file_predictor_env {
    struct comm *comm; /* the predictor's own */
    struct comm *node; /* as dataset_env's */
    const char *run_dir;
    const struct predict_config *config;
    const struct dataset_config *input;
    const struct chain *chain; /* fitted preprocessors for the input; NULL: none */
    const char *checkpoint;    /* its path, for the record; NULL: none */
    int64_t iteration;
    /* COLLECTIVE: called when rounds are complete. *stop, equal on every rank: end
     * early. */
    int (*progress)(void *arg, const struct predict_progress *p, bool *stop,
                    struct error *err);
    /* Called before each batch and each block of the output: this rank makes
     * progress. */
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
