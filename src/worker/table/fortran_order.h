/*
 * fortran_order.h - arrays in Fortran order, whose first index varies fastest. The
 * elements of a row are far from each other, so all rows are assembled in memory.
 */
#ifndef RAYTRAIN_TABLE_FORTRAN_ORDER_H
#define RAYTRAIN_TABLE_FORTRAN_ORDER_H

#include "table/table.h"

struct fortran_array {
    uint64_t at;         /* where it begins in its source */
    uint64_t rows;       /* the first dimension, at least 1 */
    raytrain_tensor row; /* the others */
};

/* Puts the rows one after the other into another source of the table; *source, that of
 * the array, becomes the other one. The array is within its source. RAYTRAIN_EFIT if it
 * does not fit into memory. */
int fortran_order_expand(struct table *t, const struct fortran_array *a, size_t *source,
                         struct error *err);

#endif
