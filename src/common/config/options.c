#include "config/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/registry.h"
#include "util/argv.h"
#include "util/quote.h"
#include "util/suggest.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* ---- the flags ---- */

/* Files are read before --set is applied, and --set before all other flags, in whatever
 * order they are typed. Flags that are not configuration may come at any time. */
enum stage { STAGE_FLAG, STAGE_SET, STAGE_FILE };

/* Which program has a flag. */
enum program { BOTH, RUN, PREDICT };

/* What a flag does: it sets a key of the configuration or a member of options, or a
 * function does more. */
struct flag {
    const char *name;
    char letter;          /* 0: none */
    const char *argument; /* as --help calls it; NULL: no argument, "[...]": optional */
    const char *doc;
    const char *key; /* of the configuration; without an argument it is set to true */
    size_t text;     /* offset of a char * in options, + 1; 0: none */
    size_t truth;    /* offset of a bool in options, + 1 */
    const char *const *words; /* allowed values, terminated by NULL */
    enum stage stage;
    enum program of;
    enum submit_line batch;
    bool rare; /* only --help=all prints it */
    int (*act)(const char *argument, struct options *opt, struct train_config *cfg,
               struct error *err);
};

static int act_config(const char *argument, struct options *opt,
                      struct train_config *cfg, struct error *err);
static int act_set(const char *argument, struct options *opt, struct train_config *cfg,
                   struct error *err);
static int act_callback(const char *argument, struct options *opt,
                        struct train_config *cfg, struct error *err);
static int act_dataset(const char *argument, struct options *opt,
                       struct train_config *cfg, struct error *err);
static int act_resume(const char *argument, struct options *opt,
                      struct train_config *cfg, struct error *err);
static int act_score(const char *argument, struct options *opt,
                     struct train_config *cfg, struct error *err);
static int act_columns(const char *argument, struct options *opt,
                       struct train_config *cfg, struct error *err);
static int act_outputs(const char *argument, struct options *opt,
                       struct train_config *cfg, struct error *err);
static int act_progress(const char *argument, struct options *opt,
                        struct train_config *cfg, struct error *err);

static const char *const launchers[] = {"auto", LAUNCHERS(REGISTRY_WORD) NULL};
static const char *const styles[] = {
    [PROGRESS_AUTO] = "auto", [PROGRESS_BAR] = "bar",     [PROGRESS_PLAIN] = "plain",
    [PROGRESS_NONE] = "none", [PROGRESS_NONE + 1] = NULL,
};

#define RESOURCE      "scaling_config.resources_per_worker."
#define TEXT(member)  .text = offsetof(struct options, member) + 1
#define TRUTH(member) .truth = offsetof(struct options, member) + 1
#define OF_SUBMIT     .of = RUN, .batch = SUBMIT_LEFT_OUT
#define INPUT         "datasets." PREDICT_DATASET "."

