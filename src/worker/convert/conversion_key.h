/*
 * conversion_key.h - what a conversion depends on: the files of text, as they are now,
 * and the options of the dataset. Two conversions with equal keys make equal rows.
 */
#ifndef RAYTRAIN_CONVERT_CONVERSION_KEY_H
#define RAYTRAIN_CONVERT_CONVERSION_KEY_H

#include <jansson.h>
#include <stdbool.h>

#include "config/data_config.h"
#include "text/source.h"

/*
 * Look at the files; *key is an object, the caller's. RAYTRAIN_EINVAL if they are not
 * all of this format, or not regular files. `format` NULL: that of the first file's
 * name; if it has none, or one that is not of text, *key is NULL.
 */
int conversion_key_make(const struct dataset_config *cfg, json_t **key,
                        struct error *err);
const char *conversion_key_format(const json_t *key);

/* Are these keys for the same options, whatever the files? */
bool conversion_key_same_options(const json_t *a, const json_t *b);
/* How the files of one differ from those of the other, in a few words, such as "d.csv
 * has 7 bytes, and had 9". Empty: they do not. */
void conversion_key_change(const json_t *before, const json_t *now, char *text,
                           size_t size);

/* The files, malloc'ed; the strings are those of the key. NULL: out of memory. */
struct text_source *conversion_key_sources(const json_t *key, size_t *n);

#endif
