/* reader_hdf5_chunks.h - finds the chunks of an HDF5 dataset, so that rows are read
 * from them without HDF5. */
#ifndef RAYTRAIN_TABLE_READER_HDF5_CHUNKS_H
#define RAYTRAIN_TABLE_READER_HDF5_CHUNKS_H

#include <hdf5.h>

#include "table/table.h"

/*
 * Adds a packing (packing.h) for a chunked dataset in source 0 of the table. Its
 * elements have the dtype of `all`, in either byte order; `all` is its shape. *number
 * is for struct extent; 0: only HDF5 can read it, because of its filters or sizes.
 */
int hdf5_pack(hid_t dataset, const raytrain_tensor *all, struct table *t,
              size_t *number, struct error *err);

#endif
