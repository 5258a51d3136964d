/*
 * lightgbm_job.h - one training by the booster "lightgbm" with members as threads, for
 * its unit test.
 */
#ifndef RAYTRAIN_TEST_LIGHTGBM_JOB_H
#define RAYTRAIN_TEST_LIGHTGBM_JOB_H

#include "gbdt/booster.h"
#include "thread_comm.h"

#define JOB_ROWS       2400
#define JOB_VALID_ROWS 900
#define JOB_FEATURES   6
#define JOB_SAID_MAX   65536

/* What is particular about the data; the label is 0 or 1 unless another is asked
 * for. */
enum {
    JOB_CLASSES = 1,     /* labels 0, 1, 2 */
    JOB_GROUPS = 2,      /* query groups */
    JOB_MISSING = 4,     /* some values are missing */
    JOB_SPARSE = 8,      /* zeros are left out */
    JOB_CATEGORIES = 16, /* feature 0 is a category */
    JOB_WEIGHTS = 32,
    JOB_FLOAT32 = 64,
    JOB_MARGINS = 128,
    JOB_VALID_LAST = 256, /* the last member has all rows of the dataset "valid" */
    JOB_POSITIVE = 512,   /* labels above 0 */
    JOB_BAD_LABEL = 1024, /* the last row's label is 7 */
};

struct boosting_data {
    double x[JOB_ROWS][JOB_FEATURES], valid_x[JOB_VALID_ROWS][JOB_FEATURES];
    float binary[JOB_ROWS], valid_binary[JOB_VALID_ROWS];
};

struct job {
    const char *params;
    struct gbdt_config config;
    unsigned flags;
    int rounds;
    const char *old; /* the model to continue */
    int fail_at;     /* this collective fails, on all members; 0: none */
    bool fails;      /* an error is expected */
    struct boosting_data *data;
    /* Of each member, after boosting_run(). */
    char *model[THREAD_COMM_MAX];
    struct gbdt_scores scores[THREAD_COMM_MAX]; /* after the last round */
    struct error err[THREAD_COMM_MAX];
    double importance_gain[JOB_FEATURES], importance_splits[JOB_FEATURES];
    char said[JOB_SAID_MAX]; /* by member 0 */
};

struct prediction {
    uint64_t shape[2];
    int ndim;
    void *values; /* to free(), float32 or int32 */
};

/* Is there a library? If not, exit: with TAP's line for skipping all tests if this
 * system cannot have one. */
void boosting_library_find(void);

struct job boosting_make(const char *params);
void boosting_run(struct job *job, int members);
void boosting_clear(struct job *job);

/* By the model of member 0, of the rows of the training set. */
struct prediction boosting_predict(struct job *job, enum gbdt_output output);

#endif
