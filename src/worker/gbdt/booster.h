/*
 * booster.h - the interface of a library that trains trees: XGBoost
 * (worker/xgboost) and LightGBM (worker/lightgbm).
 *
 * The loop (gbdt_loop.c) owns what the libraries have in common: data, rounds, reports,
 * early stopping, checkpoints. A booster has the model and the library's matrices. The
 * libraries are opened at run time, so that a build without them works, and one of the
 * user's (a newer one, or one with GPUs) can take the place of the system's.
 *
 * Threads: the training thread alone; libraries start threads of their own.
 *
 * To add a library: write a room with a file that defines a `struct booster_ops`, and
 * add its name to BOOSTERS (config/registry.h): it is a trainer then.
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
    /* The members: the workers that have rows of the training set, and train. It is the
     * booster's own; the ranks are those of the run, from 0 on. NULL: this process
     * alone, to predict. */
    struct comm *comm;
    const struct world *world; /* of the run; NULL to predict */
    int threads;               /* of this worker */
    const struct gbdt_config *config;
    const struct gbdt_features *features; /* NULL to predict: the model has them */
    uint64_t seed;                        /* of the run; for a library without `seed` */
    /* The model to go on with, which begin() gets too: a library may need it while it
     * still has the rows. NULL: a new one. */
    const void *model;
    size_t model_size;
    /* What the library prints, a line without its end. */
    void (*say)(void *arg, enum gbdt_severity severity, const char *line);
    /* To be called now and then, or the launcher takes long work for a hang. */
    void (*goes_on)(void *arg);
    void *arg;
};

/* One float64 or float32 per feature: how much it is worth to the model. */
struct gbdt_importance {
    double *gain;   /* total gain of the splits by each feature; n of env->features */
    double *splits; /* how many there are */
};

/* What raytrain-predict can make of a row. */
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
    bool wide;        /* it looks at features in float64; otherwise in float32 */
    /*
     * Find the library, before anything else and on every rank. May be called again.
     * RAYTRAIN_ENOTFOUND: there is none; the message says how to get one.
     */
    int (*open)(struct error *err);
    /* Once it is open: the library's version, "1.7.4". NULL: it has none. */
    void (*version)(char text[32]);
    /* Is the objective of the configuration one of ranking, which needs queries? */
    bool (*ranks)(const struct gbdt_config *cfg);
    /* Make `impl`. COLLECTIVE over the members if there are several. */
    int (*create)(struct booster *b, struct error *err);
    /*
     * COLLECTIVE. Copy a dataset into the library; the training set comes first. The
     * values are dropped as soon as the library has them, the rest of *rows stays the
     * caller's. Other datasets may have no rows here. RAYTRAIN_EINVAL for labels that
     * the objective refuses, with the library's message.
     */
    int (*add)(struct booster *b, struct gbdt_rows *rows, struct error *err);
    /*
     * COLLECTIVE, after the last add: a new model, or (bytes not NULL) go on with one,
     * the same bytes on every member. Parameters are those of the configuration.
     */
    int (*begin)(struct booster *b, const void *bytes, size_t n, struct error *err);
    /* COLLECTIVE. One round more; round is from 0 on, over all attempts. *full: the
     * library can add no tree, and the training is complete. */
    int (*update)(struct booster *b, int round, bool *full, struct error *err);
    /* COLLECTIVE. All metrics of all datasets; the same on every member. */
    int (*evaluate)(struct booster *b, int round, struct gbdt_scores *scores,
                    struct error *err);
    /*
     * Rank 0 of the members alone: the model as the library's own bytes, to free(). Of
     * its first `rounds` rounds only; 0: all. best_round, unless negative, and the
     * score are kept in it as the library's own Python module does, if it does.
     */
    int (*save)(struct booster *b, int rounds, int best_round, double best_score,
                void **bytes, size_t *n, struct error *err);
    /* Rank 0 of the members alone: of the same rounds as `save`. Memory of the
     * caller. */
    int (*importance)(struct booster *b, int rounds, struct gbdt_importance *out,
                      struct error *err);
    /* Rounds that the model has; 0: none yet. */
    int (*rounds)(struct booster *b, struct error *err);

    /* ---- One process, with the bytes of a model ---- */

    int (*load)(struct booster *b, const void *bytes, size_t n, struct error *err);
    /* How many numbers this output has for each row; 0: one, without a dimension. shape
     * has up to 2 dimensions, *ndim of them. RAYTRAIN_EINVAL: the model has no such
     * output. */
    int (*shape)(struct booster *b, enum gbdt_output output, uint64_t shape[2],
                 int *ndim, struct error *err);
    /* Predict rows (without a label): row after row, of that shape; int32 or float32 as
     * in enum gbdt_output. RAYTRAIN_EINVAL: another number of features than the
     * model's. */
    int (*predict)(struct booster *b, enum gbdt_output output,
                   const struct gbdt_rows *rows, void *values, struct error *err);
    /* The model in another of the library's formats: "json", "ubj", "txt". To free().
     * RAYTRAIN_EINVAL: it has no such format; the message has those that there are. */
    int (*convert)(struct booster *b, const char *format, void **bytes, size_t *n,
                   struct error *err);

    /* Not clean: do not wait for other members. impl may be NULL or half made. */
    void (*destroy)(struct booster *b, bool clean);
};

struct booster {
    const struct booster_ops *ops;
    struct booster_env env;
    void *impl;
};

/* By the name of config->trainer. NULL: there is none. */
const struct booster_ops *booster_find(const char *name);

#endif
