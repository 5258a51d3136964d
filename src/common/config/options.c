/*
 * options.c - parse a command line, by the flags of option_table.c, and apply the flags
 * to the configuration.
 */
#include "config/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config/option_table.h"
#include "config/python_script.h"
#include "util/argv.h"
#include "util/long_option.h"
#include "util/quote.h"
#include "util/suggest.h"

#define N(a)            (sizeof(a) / sizeof((a)[0]))
#define ARGUMENTS_SHOWN 400 /* in a message */

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
    near = suggest_meant(argument, f->words, n);
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
    return *text ? 0 : error_no_memory(err);
}

/* The tables for getopt_long. '+': what follows the training function belongs to it;
 * ':': we print the messages. */
static void getopt_tables(enum option_program program,
                          struct option longs[FLAGS_MAX + 1], char *shorts)
{
    size_t n = 0;

    strcpy(shorts, "+:");
    memset(longs, 0, (FLAGS_MAX + 1) * sizeof *longs);
    for (size_t i = 0; i < n_option_flags; i++) {
        const char *argument = option_flags[i].argument;

        if (!flag_is_of(&option_flags[i], program))
            continue;
        longs[n].name = option_flags[i].name;
        longs[n].has_arg = !argument          ? no_argument
                           : *argument == '[' ? optional_argument
                                              : required_argument;
        longs[n++].val = 256 + (int)i;
        if (option_flags[i].letter)
            sprintf(shorts + strlen(shorts), "%c%s", option_flags[i].letter,
                    !argument          ? ""
                    : *argument == '[' ? "::"
                                       : ":");
    }
}

static const struct flag *flag_of(int val)
{
    if (val >= 256)
        return &option_flags[val - 256];
    for (size_t i = 0; i < n_option_flags; i++)
        if (option_flags[i].letter == val)
            return &option_flags[i];
    return NULL;
}

static const char *program_of(enum option_program program)
{
    return program == OF_RUN ? "run" : program == OF_PREDICT ? "predict" : "serve";
}

/* A parsed command line: the flags in order, and the words after them. */
struct line {
    struct typed *typed;
    size_t n;
    /* raytrain-serve: its first operand, the checkpoint; else NULL. */
    const char *first;
    int operands; /* the index of the first argument of the rest */
    bool command; /* it follows a "--" */
};

/* Read the flags from argv[optind] on, up to an operand. */
static int flags_read(enum option_program program, int argc, char *argv[],
                      struct line *line, struct error *err)
{
    struct option longs[FLAGS_MAX + 1];
    char shorts[3 * FLAGS_MAX + 3], help[40];
    int val, at = optind > 0 ? optind : 1;

    getopt_tables(program, longs, shorts);
    snprintf(help, sizeof help, "raytrain-%s --help=all", program_of(program));
    opterr = 0;
    for (; (val = long_option_next(argc, argv, shorts, longs, help, err)) != -1;
         at = optind) {
        if (val == '?')
            return -1;
        if (val == ':')
            return error_set(err, RAYTRAIN_EUSAGE, "%s needs an argument (see --help)",
                             argv[at]);
        line->typed[line->n].flag = flag_of(val);
        line->typed[line->n].argument = optarg;
        line->n++;
    }
    line->command = optind == at + 1;
    line->operands = optind;
    return 0;
}

static bool is_typed(const struct line *line, const char *name)
{
    for (size_t i = 0; i < line->n; i++)
        if (!strcmp(line->typed[i].flag->name, name))
            return true;
    return false;
}

/* raytrain-serve has flags before and after its first operand, if that is the
 * checkpoint. */
static int line_read(enum option_program program, int argc, char *argv[],
                     struct line *line, struct error *err)
{
    optind = 0; /* GNU: restart */
    if (flags_read(program, argc, argv, line, err) < 0)
        return -1;
    if (program != OF_SERVE || line->command || optind >= argc ||
        is_typed(line, "models"))
        return 0;
    line->first = argv[optind++];
    return flags_read(program, argc, argv, line, err);
}

