/*
 * lightgbm_names.h - names of features for the library, which refuses characters that
 * JSON uses, and separates names by spaces in its model files. Each of these characters
 * becomes '_'; other names are kept, and all names are different. Elsewhere features
 * have the names of their columns.
 */
#ifndef RAYTRAIN_LIGHTGBM_LIGHTGBM_NAMES_H
#define RAYTRAIN_LIGHTGBM_LIGHTGBM_NAMES_H

#include <stddef.h>

#include "util/error.h"

/* Makes n different names from n different ones; NULL on failure. */
char **lightgbm_names_make(char *const names[], size_t n, struct error *err);
void lightgbm_names_free(char **names, size_t n); /* NULL is fine */

#endif