static const struct flag flags[] = {
    {"checkpoint", 0, "PATH", "the checkpoint, or a run: its best one",
     TEXT(checkpoint), .of = PREDICT},
    {"last", 0, NULL, "of a run, its newest checkpoint", TRUTH(last), .of = PREDICT},
    {"data", 0, "PATH", "the rows: a file, a directory or a pattern",
     .key = INPUT "path", .of = PREDICT},
    {"data-format", 0, "NAME", "their format (default: by the files)",
     .key = INPUT "format", .of = PREDICT},
    {"output", 'o', "FILE", "the predictions: .h5, .csv or .npy",
     .key = "predict.output", .of = PREDICT},
    {"columns", 0, "A,B,...", "columns of the rows to keep in the predictions",
     .act = act_columns, .of = PREDICT},
    {"outputs", 0, "A,B,...", "of trees: value, probability, class, leaf, ...",
     .act = act_outputs, .of = PREDICT, .rare = true},
    {"batch-size", 0, "N", "rows of a batch (default: the predictor's)",
     .key = "predict.batch_size", .of = PREDICT},
    {"workers", 'n', "N|MIN:MAX", "how many workers (default 1)",
     .key = "scaling_config.num_workers"},
    {"gpu", 0, NULL, "give each worker a GPU", .key = "scaling_config.use_gpu"},
    {"gpus-per-worker", 0, "N", "with --gpu: more than one", .key = RESOURCE "gpu",
     .rare = true},
    {"cpus-per-worker", 0, "N", "CPUs of each worker (default 1)",
     .key = RESOURCE "cpu"},
    {"mem-per-worker", 0, "SIZE", "memory of each worker, such as 4G",
     .key = RESOURCE "memory"},
    {"accelerator-type", 0, "TYPE", "only GPUs of this type",
     .key = "scaling_config.accelerator_type", .rare = true},
    {"placement", 0, "STRATEGY", "PACK, SPREAD, STRICT_PACK or STRICT_SPREAD",
     .key = "scaling_config.placement_strategy", .rare = true},
    {"launcher", 0, "WHERE", "auto, slurm or local", TEXT(launcher),
     .words = launchers},
    {"backend", 0, "NAME", "how workers find each other (mpi, torch, ...)",
     .key = "backend"},
    {"trainer", 0, "NAME", "data_parallel (default), xgboost or lightgbm",
     .key = "trainer", .of = RUN},
    {"config", 'c', "FILE", "read the configuration; may be repeated",
     .act = act_config, .stage = STAGE_FILE, .batch = SUBMIT_PATH},
    {"set", 0, "KEY=VALUE", "set one key of the configuration", .act = act_set,
     .stage = STAGE_SET},
    {"dataset", 0, "NAME=PATH", "a dataset for raytrain_get_dataset_shard()",
     .act = act_dataset, .of = RUN},
    {"name", 0, "NAME", "the run's name (default: the function's file)",
     .key = "run_config.name", .of = RUN},
    {"storage", 0, "DIR", "where runs are kept (default raytrain_results)",
     .key = "run_config.storage_path", .of = RUN, .batch = SUBMIT_PATH},
    {"resume", 0, "[=CHECKPOINT]", "continue the run, or start from a checkpoint",
     .act = act_resume, .of = RUN, .batch = SUBMIT_PATH},
    {"resume", 0, NULL, "go on with the shards that are missing", TRUTH(resume),
     .of = PREDICT},
    {"fresh", 0, NULL, "set an existing run aside and start anew", TRUTH(fresh),
     .batch = SUBMIT_LEFT_OUT},
    {"max-failures", 0, "N", "restarts after failures (-1: no limit)",
     .key = "run_config.failure_config.max_failures"},
    {"stop-before-end", 0, "SECONDS", "stop ahead of the time limit (default 60)",
     .key = "run_config.stop_before_end_s", .rare = true},
    {"grace", 0, "SECONDS", "how long a stop may take (default 0: any time)",
     .key = "run_config.grace_s", .rare = true},
    {"requeue-on-stop", 0, NULL, "back to the queue at the end of the job's time",
     .key = "run_config.requeue_on_stop", .rare = true},
    {"keep", 0, "N", "checkpoints to keep (default 0: all)",
     .key = "run_config.checkpoint_config.num_to_keep", .of = RUN},
    {"score", 0, "METRIC[:max|:min]", "keep the best by this metric", .act = act_score,
     .of = RUN},
    {"keep-run", 0, NULL, "leave FILE.run, with the logs, where it is", TRUTH(keep_run),
     .of = PREDICT, .rare = true},
    {"callback", 0, "NAME", "also pass reports to csv, ...; may be repeated",
     .act = act_callback, .of = RUN, .rare = true},
    {"srun-args", 0, "ARGS", "more options for srun, in one string", TEXT(srun_args),
     .rare = true},
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
     TRUTH(dry_run), .batch = SUBMIT_LEFT_OUT},
    {"check", 0, NULL, "what is wrong with this installation and site", TRUTH(check),
     OF_SUBMIT},
    {"json", 0, NULL, "print the Result as JSON on standard output", TRUTH(json)},
    {"quiet", 'q', NULL, "no progress, only what went wrong", TRUTH(quiet)},
    {"progress", 0, "STYLE", "auto, bar, plain or none", .words = styles,
     .act = act_progress},
    {"help", 'h', "[=all]", "print this, or all options, and exit", TRUTH(help)},
    {"version", 0, NULL, "print the version and exit", TRUTH(version)},
};

