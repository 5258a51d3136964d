/*
 * chain_pack.c - turns a fitted chain into the bytes of an HDF5 file in memory, and
 * back. The layout of the file is in chain_file.c.
 */
#include "preprocess/chain_pack.h"

#include <stdlib.h>

#include "hdf5/h5_image.h"
#include "preprocess/chain_file.h"

#define GROUP "/preprocessor"

int chain_pack(const struct chain *chain, void **bytes, size_t *n, struct error *err)
{
    const struct h5_image_options options = {0};
    struct h5_image *image = h5_image_create(&options, err);
    int rc = image ? chain_save(chain, h5_image_file(image), GROUP, err) : -1;

    if (rc == 0)
        rc = h5_image_close(image, err);
    if (rc == 0) {
        *n = (size_t)h5_image_length(image);
        *bytes = malloc(*n + 1);
        rc = *bytes ? 0 : error_no_memory(err);
    }
    if (rc == 0)
        h5_image_read(image, 0, *bytes, *n);
    h5_image_destroy(image);
    return rc;
}

int chain_unpack(struct chain *chain, const void *bytes, size_t n, struct error *err)
{
    struct h5_quiet quiet;
    hid_t file;
    int rc;

    h5_quiet_begin(&quiet);
    file = h5_open_bytes(bytes, n, err);
    rc = file < 0 ? -1 : chain_load(chain, file, GROUP, err);
    if (file >= 0)
        H5Fclose(file);
    h5_quiet_end(&quiet);
    return rc;
}
