/*
 * argv.h - argument vectors: NULL-terminated malloc'ed arrays of malloc'ed strings. An
 * environment has the same form.
 *
 * A vector starts as `char **v = NULL`; every function here takes NULL as the empty
 * vector. On failure a vector is unchanged.
 */
#ifndef RAYTRAIN_UTIL_ARGV_H
#define RAYTRAIN_UTIL_ARGV_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

size_t argv_count(char *const *argv);
void argv_free(char **argv);
bool argv_has(char *const *argv, const char *arg);

/* Append a copy. RAYTRAIN_ENOMEM. */
int argv_append(char ***argv, const char *arg, struct error *err);
int argv_appendf(char ***argv, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int argv_append_all(char ***argv, char *const *more, struct error *err);

/*
 * Append the words of text, separated as by a POSIX shell: blanks separate words, '...'
 * keeps everything, "..." keeps everything but \" \\ \$ \` and \newline, a backslash
 * keeps the next character. Nothing is expanded and no shell is run: $ * ? ~ ; | & are
 * ordinary characters. RAYTRAIN_EUSAGE for an unclosed quote or a trailing backslash.
 */
int argv_split(const char *text, char ***argv, struct error *err);

/* The vector as one line that a shell would split into the same words. The caller frees
 * *text. */
int argv_join(char *const *argv, char **text, struct error *err);

#endif