/* ---- help ---- */

/* A heading, before the first flag of its group. */
struct heading {
    const char *before, *title;
};

static const struct heading headings[] = {
    {"checkpoint", "The prediction"},
    {"workers", "Workers"},
    {"config", "Configuration"},
    {"name", "The run"},
    {"resume", "The run"},
    {"dry-run", "Output"},
};

static const char help_head[] =
    "Usage: raytrain-run [OPTION]... TRAIN_FUNC.so [ARG]...\n"
    "       raytrain-run [OPTION]... PROGRAM [ARG]...\n"
    "       raytrain-run [OPTION]... -- COMMAND [ARG]...\n"
    "Run a training function on N workers, under Slurm or on this machine.\n\n";

static const char predict_head[] =
    "Usage: raytrain-predict [OPTION]... --checkpoint PATH --data PATH -o FILE\n"
    "                        [PREDICT_FUNC.so|PROGRAM|-- COMMAND] [ARG]...\n"
    "Predict rows by the model of a checkpoint, on N workers.\n\n";

static const char help_tail[] =
    "\n%sA flag beats --set, --set beats the file, the file beats the default.\n"
    "Exit status: 0 finished, 1 %s failed, 2 usage, 3 configuration or input,\n"
    "4 does not fit, 5 storage, 75 stopped on request: run again with --resume.\n";

static bool is_of(const struct flag *f, enum program program)
{
    return f->of == BOTH || f->of == program;
}

#define HELP_MAX 8192

/* The title of the group that f begins; NULL: it begins none. after: the title before. */
static const char *heading_of(const struct flag *f, const char *after)
{
    for (size_t i = 0; i < N(headings); i++)
        if (!strcmp(headings[i].before, f->name) &&
            (!after || strcmp(after, headings[i].title) != 0))
            return headings[i].title;
    return NULL;
}

static void help_add_flag(char *help, const struct flag *f)
{
    const char *argument = f->argument ? f->argument : "";
    char left[64], letter[8] = "    ";
    size_t n = strlen(help);

    if (f->letter)
        snprintf(letter, sizeof letter, "-%c, ", f->letter);
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, f->name,
             *argument && *argument != '[' ? " " : "", argument);
    snprintf(help + n, HELP_MAX - n, "%-31s %s\n", left, f->doc);
}

static const char *help_make(enum program program, const char *head, bool with_rare,
                             char *help)
{
    const char *title = NULL, *next;
    size_t n;

    snprintf(help, HELP_MAX, "%s", head);
    for (size_t i = 0; i < N(flags); i++) {
        if (!is_of(&flags[i], program))
            continue;
        next = heading_of(&flags[i], title);
        n = strlen(help);
        if (next)
            snprintf(help + n, HELP_MAX - n, "%s:\n", title = next);
        if (with_rare || !flags[i].rare)
            help_add_flag(help, &flags[i]);
    }
    n = strlen(help);
    snprintf(help + n, HELP_MAX - n, help_tail,
             with_rare ? "" : "--help=all prints the other options.\n",
             program == PREDICT ? "prediction" : "training");
    return help;
}

const char *options_help(bool with_rare)
{
    static char help[HELP_MAX];

    return help_make(RUN, help_head, with_rare, help);
}

const char *options_help_predict(bool with_rare)
{
    static char help[HELP_MAX];

    return help_make(PREDICT, predict_head, with_rare, help);
}

/* ---- what flags do ---- */

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

static int act_callback(const char *argument, struct options *opt,
                        struct train_config *cfg, struct error *err)
{
    (void)opt;
    if (!cfg->run_config.callbacks.list)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    rc = train_config_set_text(
        cfg, "run_config.checkpoint_config.checkpoint_score_attribute", metric,
        "--score", err);
    if (!rc)
        rc = train_config_set_text(
            cfg, "run_config.checkpoint_config.checkpoint_score_order",
            colon ? colon + 1 : "max", "--score", err);
    free(metric);
    return rc;
}

