/* installed.h - the helper programs that are installed with this one. */
#ifndef RAYTRAIN_UTIL_INSTALLED_H
#define RAYTRAIN_UTIL_INSTALLED_H

#include <stddef.h>

#include "util/error.h"

/* The path of a program, or a module, in libexec/raytrain: in the directory of this program, or
 * beside the bin directory that it is in, so that an installed tree can be moved; else
 * where it was configured to be. RAYTRAIN_ENOTFOUND if it is not there either. */
int installed_program(const char *name, char *path, size_t size, struct error *err);

#endif
