/* installed.h - the helper programs that are installed with this one. */
#ifndef RAYTRAIN_UTIL_INSTALLED_H
#define RAYTRAIN_UTIL_INSTALLED_H

#include <stddef.h>

#include "util/error.h"

/* The path of a program, or of a module, in libexec/raytrain. It is looked for in the
 * directory of this program, or beside the bin directory that this program is in, so
 * that an installed tree can be moved; then in the configured directory.
 * RAYTRAIN_ENOTFOUND if it is in none of these. */
int installed_program(const char *name, char *path, size_t size, struct error *err);

#endif
