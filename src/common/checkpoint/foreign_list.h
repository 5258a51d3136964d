/*
 * foreign_list.h - the list of the datasets of a plain HDF5 file.
 */
#ifndef RAYTRAIN_CHECKPOINT_FOREIGN_LIST_H
#define RAYTRAIN_CHECKPOINT_FOREIGN_LIST_H

#include <stdint.h>
#include <stdio.h>

#include "hdf5/h5.h"
#include "util/error.h"

/* Why a dataset is left out. */
enum foreign_reason {
    OUT_NOT, /* it is not */
    OUT_TYPE,
    OUT_TIMES,
    OUT_STRINGS,
    OUT_BITS,
    OUT_OPAQUE,
    OUT_COMPOUND,
    OUT_REFERENCE,
    OUT_VLEN,
    OUT_ARRAY,
    OUT_NUMBERS,
    OUT_NULL,
    OUT_NDIM,
    OUT_SIZE,
    OUT_ELSEWHERE,
    OUT_NAME,
    OUT_DAMAGED,
    N_REASONS
};

/* One dataset; its name and a NUL follow. */
struct foreign_record {
    uint32_t name_bytes;
    uint32_t dtype; /* raytrain_dtype or DTYPE_STRING */
    uint32_t ndim;
    uint32_t reason; /* why it is left out */
    uint64_t offset; /* in the file; 0: HDF5 reads it */
    uint64_t shape[RAYTRAIN_MAX_DIMS];
};

/* Write a record and a name for each dataset to `out`. Errors do not name the file. */
int foreign_list_write(hid_t file, FILE *out, struct error *err);
/* "holds compounds" */
const char *foreign_reason_text(enum foreign_reason reason);

#endif
