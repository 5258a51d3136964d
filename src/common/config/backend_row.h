/*
 * backend_row.h - the table of backends: one row for each, with everything that the
 * configuration and the launcher know about it. What it does in a worker is in its file
 * in worker/backend, whose table is made from the same list: a row without an
 * implementation does not link.
 *
 * Words that the user may write, completions and messages come from the rows; a unit
 * test compares them with raytrain-run(1).
 */
#ifndef RAYTRAIN_CONFIG_BACKEND_ROW_H
#define RAYTRAIN_CONFIG_BACKEND_ROW_H

#include <stdbool.h>

/* Who can use a backend: a sum of these. */
enum backend_use {
    BACKEND_OF_COMMANDS = 1,
    BACKEND_OF_FUNCTIONS = 2, /* training functions in C */
};

/* Lists of words are terminated by NULL, and may be NULL. */
struct backend_row {
    const char *name;
    int uses;
    bool one_worker; /* it does not connect workers, so there can be only one */
    /* The keys of backend_config that it has (config/backend_config.c). */
    const char *const *keys;
    /* A Python script that imports one of these modules gets this backend by default. If
     * modules of several backends are imported, the greatest weight counts, then the
     * first row. */
    const char *const *modules;
    int weight;
    const char *trainer; /* the class in Python that starts workers with it, or NULL */
    /* Texts in the message or the log of a command that needs this backend but runs
     * with "command". */
    const char *const *signs;
    /* What a training function in C uses instead; NULL: "mpi". */
    const char *instead;
};

#define BACKEND_WORDS(...)                                                             \
    (const char *const[])                                                              \
    {                                                                                  \
        __VA_ARGS__, NULL                                                              \
    }

/* X(NAME, other members): struct backend_ops backend_NAME, in the order of messages. */
/* clang-format off */
#define BACKENDS(X)                                                                    \
    X(mpi,                                                                             \
      .uses = BACKEND_OF_COMMANDS | BACKEND_OF_FUNCTIONS,                              \
      .modules = BACKEND_WORDS("mpi4py"), .weight = -1)                                \
    X(none,                                                                            \
      .uses = BACKEND_OF_FUNCTIONS, .one_worker = true)                                \
    X(torch,                                                                           \
      .uses = BACKEND_OF_COMMANDS,                                                     \
      .keys = BACKEND_WORDS("backend", "init_method", "timeout_s"),                    \
      .modules = BACKEND_WORDS("torch", "lightning", "pytorch_lightning",              \
                               "accelerate"),                                          \
      .trainer = "TorchTrainer",                                                       \
      .signs = BACKEND_WORDS("MASTER_ADDR", "MASTER_PORT", "init_method",              \
                             "variable RANK"))                                         \
    X(tensorflow,                                                                      \
      .uses = BACKEND_OF_COMMANDS,                                                     \
      .modules = BACKEND_WORDS("tensorflow"),                                          \
      .trainer = "TensorflowTrainer",                                                  \
      .signs = BACKEND_WORDS("TF_CONFIG"))                                             \
    X(jax,                                                                             \
      .uses = BACKEND_OF_COMMANDS,                                                     \
      .modules = BACKEND_WORDS("jax"),                                                 \
      .trainer = "JaxTrainer",                                                         \
      .signs = BACKEND_WORDS("coordinator_address"))                                   \
    /* imported beside the framework whose gradients it adds */                        \
    X(horovod,                                                                         \
      .uses = BACKEND_OF_COMMANDS,                                                     \
      .modules = BACKEND_WORDS("horovod"), .weight = 1,                                \
      .trainer = "HorovodTrainer",                                                     \
      .signs = BACKEND_WORDS("HOROVOD_GLOO"))                                          \
    X(xgboost,                                                                         \
      .uses = BACKEND_OF_COMMANDS,                                                     \
      .trainer = "XGBoostTrainer",                                                     \
      .instead = BACKEND_OF_TREES)                                                     \
    X(lightgbm,                                                                        \
      .uses = BACKEND_OF_COMMANDS,                                                     \
      .trainer = "LightGBMTrainer",                                                    \
      .instead = BACKEND_OF_TREES)                                                     \
    X(command,                                                                         \
      .uses = BACKEND_OF_COMMANDS,                                                     \
      .trainer = "DataParallelTrainer")
/* clang-format on */
#define BACKEND_OF_TREES                                                               \
    "--trainer xgboost or lightgbm trains trees without a training function"

/* The last one has no name. */
extern const struct backend_row backend_rows[];

/* NULL: there is none of this name. */
const struct backend_row *backend_row_find(const char *name);

/* Is the word in a list of a row? */
bool backend_row_has(const char *const *list, const char *word);

#endif
