/* config_path.h - paths of the configuration become absolute before anything is
 * started. */
#ifndef RAYTRAIN_CONFIG_CONFIG_PATH_H
#define RAYTRAIN_CONFIG_CONFIG_PATH_H

#include "util/error.h"

/* Put the working directory before a relative *path (malloc'ed, replaced). Links are
 * not resolved. NULL is fine. */
int path_make_absolute(char **path, struct error *err);

/* A file that can be opened for reading, and no directory: 0. Else RAYTRAIN_ENOTFOUND
 * or RAYTRAIN_EINVAL, "WHAT: ..." with the path and the cause. */
int path_check_file(const char *what, const char *path, struct error *err);

#endif
