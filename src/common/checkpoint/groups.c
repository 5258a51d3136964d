/*
 * groups.c - the groups that the tensors' names imply, each made with room
 * for exactly what will be in it.
 *
 * HDF5 keeps the links of a group in its object header only up to eight of them, unless
 * it is told; then in a heap and a B-tree, which take twice the space.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint_impl.h"
#include "hdf5/h5.h"

/* A name in a header is found by looking at each: more of them go into a B-tree. */
#define LINKS_IN_HEADER 1024

static int name_compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* How many of the sorted names[0..n) go with the first one into what is called by its
 * part behind `prefix` bytes; *length is that of the part. */
static size_t names_alike(const char **names, size_t n, size_t prefix, size_t *length)
{
    size_t same = 1;

    *length = strcspn(names[0] + prefix, "/");
    while (same < n && strncmp(names[same], names[0], prefix + *length + 1) == 0)
        same++;
    return same;
}

/* Names of so many bytes each; they are marked as UTF-8, which is a byte more. */
static hid_t group_properties(size_t n_links, size_t name_bytes)
{
    hid_t gcpl = H5Pcreate(H5P_GROUP_CREATE);

    if (gcpl < 0 || n_links > LINKS_IN_HEADER)
        return gcpl;
    if (H5Pset_link_phase_change(gcpl, (unsigned)n_links, 0) < 0 ||
        H5Pset_est_link_info(gcpl, (unsigned)n_links, (unsigned)name_bytes + 1) < 0) {
        H5Pclose(gcpl);
        return -1;
    }
    return gcpl;
}

static int group_create(hid_t file, const char *name, size_t length, size_t n_links,
                        size_t name_bytes)
{
    hid_t gcpl = group_properties(n_links, name_bytes);
    hid_t lcpl = H5Pcreate(H5P_LINK_CREATE), group = -1;
    char *path = strndup(name, length);
    int rc = -1;

    if (path && gcpl >= 0 && lcpl >= 0 &&
        H5Pset_char_encoding(lcpl, H5T_CSET_UTF8) >= 0)
        group = H5Gcreate2(file, path, lcpl, gcpl, H5P_DEFAULT);
    if (group >= 0 && H5Gclose(group) >= 0)
        rc = 0;
    if (gcpl >= 0)
        H5Pclose(gcpl);
    if (lcpl >= 0)
        H5Pclose(lcpl);
    free(path);
    return rc;
}

/* The group whose path, with its '/', is the first `prefix` bytes of all these names,
 * and the groups in it. The root (no prefix) is there. */
static int group_make(hid_t file, const char **names, size_t n, size_t prefix)
{
    size_t n_links = 0, bytes = 0, length;

    for (size_t i = 0; i < n; n_links++) {
        i += names_alike(names + i, n - i, prefix, &length);
        bytes += length;
    }
    if (prefix > 0 && group_create(file, names[0], prefix - 1, n_links,
                                   (bytes + n_links - 1) / n_links) < 0)
        return -1;
    for (size_t i = 0; i < n;) {
        size_t same = names_alike(names + i, n - i, prefix, &length);

        if (names[i][prefix + length] == '/' &&
            group_make(file, names + i, same, prefix + length + 1) < 0)
            return -1;
        i += same;
    }
    return 0;
}

int groups_make(int64_t file, const raytrain_checkpoint *ck)
{
    const char **names = calloc(ck->n_tensors + 1, sizeof *names);
    size_t n = 0;
    int rc;

    if (!names)
        return -1;
    for (size_t i = 0; i < ck->n_tensors; i++)
        if (strncmp(ck->tensors[i].name, CHECKPOINT_RESERVED "/",
                    strlen(CHECKPOINT_RESERVED "/")) != 0)
            names[n++] = ck->tensors[i].name;
    if (n > 1)
        qsort(names, n, sizeof *names, name_compare);
    rc = group_make(file, names, n, 0);
    free(names);
    return rc;
}