static int operands_take(enum option_program program, struct train_config *cfg,
                         int argc, char *argv[], bool command, struct error *err)
{
    char **args;

    if (argc == 0 && command)
        return error_set(
            err, RAYTRAIN_EUSAGE,
            "there is no command after --; type: raytrain-%s ... -- COMMAND [ARG]...",
            program_of(program));
    if (argc == 0 && (cfg->train_func || strcmp(cfg->trainer, "data_parallel") != 0))
        return 0;
    if (argc == 0 && program != OF_RUN)
        return 0; /* the checkpoint may not need one */
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
        return error_no_memory(err);
    for (size_t i = 0; i < cfg->n_args; i++)
        free(cfg->args[i]);
    free(cfg->args);
    cfg->args = args;
    for (cfg->n_args = 0; cfg->n_args + 1 < (size_t)argc; cfg->n_args++)
        if (!(args[cfg->n_args] = strdup(argv[cfg->n_args + 1])))
            return error_no_memory(err);
    return 0;
}

/* A check does not run a training. */
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

/* Compose the command line for a batch job. */
static int line_keep(const struct typed typed[], size_t n, char ***line,
                     struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (submit_line_append(typed[i].flag->name, typed[i].flag->batch,
                               typed[i].argument, line, err) < 0)
            return -1;
    return 0;
}

/* In an array, %a stands for the number of the task in a name, but not in other
 * settings. */
static int array_check(const struct typed typed[], size_t n, const struct options *opt,
                       struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    for (size_t i = 0; opt->submit.array && i < n; i++) {
        const char *equals =
            !strcmp(typed[i].flag->name, "set") ? strchr(typed[i].argument, '=') : NULL;

        if (equals && strstr(equals, "%a"))
            return error_set(err, RAYTRAIN_EUSAGE,
                             "--set %s: %%a is the number of a task in names of runs "
                             "only; for a value of its own in each task, write --sweep "
                             "%.*s=A,B,C in place of --set and --array",
                             quote(typed[i].argument, quoted),
                             (int)(equals - typed[i].argument), typed[i].argument);
    }
    return 0;
}

/* Apply the flags in the order of the stages. */
static int typed_apply(const struct typed typed[], size_t n, struct options *opt,
                       struct train_config *cfg, struct error *err)
{
    static const enum option_stage order[] = {STAGE_FILE, STAGE_SET, STAGE_FLAG};

    for (size_t s = 0; s < N(order); s++)
        for (size_t i = 0; i < n; i++)
            if (typed[i].flag->stage == order[s] &&
                flag_apply(&typed[i], opt, cfg, err))
                return -1;
    if (array_check(typed, n, opt, err) < 0)
        return -1;
    if (submit_options_check(&opt->submit, !strcmp(opt->launcher, "slurm"), err) < 0)
        return -1;
    if (opt->resume && opt->fresh)
        return error_set(
            err, RAYTRAIN_EUSAGE,
            "--resume and --fresh exclude each other: continue the run, or "
            "start over?");
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

/* The site's file comes before all flags. A check reports its errors. */
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
        return error_no_memory(err);
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

/* Take the first operand of raytrain-serve as the checkpoint; other programs have an
 * option for it. */
static int first_take(const char *first, struct options *opt, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (!first)
        return 0;
    if (opt->models)
        return error_set(err, RAYTRAIN_EUSAGE,
                         "--models names the models: leave out %s, or, if it is a "
                         "predict function, write it after --models DIR",
                         quote(first, quoted));
    opt->checkpoint = strdup(first);
    return opt->checkpoint ? 0 : error_no_memory(err);
}

/* ---- Words that were taken for the program ---- */

/* Is the word one of our options? The user may have meant it for this program. */
static bool is_option(enum option_program program, const char *word)
{
    size_t n = strcspn(word, "=");

    for (size_t i = 0; i < n_option_flags; i++) {
        const struct flag *f = &option_flags[i];

        if (flag_is_of(f, program) &&
            ((f->letter && word[0] == '-' && word[1] == f->letter) ||
             (n > 2 && !strncmp(word, "--", 2) && strlen(f->name) == n - 2 &&
              !strncmp(f->name, word + 2, n - 2))))
            return true;
    }
    return false;
}

static bool has_option(enum option_program program, char *const words[])
{
    for (; *words; words++)
        if (is_option(program, *words))
            return true;
    return false;
}

void options_note_operands(const struct options *opt, struct error *err)
{
    char *const *words = opt->submit.operands;
    char first[QUOTE_TEXT_MAX], *line = NULL, *shown = NULL;
    const char *noun = opt->submit.command             ? "command"
                       : !strcmp(opt->program, "run") ? "training function"
                                                       : "predict function";

    if (!words || !words[0])
        return;
    quote(words[0], first);
    if (!words[1])
        error_set(err, err->code, "%s (%s was taken for the %s)", err->text, first,
                  noun);
    else if (argv_join(words + 1, &line, NULL) == 0 && (shown = printable_text(line)))
        error_set(err, err->code,
                  "%s (%s was taken for the %s, and what follows for its arguments: "
                  "%.*s%s; options of raytrain-%s come before it)",
                  err->text, first, noun, ARGUMENTS_SHOWN, shown,
                  strlen(shown) > ARGUMENTS_SHOWN ? "..." : "", opt->program);
    free(shown);
    free(line);
}

static int line_apply(enum option_program program, int argc, char *argv[],
                      const struct line *line, struct options *opt,
                      struct train_config *cfg, struct error *err)
{
    char **rest = argv + line->operands;

