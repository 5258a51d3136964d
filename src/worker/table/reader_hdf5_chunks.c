/*
 * reader_hdf5_chunks.c - asks HDF5 for the filters and chunks of a dataset, for
 * packing.c, which reads them without HDF5.
 */
#include "table/reader_hdf5_chunks.h"

#include <stdlib.h>

#include "hdf5/h5.h"

/* With more, HDF5 takes long to report where they are. */
#define CHUNKS_MAX (UINT64_C(1) << 24)

/* False if there is a filter that packing_filters.c cannot reverse. */
static bool filters_get(hid_t plist, struct packing *p)
{
    unsigned flags, config, values[8];
    size_t n_values = sizeof values / sizeof *values;
    int n = H5Pget_nfilters(plist);

    if (n < 0 || n > PACKING_FILTERS_MAX)
        return false;
    for (int i = 0; i < n; i++, n_values = sizeof values / sizeof *values) {
        H5Z_filter_t filter = H5Pget_filter2(plist, (unsigned)i, &flags, &n_values,
                                             values, 0, NULL, &config);

        if (filter == H5Z_FILTER_DEFLATE)
            p->filters[i] = FILTER_DEFLATE;
        else if (filter == H5Z_FILTER_FLETCHER32)
            p->filters[i] = FILTER_FLETCHER32;
        else if (filter == H5Z_FILTER_SHUFFLE && n_values >= 1 && values[0] == p->width)
            p->filters[i] = FILTER_SHUFFLE;
        else
            return false;
        if (i > 0 && p->filters[i] <= p->filters[i - 1])
            return false;
    }
    p->n_filters = n;
    return true;
}

/* With a user block, releases of HDF5 report different places of chunks. */
static bool file_is_plain(hid_t dataset)
{
    hid_t file = H5Iget_file_id(dataset), plist = -1;
    hsize_t block = 1;

    if (file >= 0)
        plist = H5Fget_create_plist(file);
    if (plist < 0 || H5Pget_userblock(plist, &block) < 0)
        block = 1;
    if (plist >= 0)
        H5Pclose(plist);
    if (file >= 0)
        H5Fclose(file);
    return block == 0;
}

/* The element, as in the file, that chunks consist of if they are not stored. */
static bool fill_get(hid_t dataset, hid_t plist, struct packing *p)
{
    H5D_fill_value_t defined;
    hid_t type;
    bool ok;

    if (H5Pfill_value_defined(plist, &defined) < 0)
        return false;
    if (defined == H5D_FILL_VALUE_UNDEFINED)
        return true;
    type = H5Dget_type(dataset);
    ok = type >= 0 && H5Tget_size(type) <= sizeof p->fill &&
         H5Pget_fill_value(plist, type, p->fill) >= 0;
    if (type >= 0)
        H5Tclose(type);
    return ok;
}

static bool packing_describe(hid_t dataset, const raytrain_tensor *all,
                             struct packing *p)
{
    hid_t plist = H5Dget_create_plist(dataset);
    hsize_t chunk[H5S_MAX_RANK];
    bool ok;

    *p = (struct packing){.ndim = all->ndim, .width = raytrain_dtype_size(all->dtype)};
    ok = plist >= 0 && H5Pget_chunk(plist, H5S_MAX_RANK, chunk) == all->ndim &&
         filters_get(plist, p) && fill_get(dataset, plist, p) && file_is_plain(dataset);
    for (int i = 0; i < all->ndim && ok; i++) {
        p->shape[i] = all->shape[i];
        p->chunk[i] = chunk[i];
    }
    if (plist >= 0)
        H5Pclose(plist);
    return ok;
}

/* Find chunk number i in row-major order. */
static int chunk_find(hid_t dataset, const struct packing *p, uint64_t i,
                      struct packed_chunk *out)
{
    hsize_t begin[RAYTRAIN_MAX_DIMS], bytes;
    haddr_t address;

    for (int dim = p->ndim - 1; dim >= 0; dim--) {
        uint64_t blocks =
            p->shape[dim] / p->chunk[dim] + (p->shape[dim] % p->chunk[dim] != 0);

        begin[dim] = i % blocks * p->chunk[dim];
        i /= blocks;
    }
    if (H5Dget_chunk_info_by_coord(dataset, begin, &out->skipped, &address, &bytes) < 0)
        return -1;
    out->bytes = 0;
    if (address == HADDR_UNDEF || bytes == 0)
        return 0;
    if (bytes > UINT32_MAX)
        return -1;
    out->offset = address;
    out->bytes = (uint32_t)bytes;
    return 0;
}

int hdf5_pack(hid_t dataset, const raytrain_tensor *all, struct table *t,
              size_t *number, struct error *err)
{
    struct packing p;
    struct packed_chunk *chunks;
    uint64_t band, n;
    int rc = 0;

    *number = 0;
    if (!packing_describe(dataset, all, &p) || !packing_count(&p, &band, &n) ||
        n > CHUNKS_MAX)
        return 0;
    chunks = calloc(n + 1, sizeof *chunks);
    if (!chunks)
        return error_no_memory(err);
    for (uint64_t i = 0; i < n && rc == 0; i++)
        rc = chunk_find(dataset, &p, i, &chunks[i]);
    if (rc < 0)
        h5_error(err, "find its chunks");
    else
        rc = table_add_packing(t, &p, chunks, 0, number, err);
    free(chunks);
    return rc;
}
