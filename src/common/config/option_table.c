/*
 * option_table.c - the table of flags, and the functions of those that do more than set
 * a value. options.c parses command lines by it.
 */
#include "config/option_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/registry.h"
#include "util/argv.h"
#include "util/quote.h"
#include "util/rank_choice.h"

static const char *const launchers[] = {"auto", LAUNCHERS(REGISTRY_WORD) NULL};
static const char *const offered_callbacks[] = {CALLBACKS_BY_NAME(REGISTRY_WORD) NULL};
static const char *const offered_outputs[] = {TREE_OUTPUTS(REGISTRY_WORD) NULL};
static const char *const offered_ranks[] = {RANK_CHOICE_WORDS(RANK_CHOICE_NAME) NULL};
static const char *const styles[] = {
    [PROGRESS_AUTO] = "auto", [PROGRESS_BAR] = "bar",     [PROGRESS_PLAIN] = "plain",
    [PROGRESS_NONE] = "none", [PROGRESS_NONE + 1] = NULL,
};

/* ---- Actions of flags ---- */

static int act_config(const char *argument, struct options *opt,
                      struct train_config *cfg, struct error *err)
{
    (void)opt;
    return train_config_merge_file(cfg, argument, err);
}

static int act_set(const char *argument, struct options *opt, struct train_config *cfg,
                   struct error *err)
{
    (void)opt;
    return train_config_set(cfg, argument, err);
}

static int act_sweep(const char *argument, struct options *opt,
                     struct train_config *cfg, struct error *err)
{
    (void)cfg;
    return argv_append(&opt->sweeps, argument, err);
}

static int act_callback(const char *argument, struct options *opt,
                        struct train_config *cfg, struct error *err)
{
    (void)opt;
    if (!cfg->run_config.callbacks.list)
        return error_no_memory(err);
    return callbacks_config_add(&cfg->run_config.callbacks, argument, "--callback",
                                err);
}

static int act_dataset(const char *argument, struct options *opt,
                       struct train_config *cfg, struct error *err)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-*";
    const char *equals = strchr(argument, '=');
    char quoted[QUOTE_TEXT_MAX], *key;
    int rc;

    (void)opt;
    if (!equals || equals == argument || argument + strspn(argument, plain) != equals)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "--dataset: %s is not NAME=PATH; write --dataset train=FILE, "
                         "with a name of letters, digits, _ and -",
                         quote(argument, quoted));
    if (asprintf(&key, "datasets.%.*s.path", (int)(equals - argument), argument) < 0)
        return error_no_memory(err);
    rc = train_config_set_text(cfg, key, equals + 1, "--dataset", err);
    free(key);
    return rc;
}

static int act_resume(const char *argument, struct options *opt,
                      struct train_config *cfg, struct error *err)
{
    opt->warm = opt->warm || argument;
    opt->resume = opt->resume || !argument;
    return argument ? train_config_set_text(cfg, "resume_from_checkpoint", argument,
                                            "--resume", err)
                    : 0;
}

/* METRIC, METRIC:max, METRIC:min */
static int act_score(const char *argument, struct options *opt,
                     struct train_config *cfg, struct error *err)
{
    const char *colon = strrchr(argument, ':');
    size_t n = colon ? (size_t)(colon - argument) : strlen(argument);
    char *metric = strndup(argument, n);
    int rc;

    (void)opt;
    if (!metric)
        return error_no_memory(err);
    rc = train_config_set_text(
        cfg, "run_config.checkpoint_config.checkpoint_score_attribute", metric,
        "--score", err);
    if (!rc)
        rc = train_config_set_text(
            cfg, "run_config.checkpoint_config.checkpoint_score_order",
            colon ? colon + 1 : "max", "--score", err);
    if (!rc && !colon) /* replaces the metric of a file, and its order */
        cfg->run_config.checkpoint_config.checkpoint_score_ordered = false;
    free(metric);
    return rc;
}

/* Names between commas, which replace those that were set before. */
static int names_take(const char *argument, const char *flag, char ***list, size_t *n,
                      struct error *err)
{
    char **names = NULL;
    int rc = 0;