/* Names between commas, in place of those that were set before. */
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

/* ---- parsing ---- */

/* A flag as it was typed. */
struct typed {
    const struct flag *flag;
    const char *argument;
};

static int flag_check_words(const struct flag *f, const char *argument,
                            struct error *err)
{
    char quoted[QUOTE_TEXT_MAX], allowed[80] = "";
    size_t used = 0, n = 0;
    const char *near;

    for (; f->words[n]; n++) {
        if (!strcmp(f->words[n], argument))
            return 0;
        used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%s",
                                 n ? ", " : "", f->words[n]);
    }
    near = suggest_nearest(argument, f->words, n);
    return error_set(err, RAYTRAIN_EUSAGE, "--%s: expected one of %s, found %s%s%s%s",
                     f->name, allowed, quote(argument, quoted),
                     near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static int flag_apply(const struct typed *t, struct options *opt,
                      struct train_config *cfg, struct error *err)
{
    const struct flag *f = t->flag;
    char source[40], **text;

    snprintf(source, sizeof source, "--%s", f->name);
    if (t->argument && !*t->argument)
        return error_set(err, RAYTRAIN_EUSAGE, "%s: its argument is empty", source);
    if (f->words && flag_check_words(f, t->argument, err))
        return -1;
    if (f->act)
        return f->act(t->argument, opt, cfg, err);
    if (f->key && f->argument)
        return train_config_set_text(cfg, f->key, t->argument, source, err);
    if (f->key)
        return train_config_set_bool(cfg, f->key, true, source, err);
    if (f->truth) {
        *(bool *)((char *)opt + f->truth - 1) = true;
        return 0;
    }
    text = (char **)(void *)((char *)opt + f->text - 1);
    free(*text);
    *text = strdup(t->argument);
    return *text ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory");
}

/* The tables for getopt_long. '+': what follows the training function belongs to it;
 * ':': we print the messages. */
static void getopt_tables(enum program program, struct option longs[N(flags) + 1],
                          char *shorts)
{
    size_t n = 0;

    strcpy(shorts, "+:");
    memset(longs, 0, (N(flags) + 1) * sizeof *longs);
    for (size_t i = 0; i < N(flags); i++) {
        const char *argument = flags[i].argument;

        if (!is_of(&flags[i], program))
            continue;
        longs[n].name = flags[i].name;
        longs[n].has_arg = !argument          ? no_argument
                           : *argument == '[' ? optional_argument
                                              : required_argument;
        longs[n++].val = 256 + (int)i;
        if (flags[i].letter)
            sprintf(shorts + strlen(shorts), "%c%s", flags[i].letter,
                    !argument          ? ""
                    : *argument == '[' ? "::"
                                       : ":");
    }
}

static const struct flag *flag_of(int val)
{
    if (val >= 256)
        return &flags[val - 256];
    for (size_t i = 0; i < N(flags); i++)
        if (flags[i].letter == val)
            return &flags[i];
    return NULL;
}

/* getopt_long returned '?' for argv[at]. */
static int fail_unknown(enum program program, const char *typed, struct error *err)
{
    const char *names[N(flags)], *near = NULL;
    char quoted[QUOTE_TEXT_MAX], name[80];
    bool of_ours = false;
    size_t n = 0;

    if (!strncmp(typed, "--", 2)) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(typed + 2, "="), typed + 2);
        for (size_t i = 0; i < N(flags); i++) {
            if (!is_of(&flags[i], program))
                continue;
            of_ours = of_ours || !strcmp(flags[i].name, name);
            names[n++] = flags[i].name;
        }
        near = suggest_nearest(name, names, n);
    }
    if (of_ours)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "--%s takes no argument: leave out what follows the =", name);
    return error_set(err, RAYTRAIN_EUSAGE,
                     "unknown option %s%s%s%s (all of them: raytrain-%s --help=all)",
                     quote(typed, quoted), near ? "; did you mean --" : "",
                     near ? near : "", near ? "?" : "",
                     program == PREDICT ? "predict" : "run");
}

