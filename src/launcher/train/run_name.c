/* run_name.c - the patterns of a name, and where their numbers come from. */
#include "train/run_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/batch_system.h"
#include "util/quote.h"

static const struct {
    char letter;
    enum batch_number number;
    const char *what;
} codes[] = {
    {'j', BATCH_JOB, "batch job"},
    {'A', BATCH_ARRAY, "job array"},
    {'a', BATCH_TASK, "job array"},
};

/* NULL: none. A run of a sweep is also a task, without a job array. */
static const char *number_of(const struct options *opt, enum batch_number number)
{
    const struct batch_ops *batch = batch_find();

    if (number == BATCH_TASK && opt->sweep_task)
        return opt->sweep_task;
    return batch ? batch->number(number) : NULL;
}

static int unknown(const char *name, size_t code, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    return error_set(err, RAYTRAIN_EINVAL,
                     "run_config.name: %s has a %%%c, but this process is in no %s; "
                     "submit it with --submit%s, or write %%%% for a percent sign",
                     quote(name, quoted), codes[code].letter, codes[code].what,
                     codes[code].number == BATCH_JOB ? "" : " --array 0-2");
}

/* ---- The name in a job that is being submitted ---- */

/* Do the two characters at p stand for a number? */
static bool is_code(const char *p, enum batch_number *number)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        if (p[0] != '%' || p[1] != codes[i].letter)
            continue;
        *number = codes[i].number;
        return true;
    }
    return false;
}

/* Which numbers are in the name? */
static void codes_find(const char *name, bool *of_array, bool *of_task)
{
    enum batch_number number;

    *of_array = *of_task = false;
    for (const char *p = name; *p; p += *p == '%' && p[1] ? 2 : 1) {
        if (!is_code(p, &number))
            continue;
        *of_array = *of_array || number != BATCH_JOB;
        *of_task = *of_task || number != BATCH_ARRAY; /* each task is a job */
    }
}

/* Would the job lack a number for its name, or would its tasks share one run?
 * Other batch options may also make it an array. */
static int name_check(const struct options *opt, const char *name, struct error *err)
{
    bool of_array, of_task;
    char quoted[QUOTE_TEXT_MAX];

    quote(name, quoted);
    codes_find(name, &of_array, &of_task);
    if (of_array && !opt->submit.array && !opt->submit.sbatch_args)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "run_config.name: %s has a number of a job array, but this job is not one; "
            "add --array 0-2, or write %%%% for a percent sign",
            quoted);
    if (opt->submit.array && !of_task)
        return error_set(err, RAYTRAIN_EINVAL,
                         "run_config.name: all tasks of the array would write to the "
                         "run %s; write %%a for the task's number into the name, or "
                         "leave out --name",
                         quoted);
    return 0;
}

/* ---- The name of a run ---- */

/* Print the text for the pattern at p. */
static int code_print(const struct options *opt, FILE *out, const char *name,
                      const char *p, struct error *err)
{
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const char *text;

        if (p[1] != codes[i].letter)
            continue;
        if (!(text = number_of(opt, codes[i].number)))
            return unknown(name, i, err);
        fputs(text, out);
        return 0;
    }
    fprintf(out, p[1] == '%' ? "%%" : "%.2s", p);
    return 0;
}

static int expand(const struct options *opt, const char *name, FILE *out,
                  struct error *err)
{
    for (const char *p = name; *p; p++) {
        if (*p != '%' || !p[1]) {
            putc(*p, out);
            continue;
        }
        if (code_print(opt, out, name, p, err) < 0)
            return -1;
        p++;
    }
    return 0;
}

static int name_expand(const struct options *opt, char **name, struct error *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    int rc;

    if (!out)
        return error_no_memory(err);
    rc = expand(opt, *name, out, err);
    if ((ferror(out) | fclose(out)) != 0 && rc == 0)
        rc = error_no_memory(err);
    if (rc < 0) {
        free(text);
        return -1;
    }
    free(*name);
    *name = text;
    return 0;
}

/* NAME-TASK, with the name that the run would have without an array. */
static int name_make(struct train_config *cfg, const char *task, struct error *err)
{
    char *plain = train_config_default_name(cfg);
    int rc = -1;

    if (plain)
        rc = asprintf(&cfg->run_config.name, "%s-%s", plain, task);
    free(plain);
    if (rc >= 0)
        return 0;
    cfg->run_config.name = NULL;
    return error_no_memory(err);
}

int run_name_settle(const struct options *opt, struct train_config *cfg,
                    struct error *err)
{
    const char *task = opt->submit.wanted ? (opt->submit.array ? "%a" : NULL)
                                          : number_of(opt, BATCH_TASK);

    if (!cfg->run_config.name && (cfg->train_func || cfg->trainer) && task)
        return name_make(cfg, task, err);
    if (!cfg->run_config.name)
        return 0;
    if (opt->submit.wanted)
        return name_check(opt, cfg->run_config.name, err);
    return name_expand(opt, &cfg->run_config.name, err);
}
