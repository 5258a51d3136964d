/* findings.c - the list of findings, and its forms as text and as JSON. */
#include "launch/findings.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

#define NAME_WIDTH 20

const char *verdict_name(enum verdict verdict)
{
    static const char *const names[] = {"ok", "skipped", "warning", "wrong"};

    return names[verdict];
}

static void finding_clear(struct finding *one)
{
    free(one->topic);
    free(one->name);
    free(one->detail);
    free(one->remedy);
}

/* Where to insert: findings of a topic stay together. */
static size_t place_of(const struct findings *f, const char *topic)
{
    for (size_t i = f->n; i > 0; i--)
        if (strcmp(f->list[i - 1].topic, topic) == 0)
            return i;
    return f->n;
}

static void insert(struct findings *f, const struct finding *one)
{
    struct finding *grown = realloc(f->list, (f->n + 1) * sizeof *grown);
    size_t at;

    if (!grown) {
        f->incomplete = true;
        return;
    }
    f->list = grown;
    at = place_of(f, one->topic);
    memmove(f->list + at + 1, f->list + at, (f->n - at) * sizeof *f->list);
    f->list[at] = *one;
    f->n++;
}

/* Printable, and in one line. */
static char *one_line(char *text)
{
    for (char *at = text; (at = strchr(at, '\n'));)
        *at = ' ';
    return printable_text(text);
}

void finding_add(struct findings *f, const char *topic, const char *name,
                 enum verdict verdict, const char *remedy, const char *fmt, ...)
{
    struct finding one = {.topic = strdup(topic),
                          .name = strdup(name),
                          .remedy =
                              verdict != VERDICT_OK && remedy ? strdup(remedy) : NULL,
                          .verdict = verdict};
    char *text;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    one.detail = text ? one_line(text) : NULL;
    free(text);
    if (one.topic && one.name && one.detail &&
        (one.remedy || !remedy || verdict == VERDICT_OK)) {
        insert(f, &one);
        return;
    }
    f->incomplete = true;
    finding_clear(&one);
}

void findings_skip(struct findings *f, const char *topic, const char *const *names,
                   const char *how, const char *why)
{
    for (; *names; names++)
        finding_add(f, topic, *names, VERDICT_SKIPPED, how, "%s", why);
}

enum verdict findings_worst(const struct findings *f)
{
    enum verdict worst = f->incomplete ? VERDICT_WRONG : VERDICT_OK;

    for (size_t i = 0; i < f->n; i++)
        if (f->list[i].verdict > worst && f->list[i].verdict != VERDICT_SKIPPED)
            worst = f->list[i].verdict;
    return worst;
}

static bool text_equal(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* How many consecutive findings from this one on were skipped for the same reason; at
 * least 1. */
static size_t alike_count(const struct findings *f, size_t first)
{
    const struct finding *one = &f->list[first];
    size_t n = 1;

    while (one->verdict == VERDICT_SKIPPED && first + n < f->n &&
           one[n].verdict == VERDICT_SKIPPED && text_equal(one->topic, one[n].topic) &&
           text_equal(one->detail, one[n].detail) &&
           text_equal(one->remedy, one[n].remedy))
        n++;
    return n;
}

static void alike_print(const struct finding *list, size_t n, FILE *out)
{
    fprintf(out, "  %-8s ", verdict_name(list->verdict));
    if (n == 1)
        fprintf(out, "%-*s %s\n", NAME_WIDTH, list->name, list->detail);
    for (size_t i = 0; n > 1 && i < n; i++)
        fprintf(out, "%s%s", list[i].name, i + 1 < n ? ", " : ": ");
    if (n > 1)
        fprintf(out, "%s\n", list->detail);
    if (list->remedy)
        fprintf(out, "           -> %s\n", list->remedy);
}

int findings_print(const struct findings *f, bool quiet, FILE *out)
{
    const char *topic = "";

    for (size_t i = 0, n; i < f->n; i += n) {
        const struct finding *one = &f->list[i];

        n = alike_count(f, i);
        if (quiet && one->verdict < VERDICT_WARNING)
            continue;
        if (strcmp(topic, one->topic) != 0)
            fprintf(out, "%s\n", topic = one->topic);
        alike_print(one, n, out);
    }
    return fflush(out) == 0 && !ferror(out) ? 0 : -1;
}

json_t *findings_json(const struct findings *f)
{
    json_t *all = json_array();

    for (size_t i = 0; all && i < f->n; i++) {
        const struct finding *one = &f->list[i];

        json_array_append_new(
            all,
            json_pack("{s:o, s:o, s:s, s:o, s:o}", "topic", json_text(one->topic),
                      "name", json_text(one->name), "verdict",
                      verdict_name(one->verdict), "detail", json_text(one->detail),
                      "remedy", one->remedy ? json_text(one->remedy) : json_null()));
    }
    return all;
}

void findings_clear(struct findings *f)
{
    for (size_t i = 0; i < f->n; i++)
        finding_clear(&f->list[i]);
    free(f->list);
    *f = (struct findings){0};
}
