/*
 * report_scan.h - read a report without parsing all of it: a line of result.json may
 * have thousands of metrics, and a run a million lines.
 *
 * Keys are compared as they are in the text, escapes and all. What is within values is
 * not checked, but brackets and quotes must match.
 */
#ifndef RAYTRAIN_RUN_REPORT_SCAN_H
#define RAYTRAIN_RUN_REPORT_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The values of these keys of a JSON object, whose text is line[0..n), with a NUL after
 * it: NaN if there is none, infinity if it is not a number. False: the text is not an
 * object.
 */
bool report_scan(const char *line, size_t n, const char *const keys[], size_t n_keys,
                 double values[]);

/* A member of an object. No NUL is after either text, but what is after a number ends it
 * for strtod() and strtoll(). */
struct report_member {
    const char *key, *value; /* borrowed from the line */
    size_t key_n, value_n;
};

struct report_members {
    struct report_member *list; /* in the order of the line */
    size_t n, room;
    bool no_memory;
};

/* All members of the object that is text[0..n), in place of those that m had; zeros are
 * an empty one. False: the text is not an object, or there is no memory. */
bool report_members_read(struct report_members *m, const char *text, size_t n);
/* NULL: there is none. The search begins at *at, where the member is expected, and *at
 * becomes the place after it. */
const struct report_member *report_members_find(const struct report_members *m,
                                                const char *key, size_t key_n,
                                                size_t *at);
void report_members_clear(struct report_members *m);

#endif
