/*
 * findings.h - the results of a check of the site: a list of findings, each with a
 * verdict and, if something is wrong, how to fix it.
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
    char *remedy; /* how to fix it, or to try what was skipped; NULL: nothing to do */
    enum verdict verdict;
};

struct findings {
    struct finding *list; /* grouped by topic, in the order of topics */
    size_t n;
    bool incomplete; /* out of memory: a finding is missing */
};

/* Add one; the detail is formatted, and made printable. A remedy is ignored if the
 * verdict is ok. */
void finding_add(struct findings *f, const char *topic, const char *name,
                 enum verdict verdict, const char *remedy, const char *fmt, ...)
    __attribute__((format(printf, 6, 7)));

/* Add findings for checks that could not be tried, with a common reason and how to try
 * them. NULL ends the names. */
void findings_skip(struct findings *f, const char *topic, const char *const *names,
                   const char *how, const char *why);

/* The worst verdict; skipped findings do not count. */
enum verdict findings_worst(const struct findings *f);

/* A paragraph per topic, a line per finding, and its remedy on the next line; findings
 * skipped for the same reason share a line. quiet: only warnings and errors. -1 if out
 * cannot be written. */
int findings_print(const struct findings *f, bool quiet, FILE *out);
/* A list of {"topic", "name", "verdict", "detail", "remedy": text or null}. New; NULL
 * without memory. */
json_t *findings_json(const struct findings *f);

void findings_clear(struct findings *f);

#endif