    for (const char *at = argument; rc == 0;) {
        size_t length = strcspn(at, ",");

        rc = length > 0
                 ? argv_appendf(&names, err, "%.*s", (int)length, at)
                 : error_set(err, RAYTRAIN_EUSAGE,
                             "--%s: a name is empty; write --%s A,B", flag, flag);
        if (!at[length])
            break;
        at += length + 1;
    }
    if (rc) {
        argv_free(names);
        return -1;
    }
    for (size_t i = 0; i < *n; i++)
        free((*list)[i]);
    free(*list);
    *list = names;
    *n = argv_count(names);
    return 0;
}

static int act_columns(const char *argument, struct options *opt,
                       struct train_config *cfg, struct error *err)
{
    (void)opt;
    return names_take(argument, "columns", &cfg->predict.columns,
                      &cfg->predict.n_columns, err);
}

static int act_outputs(const char *argument, struct options *opt,
                       struct train_config *cfg, struct error *err)
{
    (void)opt;
    return names_take(argument, "outputs", &cfg->predict.outputs,
                      &cfg->predict.n_outputs, err);
}

static int act_input(const char *argument, struct options *opt,
                     struct train_config *cfg, struct error *err)
{
    (void)opt;
    return predict_inputs_add(&cfg->predict.inputs, argument, "--input", err);
}

static int act_progress(const char *argument, struct options *opt,
                        struct train_config *cfg, struct error *err)
{
    (void)cfg;
    (void)err;
    for (int i = PROGRESS_AUTO; i <= PROGRESS_NONE; i++)
        if (!strcmp(styles[i], argument))
            opt->progress = (enum progress_style)i;
    return 0;
}

/* ---- The table ---- */

#define RESOURCE      "scaling_config.resources_per_worker."
#define TEXT(member)  .text = offsetof(struct options, member) + 1
#define TRUTH(member) .truth = offsetof(struct options, member) + 1
#define OF_SUBMIT     .of = OF_RUN, .batch = SUBMIT_LEFT_OUT
#define INPUT         "datasets." PREDICT_DATASET "."

