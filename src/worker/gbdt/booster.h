/*
 * booster.h - the interface of a library that trains trees: XGBoost
 * (worker/xgboost) and LightGBM (worker/lightgbm).
 *
 * The loop (gbdt_loop.c) owns what the libraries have in common: data, rounds, reports,
 * early stopping, checkpoints. A booster has the model and the library's matrices. The
 * libraries are opened at run time: a build without them works, and the user can
 * replace that of the system by another, which is newer or uses GPUs.
 *
 * Threads: only the training thread calls these; libraries start their own threads.
 *
 * To add a library: write a room with a file that defines a `struct booster_ops`, and
 * add its name to BOOSTERS (config/registry.h). It is a trainer then.
 */
#ifndef RAYTRAIN_GBDT_BOOSTER_H
#define RAYTRAIN_GBDT_BOOSTER_H

#include "comm/comm.h"
#include "config/gbdt_config.h"
#include "gbdt/gbdt_rows.h"
#include "wireup/wireup.h"

/* The score of a dataset after a round, over all its rows on all members:
 * "train-logloss". */
struct gbdt_score {
    char name[RAYTRAIN_NAME_MAX + 1]; /* a metric of raytrain_report() */
    double value;
    bool more_is_better;
};
#define GBDT_SCORES_MAX 64

struct gbdt_scores {
    struct gbdt_score list[GBDT_SCORES_MAX];
    size_t n;
};

enum gbdt_severity { GBDT_INFO, GBDT_WARNING };

/* All of it is borrowed, and outlives the booster. */
struct booster_env {
    /* The members: the workers that have rows of the training set, and train. Used by
     * the booster only; its ranks are in the order of the run's. NULL: this process
     * alone, to predict. */
    struct comm *comm;
    const struct world *world; /* of the run; NULL to predict */
    int threads;               /* of this worker */
    const struct gbdt_config *config;
    const struct gbdt_features *features; /* NULL to predict: the model has them */
    uint64_t seed;                        /* of the run; for a library without `seed` */
    /* The model to continue, which begin() gets too: a library may need it while it
     * still has the rows. NULL: a new model. */
    const void *model;
    size_t model_size;
    /* Called for each line that the library prints, without its end. */
    void (*say)(void *arg, enum gbdt_severity severity, const char *line);
    /* To be called regularly during long work, which the launcher would otherwise take
     * for a hang. */
    void (*goes_on)(void *arg);
    void *arg;
};

/* What each feature contributes to the model. */
struct gbdt_importance {
    double *gain;   /* total gain of the splits by each feature of env->features */
    double *splits; /* number of these splits */
};

/* The outputs of raytrain-predict for a row. */
enum gbdt_output {
    GBDT_VALUE,        /* what the library predicts by default */
    GBDT_PROBABILITY,  /* of class 1, or of each class */
    GBDT_CLASS,        /* the most probable one, int32 */
    GBDT_MARGIN,       /* before the objective's transformation */
    GBDT_LEAF,         /* the leaf of each tree, int32 */
    GBDT_CONTRIBUTION, /* SHAP values of each feature and the bias, of each class */
    GBDT_OUTPUTS
};

struct booster;

struct booster_ops {
    const char *name; /* "xgboost" */
    const char *file; /* of its model in a checkpoint, "model.ubj" */
    bool wide;        /* it takes features as float64; otherwise as float32 */
    /*
     * Finds and opens the library; called first, on every rank. May be called again.
     * RAYTRAIN_ENOTFOUND: it is not installed; the message says how to get it.
     */
    int (*open)(struct error *err);
    /* The version of the open library, "1.7.4". NULL: it does not tell its version. */
    void (*version)(char text[32]);
    /* True if the objective of the configuration is for ranking, which needs
     * queries. */
    bool (*ranks)(const struct gbdt_config *cfg);
    /* Makes `impl`. COLLECTIVE over the members if there are several. */
    int (*create)(struct booster *b, struct error *err);
    /*
     * COLLECTIVE. Copies a dataset into the library; the training set comes first.
     * Frees the values as soon as the library has them; the caller frees the rest of
     * *rows. Datasets other than the training set may have no rows here.
     * RAYTRAIN_EINVAL, with the library's message, for labels that the objective
     * refuses.
     */
    int (*add)(struct booster *b, struct gbdt_rows *rows, struct error *err);
    /*
     * COLLECTIVE, after the last add: begins a new model, or continues the model in
     * `bytes`, which are equal on every member. Parameters are those of the
     * configuration.
     */
    int (*begin)(struct booster *b, const void *bytes, size_t n, struct error *err);
    /* COLLECTIVE. Boosts one round; rounds count from 0, over all attempts. *full: the
     * library cannot add another tree, and the training is complete. */
    int (*update)(struct booster *b, int round, bool *full, struct error *err);
    /* COLLECTIVE. All metrics of all datasets, equal on every member. */
    int (*evaluate)(struct booster *b, int round, struct gbdt_scores *scores,
                    struct error *err);
    /*
     * Rank 0 of the members alone: the first `rounds` rounds of the model (0: all) in
     * the library's own format; the caller frees the bytes. best_round, unless
     * negative, and the score are stored in it if the library's own Python module does
     * so.
     */
    int (*save)(struct booster *b, int rounds, int best_round, double best_score,
                void **bytes, size_t *n, struct error *err);
    /* Rank 0 of the members alone: of the same rounds as `save`, into memory of the
     * caller. */
    int (*importance)(struct booster *b, int rounds, struct gbdt_importance *out,
                      struct error *err);
    /* The number of rounds in the model. */
    int (*rounds)(struct booster *b, struct error *err);

    /* ---- One process, with the bytes of a model ---- */

    int (*load)(struct booster *b, const void *bytes, size_t n, struct error *err);
    /* The shape of this output for one row: *ndim dimensions, 2 at most; 0 for a single
     * number. RAYTRAIN_EINVAL: the model does not have this output. */
    int (*shape)(struct booster *b, enum gbdt_output output, uint64_t shape[2],
                 int *ndim, struct error *err);
    /* Predicts rows (without a label): an array of that shape for one row after the
     * other, of int32 or float32 as in enum gbdt_output. RAYTRAIN_EINVAL: the rows and
     * the model differ in the number of features. */
    int (*predict)(struct booster *b, enum gbdt_output output,
                   const struct gbdt_rows *rows, void *values, struct error *err);
    /* The model in another format of the library: "json", "ubj", "txt". The caller
     * frees the bytes. RAYTRAIN_EINVAL: the library does not have this format; the
     * message lists those that it has. */
    int (*convert)(struct booster *b, const char *format, void **bytes, size_t *n,
                   struct error *err);

    /* Unless `clean`, does not wait for other members. impl may be NULL or half
     * made. */
    void (*destroy)(struct booster *b, bool clean);
};

struct booster {
    const struct booster_ops *ops;
    struct booster_env env;
    void *impl;
};

/* By the name of config->trainer. NULL: no library has this name. */
const struct booster_ops *booster_find(const char *name);

#endif
