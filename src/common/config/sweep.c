/* sweep.c - split the values of a sweep, and count through all combinations. */
#include "config/sweep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

/* The length of the value at `at`, up to a comma that separates values, or the end. */
static size_t value_length(const char *at)
{
    bool quoted = false;
    int depth = 0;
    size_t n;

    for (n = 0; at[n]; n++) {
        if (at[n] == '\\' && quoted && at[n + 1])
            n++;
        else if (at[n] == '"')
            quoted = !quoted;
        else if (!quoted && strchr("([{", at[n]))
            depth++;
        else if (!quoted && strchr(")]}", at[n]))
            depth--;
        else if (at[n] == ',' && !quoted && depth <= 0)
            break;
    }
    return n;
}

/* Count the values of a sweep; 0 with the error. */
static int values_count(const char *sweep, struct error *err)
{
    const char *at = strchr(sweep, '=');
    char quoted[QUOTE_TEXT_MAX];
    int n = 0;

    while (at && at != sweep) {
        size_t length = value_length(++at);

        if (length == 0 || n == SWEEP_RUNS_MAX)
            break;
        n++;
        at += length;
        if (!*at)
            return n;
    }
    return error_set(err, RAYTRAIN_EUSAGE,
                     "--sweep: %s is not KEY=A,B,C, with up to %d values that are not "
                     "empty; write --sweep train_loop_config.lr=0.1,0.01",
                     quote(sweep, quoted), SWEEP_RUNS_MAX),
           0;
}

int sweep_count(char *const *sweeps, struct error *err)
{
    int count = 1;

    for (; *sweeps; sweeps++) {
        int n = values_count(*sweeps, err);

        if (n == 0)
            return -1;
        if (n > SWEEP_RUNS_MAX / count)
            return error_set(err, RAYTRAIN_EUSAGE,
                             "--sweep: these are more than %d runs; sweep fewer values",
                             SWEEP_RUNS_MAX);
        count *= n;
    }
    return count;
}

/* "KEY=" and value i. malloc'ed. */
static char *assignment(const char *sweep, int i)
{
    const char *at = strchr(sweep, '=') + 1;
    char *text;

    for (; i > 0; i--)
        at += value_length(at) + 1;
    return asprintf(&text, "%.*s%.*s", (int)(strchr(sweep, '=') + 1 - sweep), sweep,
                    (int)value_length(at), at) < 0
               ? NULL
               : text;
}

/* "A, B"; *text is replaced. */
static int text_add(char **text, const char *more)
{
    char *longer;
    int rc =
        *text ? asprintf(&longer, "%s %s", *text, more) : asprintf(&longer, "%s", more);

    if (rc < 0)
        return -1;
    free(*text);
    *text = longer;
    return 0;
}

int sweep_apply(char *const *sweeps, int i, struct train_config *cfg, char **text,
                struct error *err)
{
    int rest = sweep_count(sweeps, err), rc = rest < 0 ? -1 : 0;
    char *shown = NULL;

    for (; rc == 0 && *sweeps; sweeps++) {
        int n = values_count(*sweeps, err);
        char *set;

        rest /= n;
        set = assignment(*sweeps, i / rest % n);
        if (!set || text_add(&shown, set) < 0)
            rc = error_no_memory(err);
        else if (train_config_set(cfg, set, err) < 0)
            rc = error_prefix(err, "--sweep");
        free(set);
    }
    if (rc == 0 && text)
        *text = shown;
    else
        free(shown);
    return rc;
}
