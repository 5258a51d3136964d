/*
 * odd_word.h - why a column has words: a value that is not a number, and where it is.
 * For messages about columns that should have numbers.
 */
#ifndef RAYTRAIN_CONVERT_ODD_WORD_H
#define RAYTRAIN_CONVERT_ODD_WORD_H

#include "config/data_config.h"
#include "table/table.h"

/* ", such as \"none\" at d.csv:12" for the first such value of the column, or an empty
 * text: it has none, or is not one of words. The table is ready, and of this
 * dataset. */
void odd_word_place(const struct dataset_config *cfg, const struct table *t,
                    const char *column, char *text, size_t size);

#endif
