/* xgboost_text.c - parses the library's messages and its line of metrics. */
#include "config.h"

#include "xgboost/xgboost_text.h"

#include <stdlib.h>
#include <string.h>

#include "util/api_names.h"
#include "util/quote.h"

/* ---- Messages ---- */

/* Skip "[12:34:56] ". */
static const char *time_skip(const char *s)
{
    static const char form[] = "[00:00:00] ";

    for (size_t i = 0; form[i]; i++)
        if (form[i] == '0' ? s[i] < '0' || s[i] > '9' : s[i] != form[i])
            return s;
    return s + sizeof form - 1;
}

/* Skip "../src/learner.cc:767: ", a file of the source and a line. */
static const char *place_skip(const char *s)
{
    size_t path = strcspn(s, ": \n"), digits;

    if (path == 0 || s[path] != ':' || !memchr(s, '.', path))
        return s;
    digits = strspn(s + path + 1, "0123456789");
    if (digits == 0 || s[path + 1 + digits] != ':')
        return s;
    s += path + 2 + digits;
    return s + strspn(s, " ");
}

/* Skip "[allreduce.cc:39|18:24:33]: ", which later versions insert. */
static const char *mark_skip(const char *s)
{
    size_t n = strcspn(s, "]\n");

    if (*s != '[' || s[n] != ']' || s[n + 1] != ':' || !memchr(s, '|', n))
        return s;
    s += n + 2;
    return s + strspn(s, " ");
}

static const char *severity_skip(const char *s)
{
    static const char *const words[] = {"WARNING: ", "INFO: ", "DEBUG: ", "ERROR: "};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strncmp(s, words[i], strlen(words[i])) == 0)
            return s + strlen(words[i]);
    return s;
}

bool xgboost_text_is_warning(const char *text)
{
    const char *s = time_skip(text);

    return strncmp(s, "WARNING: ", 9) == 0 || strncmp(s, "ERROR: ", 7) == 0;
}

char *xgboost_text_clean(const char *text, char *out, size_t room)
{
    const char *stack = strstr(text, "Stack trace:");
    size_t n = 0;
    const char *s = text + strspn(text, " \n");

    s = place_skip(severity_skip(time_skip(s)));
    for (s = mark_skip(s); *s && (!stack || s < stack); s = mark_skip(s)) {
        int length = *s == '\n' || *s == '\t' ? 1 : printable_length(s);
        bool blank = *s == ' ' || *s == '\n' || *s == '\t' || length == 0;

        if (length == 0)
            length = 1;
        if (n + (size_t)length + 1 > room)
            break;
        if (!blank) {
            memcpy(out + n, s, (size_t)length);
            n += (size_t)length;
        } else if (n > 0 && out[n - 1] != ' ') {
            out[n++] = ' ';
        }
        s += length;
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
    return out;
}

/* ---- Metrics ---- */

bool xgboost_metric_more_is_better(const char *metric)
{
    static const char *const up[] = {"auc",  "aucpr", "map",
                                     "ndcg", "pre",   "interval-regression-accuracy"};

    for (size_t i = 0; i < sizeof up / sizeof up[0]; i++) {
        size_t n = strlen(up[i]);

        if (strncmp(metric, up[i], n) == 0 &&
            (metric[n] == '\0' || metric[n] == '@' || strcmp(metric + n, "-") == 0))
            return true;
    }
    return false;
}

static int line_odd(const char *line, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    return error_set(err, RAYTRAIN_EFAILED,
                     "this version of raytrain does not understand the metrics of a "
                     "round as XGBoost gives them: %s",
                     quote(line, quoted));
}

/* The dataset whose name begins the name of a metric, from *at on; of "valid" and
 * "valid-a" the longer one. -1: none. */
static int dataset_of(const char *name, const char *const *names, size_t n, size_t *at)
{
    size_t longest = 0;

    for (size_t i = *at; i < n; i++) {
        size_t length = strlen(names[i]);

        if (length > longest && strncmp(name, names[i], length) == 0 &&
            name[length] == '-' && name[length + 1] != '\0') {
            longest = length;
            *at = i;
        }
    }
    return longest > 0 ? 0 : -1;
}

/* Parse one "train-logloss:0.5". */
static int score_parse(char *text, const char *const *names, size_t n, size_t *at,
                       struct gbdt_score *out)
{
    char *colon = strrchr(text, ':'), *end;

    if (!colon || colon[1] == '\0')
        return -1;
    *colon = '\0';
    out->value = strtod(colon + 1, &end);
    if (*end != '\0' || dataset_of(text, names, n, at) < 0 ||
        !metric_name_is_valid(text))
        return -1;
    strcpy(out->name, text);
    out->more_is_better = xgboost_metric_more_is_better(text + strlen(names[*at]) + 1);
    return 0;
}

int xgboost_text_scores(const char *line, const char *const *names, size_t n,
                        struct gbdt_scores *out, struct error *err)
{
    size_t round = line[0] == '[' ? strspn(line + 1, "0123456789") : 0, at = 0;
    char *copy, *rest, *text;
    int rc = 0;

    out->n = 0;
    if (round == 0 || line[1 + round] != ']')
        return line_odd(line, err);
    copy = strdup(line + 2 + round);
    if (!copy)
        return error_no_memory(err);
    for (text = strtok_r(copy, "\t", &rest); text && rc == 0;
         text = strtok_r(NULL, "\t", &rest)) {
        if (out->n == GBDT_SCORES_MAX)
            rc = error_set(err, RAYTRAIN_EINVAL,
                           "there are more than %d metrics of all datasets; give fewer "
                           "of params.eval_metric",
                           GBDT_SCORES_MAX);
        else if (score_parse(text, names, n, &at, &out->list[out->n]) < 0)
            rc = line_odd(line, err);
        else
            out->n++;
    }
    free(copy);
    return rc;
}
