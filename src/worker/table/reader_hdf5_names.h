/*
 * reader_hdf5_names.h - the datasets of an HDF5 file that may be columns: those of the
 * root group. Others must be asked for by their path.
 */
#ifndef RAYTRAIN_TABLE_READER_HDF5_NAMES_H
#define RAYTRAIN_TABLE_READER_HDF5_NAMES_H

#include "hdf5/h5.h"
#include "table/left_out.h"

struct hdf5_names {
    struct hdf5_name {
        char *link;                         /* in the file: any bytes but NUL */
        char column[RAYTRAIN_NAME_MAX + 1]; /* the same in UTF-8 */
        bool strings;                       /* it holds strings */
    } * all;
    size_t n;
};

/*
 * Lists the datasets of the root group in the order of their names; `access` is the
 * link access property list. Datasets in groups, and links to nothing, are added to
 * `left_out`. A name that is not UTF-8 is taken as Latin-1. On failure *out is empty.
 */
int hdf5_names_list(hid_t file, hid_t access, struct hdf5_names *out,
                    struct left_out *left_out, struct error *err);
void hdf5_names_clear(struct hdf5_names *names);

#endif
