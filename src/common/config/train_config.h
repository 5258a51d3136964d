/*
 * train_config.h - the whole configuration of a run: the contents of `run.cfg`.
 *
 * The launcher makes one from files, --set and flags, validates it and writes run.cfg;
 * the workers parse the same text again. It belongs to the caller of
 * train_config_init(); train_config_clear() frees its contents.
 */
#ifndef RAYTRAIN_CONFIG_TRAIN_CONFIG_H
#define RAYTRAIN_CONFIG_TRAIN_CONFIG_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/backend_config.h"
#include "config/data_config.h"
#include "config/gbdt_config.h"
#include "config/predict_config.h"
#include "config/serve_config.h"
#include "config/preprocessor_config.h"
#include "config/run_config.h"
#include "config/scaling_config.h"
#include "config/train_func_file.h"
#include "util/error.h"

struct train_config {
    /* "data_parallel", or one with its own loop, such as "xgboost". */
    char *trainer;
    /* A path, absolute after validation; NULL: the trainer has a loop. */
    char *train_func;
    enum train_func_kind train_func_kind;
    /* A command of a batch job, which may only exist after its prologue. */
    bool train_func_later;
    /* After validation: the user named a script, which python3 runs. */
    bool is_script;
    char **args;          /* after the training function */
    size_t n_args;
    json_t *train_loop_config; /* an object, never NULL after init */
    struct gbdt_config gbdt;   /* for the trainers of gbdt_config_is_trainer() */
    struct scaling_config scaling_config;
    struct run_config run_config;
    char *backend; /* NULL until validation: "mpi", or "command" for a command */
    struct backend_config backend_config;
    struct dataset_config *datasets;
    size_t n_datasets;
    struct data_config data_config;
    /* The key preprocessor; n is 0: none. */
    struct preprocessors_config preprocessors;
    struct predict_config predict;             /* predict_config_predicts() */
    struct serve_config serve;
    /* For the random streams and for shuffling; default 0. */
    uint64_t seed;
    /* The absolute path of a checkpoint file; NULL: none. */
    char *resume_from_checkpoint;
};

struct config_table;
extern const struct config_table train_config_table; /* all keys */

void train_config_init(struct train_config *cfg); /* the defaults */
void train_config_clear(struct train_config *cfg);

/*
 * Merge the libconfig text (called `source` in messages) into cfg. Unknown keys, wrong
 * types and values out of range are errors that name source:line, the key, the allowed
 * values and the nearest known key. RAYTRAIN_EINVAL.
 */
int train_config_merge_text(struct train_config *cfg, const char *text,
                            const char *source, struct error *err);
/* The same from a file that was found, not named by the user. It may name code, so
 * RAYTRAIN_EINVAL also says that another user may have written it. */
int train_config_merge_found(struct train_config *cfg, const char *path,
                             struct error *err);
/* The same from a file. Also RAYTRAIN_ENOTFOUND, RAYTRAIN_ESTORAGE. */
int train_config_merge_file(struct train_config *cfg, const char *path,
                            struct error *err);
/* One `--set KEY=VALUE`: a dotted key, a libconfig value (a bare word is a string). */
int train_config_set(struct train_config *cfg, const char *assignment,
                     struct error *err);
/* A flag that sets a key: the text is the value of a dotted key, an integer if it
 * consists of digits, else a string. `source` ("--workers") is its name in messages. */
int train_config_set_text(struct train_config *cfg, const char *key, const char *text,
                          const char *source, struct error *err);
/* The same for a boolean key. */
int train_config_set_bool(struct train_config *cfg, const char *key, bool value,
                          const char *source, struct error *err);
/*
 * Check conditions on more than one key, fill in derived defaults (name, GPUs per
 * worker, absolute paths) and refuse values that this version does not support
 * (RAYTRAIN_ENOTSUP).
 */
int train_config_validate(struct train_config *cfg, struct error *err);
/* Does the file of resume_from_checkpoint exist? A run that is continued may not need
 * it. */
int train_config_check_start(const struct train_config *cfg, struct error *err);
/* The name for a run that has none, after its training function. malloc'ed, NULL
 * without memory. The same before validation. */
char *train_config_default_name(const struct train_config *cfg);

/* The effective configuration as libconfig text that merge_text reads back to the same
 * struct; the caller frees *text. */
int train_config_render(const struct train_config *cfg, char **text, struct error *err);

#endif
