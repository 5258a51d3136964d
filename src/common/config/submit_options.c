#include "config/submit_options.h"

#include <stdlib.h>
#include <string.h>

#include "config/config_node.h"
#include "util/argv.h"
#include "util/quote.h"

/* The values also stand in the head of a script, which no shell reads. */
static int word_check(const char *flag, const char *value, struct error *err)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,:+-/@%";
    char quoted[QUOTE_TEXT_MAX];

    if (!value[strspn(value, plain)])
        return 0;
    return error_set(err, RAYTRAIN_EUSAGE,
                     "--%s: %s is no value for sbatch; write a word of letters, digits "
                     "and _.,:+-/@%%",
                     flag, quote(value, quoted));
}

int submit_options_check(const struct submit_options *s, struct error *err)
{
    const struct {
        const char *flag, *value;
        bool is_word;
    } given[] = {
        {"array", s->array, true},
        {"time", s->time, true},
        {"partition", s->partition, true},
        {"account", s->account, true},
        {"qos", s->qos, true},
        {"sbatch-args", s->sbatch_args, false},
        {"prologue", s->prologue, false},
    };

    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (!given[i].value)
            continue;
        if (!s->wanted)
            return error_set(err, RAYTRAIN_EUSAGE,
                             "--%s is for a batch job: add --submit", given[i].flag);
        if (given[i].is_word && word_check(given[i].flag, given[i].value, err) < 0)
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
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
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
