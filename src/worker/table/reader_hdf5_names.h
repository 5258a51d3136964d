/*
 * reader_hdf5_names.h - which datasets of an HDF5 file may be columns: those of the
 * root group. Others have to be asked for by their path.
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
 * The datasets of the root group, in the order of their names; `access` is the link
 * access property list. What else there is, datasets in groups and links to nothing, is
 * added to `left_out`. A name that is not UTF-8 is taken for Latin-1. On failure *out
 * is empty.
 */
int hdf5_names_list(hid_t file, hid_t access, struct hdf5_names *out,
                    struct left_out *left_out, struct error *err);
void hdf5_names_clear(struct hdf5_names *names);

#endif
