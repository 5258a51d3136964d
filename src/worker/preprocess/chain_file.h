/*
 * chain_file.h - a fitted chain in an HDF5 file, which people can read too:
 *
 *     /preprocessor/configuration                  as in a configuration file
 *     /preprocessor/0/standard_scaler/age/mean     place, kind, column and name
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

/* Writes the chain into a new group. RAYTRAIN_EINVAL if it is not fitted. */
int chain_save(const struct chain *chain, hid_t file, const char *group,
               struct error *err);
/* Reads a chain from a group; it has the same bits. Release it with chain_clear(), also
 * after a failure. RAYTRAIN_ECORRUPT if chain_save() does not write such a group. */
int chain_load(struct chain *chain, hid_t file, const char *group, struct error *err);

#endif
