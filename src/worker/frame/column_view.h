/* column_view.h - a column of a frame as raytrain.h shows it. */
#ifndef RAYTRAIN_FRAME_COLUMN_VIEW_H
#define RAYTRAIN_FRAME_COLUMN_VIEW_H

#include "frame/frame.h"

/* One row: numbers, or the code of a word. -1: rows are not of one size. */
int column_view_row(const struct frame_column *c, raytrain_tensor *row);
/* All rows, the first dimension; the same otherwise. */
int column_view_tensor(const struct frame_column *c, uint64_t rows,
                       raytrain_tensor *tensor);
/* Texts, or sparse vectors. -1: it is neither. */
int column_view_ragged(const struct frame_column *c, uint64_t rows,
                       raytrain_ragged *ragged);

#endif
