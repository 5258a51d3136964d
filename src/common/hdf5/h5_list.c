/* h5_list.c - visit the links and objects of a file. */
#include "config.h"

#include <string.h>

#include "hdf5/h5.h"

/* The calls that differ between releases of HDF5. */
#if H5_VERSION_GE(1, 12, 0)
typedef H5O_info2_t object_info;
#define object_get_info H5Oget_info_by_name3
#define object_visit    H5Ovisit3
#else
typedef H5O_info_t object_info;
#define object_get_info H5Oget_info_by_name2
#define object_visit    H5Ovisit2
#endif

int h5_is_dataset(hid_t file, const char *name, hid_t access)
{
    object_info info;
    herr_t rc = object_get_info(file, name, &info, H5O_INFO_BASIC, access);

    return rc < 0 ? -1 : info.type == H5O_TYPE_DATASET;
}

struct visit {
    int (*each)(void *arg, hid_t file, const char *name, bool is_dataset);
    void *arg;
};

static herr_t visit_object(hid_t file, const char *name, const object_info *info,
                           void *arg)
{
    const struct visit *v = arg;

    return v->each(v->arg, file, name, info->type == H5O_TYPE_DATASET);
}

int h5_visit(hid_t file,
             int (*each)(void *arg, hid_t file, const char *name, bool is_dataset),
             void *arg)
{
    struct visit v = {each, arg};

    return object_visit(file, H5_INDEX_NAME, H5_ITER_INC, visit_object, &v,
                        H5O_INFO_BASIC);
}

/* ---- Links ---- */

struct links {
    int (*each)(void *arg, const char *name, enum h5_link link);
    void *arg;
};

static herr_t link_visit(hid_t group, const char *name, const H5L_info_t *info,
                         void *arg)
{
    const struct links *l = arg;

    (void)group;
    return l->each(l->arg, name,
                   info->type == H5L_TYPE_HARD   ? H5_LINK_HARD
                   : info->type == H5L_TYPE_SOFT ? H5_LINK_SOFT
                                                 : H5_LINK_ELSEWHERE);
}

int h5_links(hid_t group, int (*each)(void *arg, const char *name, enum h5_link link),
             void *arg)
{
    struct links l = {each, arg};

    return H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, link_visit, &l);
}
