/* h5_facts.c - ask HDF5 for its version and filters, and try it with a small file. */
#include "hdf5/h5_facts.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hdf5/h5.h"

#define N_VALUES 1000

static json_t *filters(void)
{
    static const struct {
        H5Z_filter_t filter;
        const char *name;
    } known[] = {{H5Z_FILTER_DEFLATE, "deflate"},
                 {H5Z_FILTER_SHUFFLE, "shuffle"},
                 {H5Z_FILTER_FLETCHER32, "fletcher32"},
                 {H5Z_FILTER_SZIP, "szip"}};
    json_t *names = json_array();

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (H5Zfilter_avail(known[i].filter) > 0)
            json_array_append_new(names, json_string(known[i].name));
    return names;
}

json_t *h5_facts(void)
{
    unsigned major = 0, minor = 0, release = 0;
    json_t *facts = json_object();

    if (!facts)
        return NULL;
    H5get_libversion(&major, &minor, &release);
    json_object_set_new(facts, "version",
                        json_sprintf("%u.%u.%u", major, minor, release));
    json_object_set_new(
        facts, "built",
        json_sprintf("%d.%d.%d", H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE));
#ifdef H5_HAVE_PARALLEL
    json_object_set_new(facts, "parallel", json_true());
#else
    json_object_set_new(facts, "parallel", json_false());
#endif
    json_object_set_new(facts, "filters", filters());
    return facts;
}

static int values_write(hid_t file, const int *values)
{
    hsize_t shape = N_VALUES;

    return h5_dataset(file, "/check/values", H5T_NATIVE_INT, 1, &shape, values, NULL);
}

static int values_compare(hid_t file, const int *values)
{
    hid_t set = H5Dopen2(file, "/check/values", H5P_DEFAULT);
    int found[N_VALUES] = {0};
    int rc = -1;

    if (set >= 0 &&
        H5Dread(set, H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found) >= 0)
        rc = memcmp(found, values, sizeof found) == 0 ? 0 : -1;
    if (set >= 0)
        H5Dclose(set);
    return rc;
}

/* Returns what failed, or NULL. */
static const char *file_try(const char *path, hid_t access, const int *values)
{
    hid_t file = H5Fcreate(path, H5F_ACC_EXCL, H5P_DEFAULT, access);
    int rc;

    if (file < 0)
        return "create a file";
    rc = values_write(file, values);
    if (H5Fclose(file) < 0 || rc < 0)
        return "write a dataset";
    file = H5Fopen(path, H5F_ACC_RDONLY, access);
    if (file < 0)
        return "open the file that was written";
    rc = values_compare(file, values);
    H5Fclose(file);
    return rc < 0 ? "read back what was written" : NULL;
}

char *h5_file_try(const char *path)
{
    int values[N_VALUES];
    struct h5_quiet quiet;
    const char *failed;
    struct error err;
    char *text = NULL;
    hid_t access;

    for (int i = 0; i < N_VALUES; i++)
        values[i] = i * i;
    h5_quiet_begin(&quiet);
    access = H5Pcreate(H5P_FILE_ACCESS);
    h5_locks_optional(access);
    failed = file_try(path, access, values);
    if (failed) {
        h5_error(&err, failed);
        text = strdup(err.text);
    }
    H5Pclose(access);
    h5_quiet_end(&quiet);
    unlink(path);
    return text;
}
