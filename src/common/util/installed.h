/* installed.h - the helper programs that are installed with this one. */
#ifndef RAYTRAIN_UTIL_INSTALLED_H
#define RAYTRAIN_UTIL_INSTALLED_H

#include <stddef.h>

#include "util/error.h"

/* The path of a program in libexec/raytrain beside the bin directory that this program
 * was started from, so that an installed tree can be moved; else where it was configured
 * to be. RAYTRAIN_ENOTFOUND if it is not there either. */
int installed_program(const char *name, char *path, size_t size, struct error *err);

#endif
