/*
 * batch_script.c - the script of a batch job: options for sbatch in comments, the
 * working directory, the lines of a site or a user, the command.
 *
 * What a user typed is quoted for the shell. The options are the same in the comments
 * as in the argument vector of sbatch, which also gets them: there they outrank
 * SBATCH_* variables.
 */
#include "config.h"

#include "slurm/batch_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/step_command.h"
#include "util/argv.h"
#include "util/quote.h"

#define LABEL_MAX 100

/* ---- Options ---- */

/* The name as a label of the job and of its log: sbatch gives a meaning to '%' and '\',
 * and lists of jobs are read by programs. */
static void label(const char *name, char out[LABEL_MAX + 1])
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t n = 0;

    for (const char *p = name; *p && n < LABEL_MAX; p++)
        if (*p == '%' && p[1])
            p++; /* %a and similar patterns differ between the tasks of an array */
        else
            out[n++] = strchr(plain, *p) ? *p : '_';
    while (n > 0 && strchr("-._", out[n - 1]))
        n--;
    out[n] = '\0';
    if (n == 0)
        snprintf(out, LABEL_MAX + 1, "raytrain");
}

static int batch_log_append(const struct batch_request *r, const char *label,
                            char ***argv, struct error *err)
{
    char name[LABEL_MAX + sizeof "-%A_%a.log"], quoted[QUOTE_TEXT_MAX];

    if (strpbrk(r->dir, "\"\n\r"))
        return error_set(err, RAYTRAIN_EINVAL,
                         "the path of this directory contains a quote or a line break, "
                         "with which Slurm cannot write the messages of the job there: "
                         "%s.\nSubmit from another directory",
                         quote(r->dir, quoted));
    snprintf(name, sizeof name, "%s-%s.log", label, r->options->array ? "%A_%a" : "%j");
    return slurm_append_file(
        &(struct slurm_file){.option = "--output",
                             .dir = r->dir,
                             .name = name,
                             .advice = "Submit from another directory"},
        argv, err);
}

static int append_job(const struct batch_request *r, char ***argv, struct error *err)
{
    char name[LABEL_MAX + 1];

    label(r->name, name);
    if (argv_appendf(argv, err, "--job-name=%s", name) < 0 ||
        batch_log_append(r, name, argv, err) < 0 ||
        argv_append(argv, "--open-mode=append", err) < 0 ||
        argv_append(argv, "--requeue", err) < 0)
        return -1;
    if (r->stop_s > 0 && argv_appendf(argv, err, "--signal=B:USR1@%d", r->stop_s) < 0)
        return -1;
    return r->survives ? argv_append(argv, "--no-kill", err) : 0;
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1];
}

/* sbatch would take a word that does not belong to an option as the script. */
static int words_check(char *const *words, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    bool may_follow = false; /* the word may be the previous option's argument */

    for (size_t i = 0; words && words[i]; i++) {
        const char *word = words[i];

        if (!is_option(word) && !may_follow)
            return error_set(
                err, RAYTRAIN_EUSAGE,
                "--sbatch-args: %s does not belong to an option; write options of "
                "sbatch, such as \"--exclusive --nodelist=n1\"",
                quote(word, quoted));
        may_follow = is_option(word) && !strchr(word, '=');
    }
    return 0;
}

static int append_args(const struct batch_request *r, char ***argv, struct error *err)
{
    char **words = NULL;
    int rc = 0;

    if (r->options->sbatch_args && argv_split(r->options->sbatch_args, &words, err) < 0)
        return error_prefix(err, "--sbatch-args");
    rc = words_check(words, err);
    if (rc == 0 && words)
        rc = argv_append_all(argv, words, err);
    argv_free(words);
    return rc;
}

int slurm_batch_options(const struct batch_request *r, const struct placement *fits,
                        char ***options, struct error *err)
{
    const struct submit_options *given = r->options;
    char **v = NULL;

    if (append_job(r, &v, err) < 0 || slurm_needs_argv(r->scaling, fits, &v, err) < 0 ||
        (given->array && argv_appendf(&v, err, "--array=%s", given->array) < 0) ||
        slurm_given_argv(given, &v, err) < 0 || append_args(r, &v, err) < 0) {
        argv_free(v);
        return -1;
    }
    *options = v;
    return 0;
}

struct batch_option {
    const char *long_form, *short_form; /* with their hyphens */
    const char *variable;
};

/* The last value that these words give it; NULL: none. */
static const char *words_find(char *const *words, const struct batch_option *o)
{
    const char *found = NULL;
    size_t n = strlen(o->long_form);

    for (size_t i = 0; words && words[i]; i++) {
        const char *word = words[i];

        if ((!strcmp(word, o->long_form) || !strcmp(word, o->short_form)) &&
            words[i + 1])
            found = words[++i];
        else if (!strncmp(word, o->long_form, n) && word[n] == '=')
            found = word + n + 1;
        else if (!strncmp(word, o->short_form, 2) && word[2])
            found = word + 2;
    }
    return found;
}

