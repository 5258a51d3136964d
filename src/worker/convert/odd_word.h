/*
 * odd_word.h - explains in messages why a column that should have numbers has words: it
 * names a value that is not a number, and its place.
 */
#ifndef RAYTRAIN_CONVERT_ODD_WORD_H
#define RAYTRAIN_CONVERT_ODD_WORD_H

#include "config/data_config.h"
#include "table/table.h"

/* ", such as \"none\" at d.csv:12" for the first such value of the column; an empty
 * text if it has none, or is not a column of words. The table is that of the dataset,
 * and ready. */
void odd_word_place(const struct dataset_config *cfg, const struct table *t,
                    const char *column, char *text, size_t size);

#endif
