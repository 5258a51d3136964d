/*
 * text_options.h - the options of a dataset for formats of text, which are keys with
 * values of their own types.
 */
#ifndef RAYTRAIN_CONFIG_TEXT_OPTIONS_H
#define RAYTRAIN_CONFIG_TEXT_OPTIONS_H

#include "config/config_key.h"

/* Slots for keys of a struct dataset_config (dataset_config.h). */
extern const struct config_ops text_header_ops;    /* header = BOOL */
extern const struct config_ops text_delimiter_ops; /* delimiter = "CHARACTER" */
/* types = { COLUMN = "TYPE"; }, or ( { column = "COLUMN"; type = "TYPE"; } ) for
 * columns whose names cannot be written as keys. */
extern const struct config_ops text_types_ops;

#endif