/* given: the value of our own option, which outranks the variable. malloc'ed; NULL:
 * none. */
static int setting_find(const struct batch_request *r, const struct batch_option *o,
                        const char *given, char **out, struct error *err)
{
    char **args = NULL;
    const char *found;
    int rc = 0;

    *out = NULL;
    if (append_args(r, &args, err) < 0)
        return -1;
    found = words_find(args, o);
    if (!found)
        found = given ? given : getenv(o->variable);
    if (found && *found && !(*out = strdup(found)))
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory for options of sbatch");
    argv_free(args); /* found may be in it */
    return rc;
}

int slurm_batch_partitions(const struct batch_request *r, char **out, struct error *err)
{
    static const struct batch_option option = {"--partition", "-p", "SBATCH_PARTITION"};

    return setting_find(r, &option, r->options->partition, out, err);
}

int slurm_batch_time(const struct batch_request *r, char **out, struct error *err)
{
    static const struct batch_option option = {"--time", "-t", "SBATCH_TIMELIMIT"};

    return setting_find(r, &option, r->options->time, out, err);
}

/* "%A_%a" is for the log of each task, so it stays in the name for the user. */
void slurm_batch_log(const struct batch_request *r, const char *id, char *out,
                     size_t size)
{
    char name[LABEL_MAX + 1];

    label(r->name, name);
    snprintf(out, size, "%s-%s%s.log", name, id, r->options->array ? "_TASK" : "");
}

/* ---- The head ---- */

/* sbatch reads its lines without a shell: quotes hold blanks together, '#' begins a
 * comment. */
static int option_print(FILE *out, const char *option, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    if (strpbrk(option, "\"\\\n\r"))
        return error_set(err, RAYTRAIN_EUSAGE,
                         "--sbatch-args: %s contains a quote, a backslash or a line "
                         "break, which a batch script cannot; leave it out",
                         quote(option, quoted));
    fprintf(out, strpbrk(option, " \t#'") ? " \"%s\"" : " %s", option);
    return 0;
}

/* One option per line; any other word is the previous option's argument. */
static int head_print(FILE *out, char *const *options, struct error *err)
{
    fputs("#!/bin/bash\n# Written by raytrain-run --submit.", out);
    for (size_t i = 0; options && options[i]; i++) {
        if (is_option(options[i]) || i == 0)
            fputs("\n#SBATCH", out);
        if (option_print(out, options[i], err) < 0)
            return -1;
    }
    fputs("\n\n", out);
    return 0;
}

/* ---- The body ---- */

static int command_print(FILE *out, const char *before, char *const *command,
                         struct error *err)
{
    char *line;

    if (argv_join(command, &line, err) < 0)
        return -1;
    fprintf(out, "%s%s\n", before, line);
    free(line);
    return 0;
}

static int enter_print(FILE *out, const char *dir, struct error *err)
{
    char *const enter[] = {(char *)"cd", (char *)"--", (char *)dir, NULL};
    char *line;

    if (argv_join(enter, &line, err) < 0)
        return -1;
    fprintf(out, "%s || exit\n\n", line);
    free(line);
    return 0;
}

/* A prologue may leave the directory, but the paths of the command line begin there. */
static int body_print(FILE *out, const struct batch_request *r, struct error *err)
{
    if (enter_print(out, r->dir, err) < 0)
        return -1;
    if (r->prologue && *r->prologue) {
        fprintf(out, "%s%s\n", r->prologue,
                r->prologue[strlen(r->prologue) - 1] == '\n' ? "" : "\n");
        if (enter_print(out, r->dir, err) < 0)
            return -1;
    }
    if (!r->again)
        return command_print(out, "exec ", r->command, err);
    fputs("if test \"${SLURM_RESTART_COUNT:-0}\" -gt 0; then\n", out);
    if (command_print(out, "\texec ", r->again, err) < 0)
        return -1;
    fputs("fi\n", out);
    return command_print(out, "exec ", r->command, err);
}

int slurm_batch_script(const struct batch_request *r, char *const *options,
                       char **script, struct error *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    int rc;

    if (!out)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a batch script");
    rc = head_print(out, options, err);
    if (rc == 0)
        rc = body_print(out, r, err);
    if ((ferror(out) || fclose(out) != 0) && rc == 0)
        rc = error_set(err, RAYTRAIN_ENOMEM, "out of memory for a batch script");
    if (rc < 0)
        free(text);
    else
        *script = text;
    return rc;
}
