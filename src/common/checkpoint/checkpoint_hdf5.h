/*
 * checkpoint_hdf5.h - read with HDF5 the metadata that checkpoint_add_metadata() has
 * added. Tensors are read without HDF5 (checkpoint.h).
 */
#ifndef RAYTRAIN_CHECKPOINT_CHECKPOINT_HDF5_H
#define RAYTRAIN_CHECKPOINT_CHECKPOINT_HDF5_H

#include "checkpoint/checkpoint.h"
#include "hdf5/h5.h"

/* The file of a checkpoint of raytrain that was opened, to be closed with H5Fclose(). Its
 * metadata were verified then. -1 on failure. In the thread that calls HDF5. */
hid_t checkpoint_hdf5_open(const raytrain_checkpoint *ck, struct error *err);

/* Is there a group of this name, "/a/b"? */
bool checkpoint_hdf5_has(hid_t file, const char *group);

#endif
