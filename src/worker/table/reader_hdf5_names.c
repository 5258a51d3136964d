/*
 * reader_hdf5_names.c - visits the root group and, to report what is there, the groups
 * in it. reader_hdf5.c judges whether a dataset can be a column.
 */
#include "table/reader_hdf5_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hdf5/h5.h"
#include "util/quote.h"

/* The most datasets in groups that are listed: a file may have millions. */
#define DEEP_MOST 10000

struct listing {
    hid_t file, access;
    struct hdf5_names *names;
    struct left_out *left_out;
    const char *group; /* that is being visited */
    size_t n_deep;
    struct error *err;
};

static int listed_link_skip(const struct listing *l, const char *name, const char *why)
{
    char shown[4 * RAYTRAIN_NAME_MAX];

    return left_out_column(
        l->left_out, utf8_make(name, shown, sizeof shown) ? shown : name, why, l->err);
}

/* ---- In groups ---- */

static int deep_add(void *arg, hid_t group, const char *name, bool is_dataset)
{
    struct listing *l = arg;
    char *path;
    int rc;

    (void)group;
    if (!is_dataset)
        return 0;
    if (++l->n_deep > DEEP_MOST)
        return 1;
    if (asprintf(&path, "%s/%s", l->group, name) < 0)
        return error_no_memory(l->err);
    rc = listed_link_skip(l, path, "is in a group: name it in the option `columns`");
    free(path);
    return rc;
}

/* A group that cannot be opened does not prevent reading the columns. */
static int group_visit(struct listing *l, const char *name)
{
    hid_t group = H5Gopen2(l->file, name, H5P_DEFAULT);
    int rc = 0;

    if (group < 0)
        return listed_link_skip(l, name, "is neither a dataset nor a group");
    l->group = name;
    l->err->code = RAYTRAIN_OK;
    if (l->n_deep <= DEEP_MOST && h5_visit(group, deep_add, l) < 0)
        rc = l->err->code == RAYTRAIN_OK ? 0 : -1;
    H5Gclose(group);
    return rc;
}

/* ---- In the root group ---- */

static bool holds_strings(hid_t file, const char *name)
{
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT), type = -1;
    bool strings;

    if (set >= 0)
        type = H5Dget_type(set);
    strings = type >= 0 && H5Tget_class(type) == H5T_STRING;
    if (type >= 0)
        H5Tclose(type);
    if (set >= 0)
        H5Dclose(set);
    return strings;
}

static int link_name_add(struct listing *l, const char *link)
{
    struct hdf5_names *names = l->names;
    struct hdf5_name name = {.strings = holds_strings(l->file, link)}, *grown;

    if (!utf8_make(link, name.column, sizeof name.column))
        return listed_link_skip(l, link, "has a name that is too long");
    if ((names->n & (names->n - 1)) == 0) {
        grown = reallocarray(names->all, names->n ? 2 * names->n : 1, sizeof *grown);
        if (!grown)
            return error_no_memory(l->err);
        names->all = grown;
    }
    name.link = strdup(link);
    if (!name.link)
        return error_no_memory(l->err);
    names->all[names->n++] = name;
    return 0;
}

static int link_add(void *arg, const char *name, enum h5_link link)
{
    struct listing *l = arg;
    int is_dataset;

    if (link == H5_LINK_ELSEWHERE)
        return listed_link_skip(l, name,
                                "is a link to another file, which is not followed");
    is_dataset = h5_is_dataset(l->file, name, l->access);
    if (is_dataset < 0)
        return listed_link_skip(
            l, name, link == H5_LINK_SOFT ? "is a link to nothing" : "is damaged");
    return is_dataset ? link_name_add(l, name) : group_visit(l, name);
}

int hdf5_names_list(hid_t file, hid_t access, struct hdf5_names *out,
                    struct left_out *left_out, struct error *err)
{
    struct error own = {0};
    struct listing l = {.file = file,
                        .access = access,
                        .names = out,
                        .left_out = left_out,
                        .err = &own};

    *out = (struct hdf5_names){0};
    if (h5_links(file, link_add, &l) >= 0)
        return 0;
    hdf5_names_clear(out);
    if (own.code)
        return error_set(err, own.code, "%s", own.text);
    h5_error(err, "list its datasets");
    if (err)
        err->code = RAYTRAIN_ECORRUPT;
    return -1;
}

void hdf5_names_clear(struct hdf5_names *names)
{
    for (size_t i = 0; i < names->n; i++)
        free(names->all[i].link);
    free(names->all);
    *names = (struct hdf5_names){0};
}
