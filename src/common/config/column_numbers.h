/* column_numbers.h - parameters of preprocessors that are numbers for all columns, or
 * for each one: 4, [0, 1, 4], { x = 4; y = 3; }, ( { column = "x y"; value = 4; } ). */
#ifndef RAYTRAIN_CONFIG_COLUMN_NUMBERS_H
#define RAYTRAIN_CONFIG_COLUMN_NUMBERS_H

#include "config/preprocessor_config.h"

int numbers_by_column_set(struct numbers_by_column *numbers,
                          const struct config_node *node, const char *doc,
                          const struct config_where *where);
/* Nothing if there are none. */
void numbers_by_column_render(const struct numbers_by_column *numbers, const char *name,
                              FILE *out, int depth);
void numbers_by_column_clear(struct numbers_by_column *numbers);

#endif
