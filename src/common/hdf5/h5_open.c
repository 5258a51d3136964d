/* h5_open.c - open files and bytes, and find out why a dataset cannot be read. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <sys/file.h>

#include "hdf5/h5.h"

/* Before HDF5 1.10.7 only the environment decides (HDF5_USE_FILE_LOCKING, which the
 * message of HDF5 names). */
void h5_locks_optional(hid_t access)
{
#if H5_VERSION_GE(1, 10, 7)
    H5Pset_file_locking(access, true, true);
#else
    (void)access;
#endif
}

#define CACHE_BYTES ((size_t)32 << 20)

int h5_cache_metadata(hid_t access)
{
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};

    if (H5Pget_mdc_config(access, &config) < 0)
        return -1;
    config.set_initial_size = true;
    config.initial_size = config.min_size = CACHE_BYTES;
    return H5Pset_mdc_config(access, &config) < 0 ? -1 : 0;
}

/* HDF5 locks a file that it writes to, and does not open one that is locked. */
static bool is_locked(int fd)
{
    bool locked = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;

    if (!locked)
        flock(fd, LOCK_UN);
    return locked;
}

hid_t h5_open_fd(int fd, struct error *err)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = -1;
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (access >= 0)
        h5_locks_optional(access);
    if (access >= 0 && h5_cache_metadata(access) == 0)
        file = H5Fopen(path, H5F_ACC_RDONLY, access);
    if (file < 0) { /* before another call drops the reason */
        h5_error(err, "open it as HDF5");
        if (err)
            err->code = RAYTRAIN_ECORRUPT;
        if (is_locked(fd))
            error_set(err, RAYTRAIN_ESTORAGE,
                      "another process writes to it, and has locked it: wait until it "
                      "has closed the file, or copy it from there");
    }
    if (access >= 0)
        H5Pclose(access);
    return file;
}

hid_t h5_open_bytes(const void *bytes, size_t n, struct error *err)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), file = -1;

    if (access >= 0 && H5Pset_fapl_core(access, 65536, false) >= 0 &&
        H5Pset_file_image(access, (void *)(uintptr_t)bytes, n) >= 0)
        file = H5Fopen("bytes", H5F_ACC_RDONLY, access);
    if (file < 0) {
        h5_error(err, "open bytes as HDF5");
        if (err)
            err->code = RAYTRAIN_ECORRUPT;
    }
    if (access >= 0)
        H5Pclose(access);
    return file;
}

/* ---- Filters ---- */

/* Registered at The HDF Group; a file has their names only if its writer gave one. */
static const struct {
    H5Z_filter_t id;
    const char *name;
} known_filters[] = {
    {H5Z_FILTER_SZIP, "szip"}, {305, "lzo"},   {307, "bzip2"},        {32000, "lzf"},
    {32001, "blosc"},          {32004, "lz4"}, {32008, "bitshuffle"}, {32013, "zfp"},
    {32015, "zstd"},           {32017, "sz"},  {32026, "blosc2"},
};

#define N_FILTERS (sizeof known_filters / sizeof *known_filters)

static const char *filter_name(H5Z_filter_t id, const char *in_file)
{
    for (size_t i = 0; i < N_FILTERS; i++)
        if (known_filters[i].id == id)
            return known_filters[i].name;
    return *in_file ? in_file : "unknown";
}

/* The filters of the dataset that this library does not have: "lzf (32000)". */
static void filters_missing(hid_t set, char *text, size_t size)
{
    hid_t plist = H5Dget_create_plist(set);
    int n = plist < 0 ? 0 : H5Pget_nfilters(plist);
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < n; i++) {
        char name[64] = "";
        unsigned flags;
        size_t n_values = 0;
        H5Z_filter_t id = H5Pget_filter2(plist, (unsigned)i, &flags, &n_values, NULL,
                                         sizeof name, name, NULL);

        if (id >= 0 && H5Zfilter_avail(id) <= 0 && used + sizeof name + 32 < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s (%d)",
                                     used ? ", " : "", filter_name(id, name), (int)id);
    }
    if (plist >= 0)
        H5Pclose(plist);
}

int h5_read_error(hid_t set, const char *what, struct error *err)
{
    char missing[256];

    h5_error(err, what);
    if (err)
        err->code = RAYTRAIN_ECORRUPT;
    filters_missing(set, missing, sizeof missing);
    H5Eclear2(H5E_DEFAULT);
    if (!missing[0])
        return -1;
    return error_set(err, RAYTRAIN_ENOTSUP,
                     "it is compressed by a filter that the HDF5 library here does not "
                     "have, %s: name the directory of its plugin in HDF5_PLUGIN_PATH, "
                     "or rewrite the file with gzip where the filter is installed "
                     "(h5repack -f GZIP=1)",
                     missing);
}