const struct flag option_flags[] = {
    {"checkpoint", 0, "PATH", "the checkpoint, or a run: its best one",
     TEXT(checkpoint), .of = OF_PREDICT},
    {"last", 0, NULL, "of a run, its newest checkpoint", TRUTH(last),
     .of = OF_PREDICT | OF_SERVE},
    {"data", 0, "PATH", "the rows: a file, a directory or a pattern",
     .key = INPUT "path", .of = OF_PREDICT},
    {"data-format", 0, "NAME", "their format (default: by the files)",
     .key = INPUT "format", .of = OF_PREDICT},
    {"output", 'o', "FILE", "the predictions: .h5, .csv or .npy",
     .key = "predict.output", .of = OF_PREDICT},
    {"columns", 0, "A,B,...", "columns of the rows to keep in the predictions",
     .act = act_columns, .of = OF_PREDICT},
    {"outputs", 0, "A,B,...", "of trees: value, probability, class, leaf, ...",
     .act = act_outputs, .of = OF_PREDICT | OF_SERVE, .rare = true,
     .offers = offered_outputs},
    {"batch-size", 0, "N", "rows of a batch (default: the predictor's)",
     .key = "predict.batch_size", .of = OF_PREDICT},
    {"follow", 0, NULL, "change to newer checkpoints of the run", .key = "serve.follow",
     .of = OF_SERVE},
    {"models", 0, "DIR", "several models: each entry of DIR is one", TEXT(models),
     .of = OF_SERVE},
    {"input", 0, "NAME:DTYPE[:SHAPE]", "a column of requests; may be repeated",
     .act = act_input, .of = OF_SERVE},
    {"like", 0, "FILE", "a file with the columns of requests", .key = INPUT "path",
     .of = OF_SERVE},
    {"where", 0, NULL, "print where the run is served, and how to ask", TRUTH(where),
     .of = OF_SERVE},
    {"haproxy", 0, NULL, "with --where: print a configuration of HAProxy",
     TRUTH(haproxy), .of = OF_SERVE, .rare = true},
    {"listen", 0, "ADDRESS", "HOST:PORT or the path of a socket (its own)",
     .key = "serve.listen", .of = OF_SERVE},
    {"model", 0, "NAME", "its name for requests (default: the run's)",
     .key = "serve.name", .of = OF_SERVE},
    {"token-file", 0, "FILE", "the token of clients (default: a new one)",
     .key = "serve.token_file", .of = OF_SERVE, .rare = true},
    {"no-token", 0, NULL, "none, at an address of this machine",
     .key = "serve.no_token", .of = OF_SERVE, .rare = true},
    {"tls-cert", 0, "FILE", "answer by TLS, with this certificate",
     .key = "serve.tls_cert", .of = OF_SERVE, .rare = true},
    {"tls-key", 0, "FILE", "the certificate's key", .key = "serve.tls_key",
     .of = OF_SERVE, .rare = true},
    {"max-batch", 0, "N", "rows of a batch (default: the predictor's)",
     .key = "serve.max_batch", .of = OF_SERVE},
    {"max-wait-us", 0, "N", "how long a batch waits for more rows (default 0)",
     .key = "serve.max_wait_us", .of = OF_SERVE},
    {"queue", 0, "N", "requests that may wait (default 1024)", .key = "serve.queue",
     .of = OF_SERVE, .rare = true},
    {"max-body", 0, "SIZE", "of a request (default 64M)", .key = "serve.max_body",
     .of = OF_SERVE, .rare = true},
    {"max-connections", 0, "N", "clients at the same time (default 1024)",
     .key = "serve.max_connections", .of = OF_SERVE, .rare = true},
    {"timeout", 0, "SECONDS", "for a request and its answer (default 60)",
     .key = "serve.timeout_s", .of = OF_SERVE, .rare = true},
    {"access-log", 0, "FILE", "a line for each request; -: standard error",
     .key = "serve.access_log", .of = OF_SERVE, .rare = true},
    {"workers", 'n', "N|MIN:MAX", "how many workers (default 1)",
     .key = "scaling_config.num_workers"},
    {"gpu", 0, NULL, "give each worker a GPU", .key = "scaling_config.use_gpu"},
    {"gpus-per-worker", 0, "N", "with --gpu: how many, or a fraction: 0.5",
     .key = RESOURCE "gpu", .rare = true},
    {"cpus-per-worker", 0, "N", "CPUs of each worker (default 1)",
     .key = RESOURCE "cpu"},
    {"mem-per-worker", 0, "SIZE", "memory of each worker, such as 4G",
     .key = RESOURCE "memory"},
    {"accelerator-type", 0, "TYPE", "only GPUs of this type",
     .key = "scaling_config.accelerator_type", .rare = true},
    {"device-collectives", 0, "HOW", "of tensors on GPUs: nccl (default), host or auto",
     .key = "run_config.device_collectives", .rare = true, .of = OF_RUN},
    {"placement", 0, "STRATEGY", "PACK, SPREAD, STRICT_PACK or STRICT_SPREAD",
     .key = "scaling_config.placement_strategy", .rare = true, .of = OF_RUNS},
    {"launcher", 0, "WHERE", "auto, slurm or local", TEXT(launcher),
     .words = launchers},
    {"backend", 0, "NAME", "how workers find each other (mpi, torch, ...)",
     .key = "backend"},
    {"trainer", 0, "NAME", "data_parallel (default), xgboost or lightgbm",
     .key = "trainer", .of = OF_RUN},
    {"config", 'c', "FILE", "read the configuration; may be repeated",
     .act = act_config, .stage = STAGE_FILE, .batch = SUBMIT_PATH},
    {"set", 0, "KEY=VALUE", "set one key of the configuration", .act = act_set,
     .stage = STAGE_SET},
    {"sweep", 0, "KEY=A,B,...", "a run for each value; may be repeated",
     .act = act_sweep, .of = OF_RUN, .rare = true},
    {"sweep-task", 0, "N", "of a sweep, only its run N, from 0 on", TEXT(sweep_task),
     .of = OF_RUN, .batch = SUBMIT_LEFT_OUT, .rare = true},
    {"dataset", 0, "NAME=PATH", "a dataset for raytrain_get_dataset_shard()",
     .act = act_dataset, .of = OF_RUN},
    {"name", 0, "NAME", "the run's name (default: the function's file)",
     .key = "run_config.name", .of = OF_RUN},
    {"storage", 0, "DIR", "where runs are kept (default raytrain_results)",
     .key = "run_config.storage_path", .of = OF_RUN, .batch = SUBMIT_PATH},
    {"resume", 0, "[=CHECKPOINT]", "continue the run, or start from a checkpoint",
     .act = act_resume, .of = OF_RUN, .batch = SUBMIT_PATH},
    {"resume", 0, NULL, "continue: make the parts that are missing", TRUTH(resume),
     .of = OF_PREDICT},
    {"allow-code", 0, NULL, "load code that only the checkpoint names",
     .key = "run_config.allow_code", .rare = true},
    {"fresh", 0, NULL, "set an existing run aside and start over", TRUTH(fresh),
     .batch = SUBMIT_LEFT_OUT, .of = OF_RUNS},
    {"max-failures", 0, "N", "restarts after failures (-1: no limit)",
     .key = "run_config.failure_config.max_failures"},
    {"restart", 0, "WHERE", "under Slurm: new_step (default) or same_step",
     .key = "run_config.failure_config.restart", .rare = true, .of = OF_RUN},
    {"stop-before-end", 0, "SECONDS", "stop ahead of the time limit (default 60)",
     .key = "run_config.stop_before_end_s", .rare = true, .of = OF_RUNS},
    {"grace", 0, "SECONDS", "how long a stop may take (default 0: any time)",
     .key = "run_config.grace_s", .rare = true, .of = OF_RUNS},
    {"requeue-on-stop", 0, NULL, "back to the queue at the end of the job's time",
     .key = "run_config.requeue_on_stop", .rare = true, .of = OF_RUNS},
    {"keep", 0, "N", "checkpoints to keep (default 0: all)",
     .key = "run_config.checkpoint_config.num_to_keep", .of = OF_RUN},
    {"score", 0, "METRIC[:max|:min]", "keep the best by this metric", .act = act_score,
     .of = OF_RUN},
    {"keep-run", 0, NULL, "leave FILE.run, with the logs, where it is", TRUTH(keep_run),
     .of = OF_PREDICT, .rare = true},
    {"callback", 0, "NAME", "also pass reports to csv, ...; may be repeated",
     .act = act_callback, .of = OF_RUN, .rare = true, .offers = offered_callbacks},
    {"srun-args", 0, "ARGS", "more options for srun, in one string", TEXT(srun_args),
     .rare = true, .of = OF_RUNS},
    {"submit", 0, NULL, "submit this command line as a batch job", TRUTH(submit.wanted),
     OF_SUBMIT},
    {"array", 0, "TASKS", "with --submit: a job array, such as 0-2", TEXT(submit.array),
     OF_SUBMIT, .rare = true},
    {"time", 0, "TIME", "of the batch job or allocation: its time limit",
     TEXT(submit.time), OF_SUBMIT, .rare = true},
    {"partition", 0, "NAME", "of the batch job or allocation: where it runs",
     TEXT(submit.partition), OF_SUBMIT, .rare = true},
    {"account", 0, "NAME", "of the batch job or allocation: which account",
     TEXT(submit.account), OF_SUBMIT, .rare = true},
    {"qos", 0, "NAME", "of the batch job or allocation: its priority", TEXT(submit.qos),
     OF_SUBMIT, .rare = true},
    {"sbatch-args", 0, "ARGS", "more options for sbatch, in one string",
     TEXT(submit.sbatch_args), OF_SUBMIT, .rare = true},
    {"prologue", 0, "FILE", "with --submit: lines of shell that come first",
     TEXT(submit.prologue), OF_SUBMIT, .rare = true},
    {"dry-run", 0, NULL, "print configuration and command, start nothing",
     TRUTH(dry_run), .batch = SUBMIT_LEFT_OUT, .of = OF_RUNS},
    {"check", 0, NULL, "what is wrong with this installation and site", TRUTH(check),
     OF_SUBMIT},
    {"json", 0, NULL, "print the Result as JSON on standard output", TRUTH(json),
     .of = OF_RUNS},
    {"quiet", 'q', NULL, "no progress, only warnings and errors", TRUTH(quiet)},
    {"progress", 0, "STYLE", "auto, bar, plain or none", .words = styles,
     .act = act_progress, .of = OF_RUNS},
    {"show", 0, "RANKS", "whose output to print: none, rank0, all, 0,3-5",
     .key = "run_config.show", .of = OF_RUNS, .offers = offered_ranks},
    {"help", 'h', "[=all]", "print this, or all options, and exit", TRUTH(help)},
    {"version", 0, NULL, "print the version and exit", TRUTH(version)},
};

const size_t n_option_flags = sizeof option_flags / sizeof option_flags[0];
_Static_assert(sizeof option_flags / sizeof option_flags[0] <= FLAGS_MAX,
               "FLAGS_MAX is too small");

bool flag_is_of(const struct flag *f, enum option_program program)
{
    return f->of == 0 || (f->of & program) != 0;
}
