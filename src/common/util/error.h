/*
 * error.h - errors are data: library code fills the caller's struct error and returns
 * -1; only cmd/ prints and exits.
 *
 * The text says what failed, the likely cause, and what to type next. It may have
 * several lines, and ends without a newline.
 */
#ifndef RAYTRAIN_UTIL_ERROR_H
#define RAYTRAIN_UTIL_ERROR_H

#include <stdarg.h>

#include "raytrain.h"

#define ERROR_TEXT_MAX 4096

struct error {
    raytrain_status code;
    char text[ERROR_TEXT_MAX];
};

/* Fill err (NULL is fine: then nothing is kept). Always returns -1, so that a function
 * can end with `return error_set(err, RAYTRAIN_ESTORAGE, "...")`. Keeps errno.
 * Arguments may point into err->text. */
int error_set(struct error *err, raytrain_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* RAYTRAIN_ENOMEM, "out of memory". Always returns -1. */
int error_no_memory(struct error *err);

/* Put "prefix: " before the text; keeps the code. Always returns -1. */
int error_prefix(struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The exit status for a status: EINVAL, ETYPE, ENOTFOUND, ENOTSUP 3; EFIT 4; ESTORAGE,
 * ECORRUPT 5; EUSAGE 2; ESTOPPED 75; OK, END 0; all others 1. */
int error_exit_status(raytrain_status code);
/* The reverse, for a program of ours: a status with this exit status. EFAILED for all
 * exit statuses that have no status of their own. */
raytrain_status error_code_of(int exit_status);

#endif