    opt->submit.operands = rest;
    opt->submit.command = line->command;
    if (site_take(line->typed, line->n, opt, cfg, err) ||
        typed_apply(line->typed, line->n, opt, cfg, err) || site_arguments(opt, err) ||
        first_take(line->first, opt, err))
        return -1;
    if (opt->submit.wanted &&
        line_keep(line->typed, line->n, &opt->submit.line, err) < 0)
        return -1;
    cfg->train_func_later = (line->command || (*rest && python_script_is(*rest))) &&
                            (opt->submit.prologue || opt->site.prologue);
    if (opt->check)
        return check_alone(opt, *rest, err);
    return operands_take(program, cfg, argc - line->operands, rest, line->command, err);
}

static int parse(enum option_program program, int argc, char *argv[],
                 struct options *opt, struct train_config *cfg, struct error *err)
{
    struct line line = {.typed = calloc((size_t)argc + 1, sizeof *line.typed)};
    int rc;

    memset(opt, 0, sizeof *opt);
    train_config_init(cfg);
    opt->program = program_of(program);
    opt->launcher = strdup("auto");
    if (program ==
        OF_SERVE) /* its workers are restarted, unless the user sets how often */
        cfg->run_config.failure_config.max_failures = -1;
    if (!line.typed || !opt->launcher)
        rc = error_no_memory(err);
    else
        rc = line_read(program, argc, argv, &line, err);
    if (!rc && !asks_for_words(line.typed, line.n, opt))
        rc = line_apply(program, argc, argv, &line, opt, cfg, err);
    if (rc && err && err->code == RAYTRAIN_EUSAGE && opt->submit.operands &&
        has_option(program, opt->submit.operands))
        options_note_operands(opt, err);
    free(line.typed);
    if (rc) {
        options_clear(opt);
        train_config_clear(cfg);
    }
    return rc;
}

int options_parse(int argc, char *argv[], struct options *opt, struct train_config *cfg,
                  struct error *err)
{
    return parse(OF_RUN, argc, argv, opt, cfg, err);
}

int options_parse_predict(int argc, char *argv[], struct options *opt,
                          struct train_config *cfg, struct error *err)
{
    return parse(OF_PREDICT, argc, argv, opt, cfg, err);
}

int options_parse_serve(int argc, char *argv[], struct options *opt,
                        struct train_config *cfg, struct error *err)
{
    return parse(OF_SERVE, argc, argv, opt, cfg, err);
}

void options_clear(struct options *opt)
{
    free(opt->checkpoint);
    free(opt->models);
    free(opt->launcher);
    free(opt->srun_args);
    argv_free(opt->sweeps);
    free(opt->sweep_task);
    free(opt->result_path);
    submit_options_clear(&opt->submit);
    site_config_clear(&opt->site);
    free(opt->site_wrong);
    memset(opt, 0, sizeof *opt);
}
