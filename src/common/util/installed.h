/* installed.h - the helper programs, and the Python module, that are installed with
 * this program. */
#ifndef RAYTRAIN_UTIL_INSTALLED_H
#define RAYTRAIN_UTIL_INSTALLED_H

#include <limits.h>
#include <stddef.h>

#include "util/error.h"

/* The path of a program, or of a module, in libexec/raytrain. It is looked for in the
 * directory of this program, or beside the bin directory that this program is in, so
 * that an installed tree can be moved; then in the configured directory.
 * RAYTRAIN_ENOTFOUND if it is in none of these. */
int installed_program(const char *name, char *path, size_t size, struct error *err);

/* The directory of the Python module `raytrain`, for PYTHONPATH; for a program in
 * libexec/raytrain. It need not exist. */
void installed_python(char dir[PATH_MAX]);

#endif
