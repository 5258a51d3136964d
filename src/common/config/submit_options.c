/*
 * submit_options.c - check the flags for sbatch, and compose the command line of a job.
 * The launcher's slurm room submits it.
 */
#include "config/submit_options.h"

#include <stdlib.h>
#include <string.h>

#include "config/config_node.h"
#include "util/argv.h"
#include "util/quote.h"
#include "util/time_limit.h"

/* The values are also written into the head of a script, which no shell reads. */
static int word_check(const char *flag, const char *value, struct error *err)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:+-/@%";
    char quoted[QUOTE_TEXT_MAX];

    if (!value[strspn(value, plain)])
        return 0;
    return error_set(
        err, RAYTRAIN_EUSAGE,
        "--%s: %s is not a value for sbatch; write a word of letters, digits "
        "and _.,:+-/@%%",
        flag, quote(value, quoted));
}

/* Skip a number. False: there is none, or it is too large. */
static bool number_skip(const char **p, long *value)
{
    size_t digits = strspn(*p, "0123456789");

    if (digits == 0 || digits > 9)
        return false;
    *value = strtol(*p, NULL, 10);
    *p += digits;
    return true;
}

static int time_check(const char *flag, const char *value, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];
    int64_t seconds;

    if (time_limit_parse(value, &seconds))
        return 0;
    return error_set(err, RAYTRAIN_EUSAGE,
                     "--%s: %s is not a time for sbatch; write minutes (90), "
                     "hours:minutes:seconds (1:30:00), days-hours (1-12) or UNLIMITED",
                     flag, quote(value, quoted));
}

/* N, N-M or N-M:STEP */
static bool tasks_skip(const char **p)
{
    long first, last, step;

    if (!number_skip(p, &first))
        return false;
    if (**p != '-')
        return true;
    ++*p;
    if (!number_skip(p, &last) || last < first)
        return false;
    if (**p != ':')
        return true;
    ++*p;
    return number_skip(p, &step) && step > 0;
}

/* TASKS[,TASKS...][%LIMIT] */
static int array_text_check(const char *flag, const char *value, struct error *err)
{
    const char *p = value;
    char quoted[QUOTE_TEXT_MAX];
    long limit = 1;
    bool ok = tasks_skip(&p);

    while (ok && *p == ',')
        p++, ok = tasks_skip(&p);
    if (ok && *p == '%')
        p++, ok = number_skip(&p, &limit) && limit > 0;
    if (ok && *p == '\0')
        return 0;
    return error_set(err, RAYTRAIN_EUSAGE,
                     "--%s: %s names no tasks of an array; write a list (1,3,7), a "
                     "range (0-9), one with a step (0-9:2), each also with a limit of "
                     "tasks at a time (0-9%%2)",
                     flag, quote(value, quoted));
}

static int anything(const char *flag, const char *value, struct error *err)
{
    (void)flag;
    (void)value;
    (void)err;
    return 0;
}

int submit_options_check(const struct submit_options *s, bool may_allocate,
                         struct error *err)
{
    const struct {
        const char *flag, *value;
        int (*check)(const char *flag, const char *value, struct error *err);
        bool of_allocations;
    } given[] = {
        {"array", s->array, array_text_check, false},
        {"time", s->time, time_check, true},
        {"partition", s->partition, word_check, true},
        {"account", s->account, word_check, true},
        {"qos", s->qos, word_check, true},
        {"sbatch-args", s->sbatch_args, anything, false},
        {"prologue", s->prologue, anything, false},
    };

    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (!given[i].value)
            continue;
        if (!s->wanted && !(may_allocate && given[i].of_allocations))
            return error_set(err, RAYTRAIN_EUSAGE,
                             "--%s is for a batch job: add --submit%s", given[i].flag,
                             given[i].of_allocations
                                 ? ", or take an allocation with --launcher slurm"
                                 : "");
        if (given[i].check(given[i].flag, given[i].value, err) < 0)
            return -1;
    }
    return 0;
}

int submit_line_append(const char *flag, enum submit_line what, const char *argument,
                       char ***line, struct error *err)
{
    char *value;
    int rc;

    if (what == SUBMIT_LEFT_OUT || (what == SUBMIT_PATH && !argument))
        return 0;
    if (!argument)
        return argv_appendf(line, err, "--%s", flag);
    if (!(value = strdup(argument)))
        return error_no_memory(err);
    rc = what == SUBMIT_PATH ? path_make_absolute(&value, err) : 0;
    if (rc == 0)
        rc = argv_appendf(line, err, "--%s=%s", flag, value);
    free(value);
    return rc;
}

void submit_options_clear(struct submit_options *s)
{
    free(s->array);
    free(s->time);
    free(s->partition);
    free(s->account);
    free(s->qos);
    free(s->sbatch_args);
    free(s->prologue);
    argv_free(s->line);
    memset(s, 0, sizeof *s);
}
