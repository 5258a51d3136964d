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
 * Makes the key from the files as they are now; the caller releases *key.
 * RAYTRAIN_EINVAL if they are not all of this format, or not regular files. `format`
 * NULL: the format that the name of the first file tells; if that is not a format of
 * text, or the name tells none, *key is NULL.
 */
int conversion_key_make(const struct dataset_config *cfg, json_t **key,
                        struct error *err);
const char *conversion_key_format(const json_t *key);

/* True if these keys have the same options; their files may differ. */
bool conversion_key_same_options(const json_t *a, const json_t *b);
/* Says how the files of one differ from those of the other, such as "d.csv has 7
 * bytes, and had 9". An empty text: they do not. */
void conversion_key_change(const json_t *before, const json_t *now, char *text,
                           size_t size);

/* The files, malloc'ed; their strings belong to the key. NULL: out of memory. */
struct text_source *conversion_key_sources(const json_t *key, size_t *n);

#endif
