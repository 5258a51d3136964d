/*
 * chain_file.h - a fitted chain in an HDF5 file, to be read by people as well:
 *
 *     /preprocessor/configuration                  as in a configuration file
 *     /preprocessor/0/standard_scaler/age/mean     by place, kind, column and name
 *     /preprocessor/0/standard_scaler/age/std
 *     /preprocessor/1/one_hot_encoder/city/categories
 *     /preprocessor/2/batch_mapper/maps:scale/pickle   a function in Python
 *
 * In names of columns "/" is written as %2F, and "%" as %25.
 */
#ifndef RAYTRAIN_PREPROCESS_CHAIN_FILE_H
#define RAYTRAIN_PREPROCESS_CHAIN_FILE_H

#include "hdf5/h5.h"
#include "preprocess/chain.h"

/* Into a new group. RAYTRAIN_EINVAL if the chain is not fitted. */
int chain_save(const struct chain *chain, hid_t file, const char *group,
               struct error *err);
/* From a group, with the same bits. Release it with chain_clear(), also after a
 * failure; RAYTRAIN_ECORRUPT if it is not what chain_save() writes. */
int chain_load(struct chain *chain, hid_t file, const char *group, struct error *err);

#endif
