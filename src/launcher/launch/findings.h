/*
 * findings.h - what a check of the site has found: a list of findings, each with a
 * verdict and, if something is not as it should be, how to mend it.
 */
#ifndef RAYTRAIN_LAUNCH_FINDINGS_H
#define RAYTRAIN_LAUNCH_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Skipped: it could not be tried. */
enum verdict { VERDICT_OK, VERDICT_SKIPPED, VERDICT_WARNING, VERDICT_WRONG };

/* "ok", "skipped", "warning", "wrong" */
const char *verdict_name(enum verdict verdict);

struct finding {
    char *topic, *name, *detail;
    char *remedy; /* how to mend it, or to try what was skipped; NULL: nothing to do */
    enum verdict verdict;
};

struct findings {
    struct finding *list; /* those of a topic are together, in the order of topics */
    size_t n;
    bool incomplete; /* without memory: one is missing */
};

/* Add one; the detail is formatted, and made printable. A remedy is ignored if the verdict
 * is ok. */
void finding_add(struct findings *f, const char *topic, const char *name,
                 enum verdict verdict, const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

/* What could not be tried, each with the same reason, and how to try it. NULL ends the
 * names. */
void findings_skip(struct findings *f, const char *topic, const char *const *names,
                   const char *how, const char *why);

/* The worst verdict of all; what was skipped does not count. */
enum verdict findings_worst(const struct findings *f);

/* A topic a paragraph, a finding a line, its remedy on the next one; what was skipped
 * for the same reason is one line. quiet: only warnings and what is wrong. -1 if out
 * cannot be written. */
int findings_print(const struct findings *f, bool quiet, FILE *out);
/* A list of {"topic", "name", "verdict", "detail", "remedy": text or null}. New; NULL
 * without memory. */
json_t *findings_json(const struct findings *f);

void findings_clear(struct findings *f);

#endif
