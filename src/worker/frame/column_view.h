/* column_view.h - a column of a frame as raytrain.h shows it. */
#ifndef RAYTRAIN_FRAME_COLUMN_VIEW_H
#define RAYTRAIN_FRAME_COLUMN_VIEW_H

#include "frame/frame.h"

/* Describes one row: numbers, or the code of a word. -1: rows differ in size. */
int column_view_row(const struct frame_column *c, raytrain_tensor *row);
/* The same for all rows, which are the first dimension. */
int column_view_tensor(const struct frame_column *c, uint64_t rows,
                       raytrain_tensor *tensor);
/* Describes texts, or sparse vectors. -1: the column has neither. */
int column_view_ragged(const struct frame_column *c, uint64_t rows,
                       raytrain_ragged *ragged);

#endif