/* Put all flags into typed[], in order; *operands is the index of the first argument
 * after them, *command says that it follows a "--". */
static int flags_read(enum program program, int argc, char *argv[],
                      struct typed typed[], size_t *n, int *operands, bool *command,
                      struct error *err)
{
    struct option longs[N(flags) + 1];
    char shorts[3 * N(flags) + 3];
    int val, at;

    getopt_tables(program, longs, shorts);
    opterr = 0;
    optind = 0; /* GNU: restart */
    for (at = 1; (val = getopt_long(argc, argv, shorts, longs, NULL)) != -1;
         at = optind) {
        if (val == '?')
            return fail_unknown(program, argv[at], err);
        if (val == ':')
            return error_set(err, RAYTRAIN_EUSAGE, "%s needs an argument (see --help)",
                             argv[at]);
        typed[*n].flag = flag_of(val);
        typed[*n].argument = optarg;
        (*n)++;
    }
    *command = optind == at + 1;
    *operands = optind;
    return 0;
}

static int operands_take(enum program program, struct train_config *cfg, int argc,
                         char *argv[], bool command, struct error *err)
{
    char **args;

    if (argc == 0 && command)
        return error_set(
            err, RAYTRAIN_EUSAGE,
            "there is no command after --; type: raytrain-%s ... -- COMMAND [ARG]...",
            program == PREDICT ? "predict" : "run");
    if (argc == 0 && (cfg->train_func || strcmp(cfg->trainer, "data_parallel") != 0))
        return 0;
    if (argc == 0 && program == PREDICT)
        return 0; /* the checkpoint may need none */
    if (argc == 0)
        return error_set(
            err, RAYTRAIN_EUSAGE,
            "no training function; type: raytrain-run -n 2 ./TRAIN_FUNC.so "
            "(more: raytrain-run --help)");
    if (train_config_set_text(cfg, "train_func", argv[0], "TRAIN_FUNC", err))
        return -1;
    cfg->train_func_kind = command ? TRAIN_FUNC_COMMAND : TRAIN_FUNC_SHARED_OBJECT;
    args = calloc((size_t)argc, sizeof *args);
    if (!args)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    for (size_t i = 0; i < cfg->n_args; i++)
        free(cfg->args[i]);
    free(cfg->args);
    cfg->args = args;
    for (cfg->n_args = 0; cfg->n_args + 1 < (size_t)argc; cfg->n_args++)
        if (!(args[cfg->n_args] = strdup(argv[cfg->n_args + 1])))
            return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    return 0;
}

/* A check runs no training. */
static int check_alone(const struct options *opt, const char *operand,
                       struct error *err)
{
    const char *flag = opt->submit.wanted ? "--submit"
                       : opt->resume      ? "--resume"
                       : opt->fresh       ? "--fresh"
                       : opt->dry_run     ? "--dry-run"
                                          : NULL;
    char quoted[QUOTE_TEXT_MAX];

    if (flag)
        return error_set(err, RAYTRAIN_EUSAGE, "--check runs no training: leave out %s",
                         flag);
    if (operand)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "--check takes no training function: leave out %s",
                         quote(operand, quoted));
    return 0;
}

/* The command line as a batch job has it. */
static int line_keep(const struct typed typed[], size_t n, char ***line,
                     struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (submit_line_append(typed[i].flag->name, typed[i].flag->batch,
                               typed[i].argument, line, err) < 0)
            return -1;
    return 0;
}

/* Apply what was typed, in the order of the stages. */
static int typed_apply(const struct typed typed[], size_t n, struct options *opt,
                       struct train_config *cfg, struct error *err)
{
    static const enum stage order[] = {STAGE_FILE, STAGE_SET, STAGE_FLAG};

