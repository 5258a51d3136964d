/*
 * reader_hdf5_strings.h - reads the strings of an HDF5 dataset, of fixed or variable
 * length, as words.
 *
 * Only HDF5 reads them, in the caller's thread: they need no memory besides their
 * codes, the distinct words, and a piece of rows (1 MiB, or a chunk of the file if that
 * is more; strings of variable length take up to 16 MiB).
 */
#ifndef RAYTRAIN_TABLE_READER_HDF5_STRINGS_H
#define RAYTRAIN_TABLE_READER_HDF5_STRINGS_H

#include <hdf5.h>

#include "frame/dictionary.h"

/*
 * Adds the strings of a dataset of one dimension to the words, and writes the code of
 * each. Padding is not part of a string. RAYTRAIN_ECORRUPT if they cannot be read,
 * RAYTRAIN_EFIT if the words exceed the memory.
 */
int hdf5_strings_read(hid_t dataset, uint64_t rows, struct dictionary *words,
                      int32_t *codes, struct error *err);

#endif