    for (size_t s = 0; s < N(order); s++)
        for (size_t i = 0; i < n; i++)
            if (typed[i].flag->stage == order[s] &&
                flag_apply(&typed[i], opt, cfg, err))
                return -1;
    if (submit_options_check(&opt->submit, !strcmp(opt->launcher, "slurm"), err) < 0)
        return -1;
    if (opt->resume && opt->fresh)
        return error_set(
            err, RAYTRAIN_EUSAGE,
            "--resume and --fresh exclude each other: continue the run, or "
            "start anew?");
    return 0;
}

/* --help and --version work even if something else is wrong. */
static bool asks_for_words(const struct typed typed[], size_t n, struct options *opt)
{
    for (size_t i = 0; i < n; i++) {
        bool help = !strcmp(typed[i].flag->name, "help");

        opt->help = opt->help || help;
        opt->help_all = opt->help_all || (help && typed[i].argument);
        opt->version = opt->version || !strcmp(typed[i].flag->name, "version");
    }
    return opt->help || opt->version;
}

/* The site's file comes before all that was typed. A check reports what is wrong in it. */
static int site_take(const struct typed typed[], size_t n, struct options *opt,
                     struct train_config *cfg, struct error *err)
{
    char *storage;
    bool check = false;

    for (size_t i = 0; i < n; i++)
        check = check || !strcmp(typed[i].flag->name, "check");
    if (site_config_read(&opt->site, err) < 0) {
        opt->site_wrong = check ? strdup(err->text) : NULL;
        return opt->site_wrong ? 0 : -1;
    }
    if (!opt->site.storage_path)
        return 0;
    if (!(storage = strdup(opt->site.storage_path)))
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    free(cfg->run_config.storage_path);
    cfg->run_config.storage_path = storage;
    return 0;
}

/* The arguments of the site come first, so that those of the user override them. */
static int site_arguments(struct options *opt, struct error *err)
{
    if (opt->site_wrong)
        return 0;
    if (opt->submit.wanted &&
        site_args_prepend(opt->site.sbatch_args, &opt->submit.sbatch_args, err) < 0)
        return -1;
    return site_args_prepend(opt->site.srun_args, &opt->srun_args, err);
}

static int parse(enum program program, int argc, char *argv[], struct options *opt,
                 struct train_config *cfg, struct error *err)
{
    struct typed *typed = calloc((size_t)argc + 1, sizeof *typed);
    int operands = argc, rc;
    bool command = false;
    size_t n = 0;

    memset(opt, 0, sizeof *opt);
    train_config_init(cfg);
    opt->launcher = strdup("auto");
    if (!typed || !opt->launcher)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    else
        rc = flags_read(program, argc, argv, typed, &n, &operands, &command, err);
    if (!rc && !asks_for_words(typed, n, opt)) {
        rc = site_take(typed, n, opt, cfg, err);
        if (!rc)
            rc = typed_apply(typed, n, opt, cfg, err);
        if (!rc)
            rc = site_arguments(opt, err);
        if (!rc && opt->submit.wanted)
            rc = line_keep(typed, n, &opt->submit.line, err);
        opt->submit.operands = argv + operands;
        opt->submit.command = command;
        cfg->train_func_later = command && (opt->submit.prologue || opt->site.prologue);
        if (!rc && opt->check)
            rc = check_alone(opt, argv[operands], err);
        else if (!rc)
            rc = operands_take(program, cfg, argc - operands, argv + operands, command,
                               err);
    }
    free(typed);
    if (rc) {
        options_clear(opt);
        train_config_clear(cfg);
    }
    return rc;
}

int options_parse(int argc, char *argv[], struct options *opt, struct train_config *cfg,
                  struct error *err)
{
    return parse(RUN, argc, argv, opt, cfg, err);
}

int options_parse_predict(int argc, char *argv[], struct options *opt,
                          struct train_config *cfg, struct error *err)
{
    return parse(PREDICT, argc, argv, opt, cfg, err);
}

void options_clear(struct options *opt)
{
    free(opt->checkpoint);
    free(opt->launcher);
    free(opt->srun_args);
    submit_options_clear(&opt->submit);
    site_config_clear(&opt->site);
    free(opt->site_wrong);
    memset(opt, 0, sizeof *opt);
}
