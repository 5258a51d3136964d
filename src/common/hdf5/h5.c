/*
 * h5.c - types, attributes, datasets and errors of HDF5. h5_open.c opens files,
 * h5_list.c lists their objects.
 */
#include "config.h"

#include "hdf5/h5.h"

#include <stdio.h>
#include <string.h>

/* ---- Errors ---- */

void h5_quiet_begin(struct h5_quiet *quiet)
{
    quiet->func = NULL;
    quiet->data = NULL;
    H5Eget_auto2(H5E_DEFAULT, &quiet->func, &quiet->data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void h5_quiet_end(const struct h5_quiet *quiet)
{
    H5Eset_auto2(H5E_DEFAULT, quiet->func, quiet->data);
}

static herr_t error_take(unsigned n, const H5E_error2_t *e, void *arg)
{
    char *text = arg;

    (void)n;
    if (e->desc) {
        strncpy(text, e->desc, 255);
        text[255] = '\0';
    }
    return 0;
}

int h5_error(struct error *err, const char *what)
{
    char reason[256] = "HDF5 gives no reason";

    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, error_take, reason);
    H5Eclear2(H5E_DEFAULT);
    return error_set(err, RAYTRAIN_ESTORAGE, "cannot %s: %s", what, reason);
}

/* ---- Types ---- */

struct float_layout {
    size_t sign, exponent, exponent_bits, mantissa_bits, bias;
};

/* IEEE 754 binary16, and the upper half of a binary32. */
static const struct float_layout HALF = {15, 10, 5, 10, 15};
static const struct float_layout BRAIN = {15, 7, 8, 7, 127};

static hid_t float16_type(const struct float_layout *l)
{
    hid_t type = H5Tcopy(H5T_IEEE_F32LE);

    if (type >= 0 && (H5Tset_fields(type, l->sign, l->exponent, l->exponent_bits, 0,
                                    l->mantissa_bits) < 0 ||
                      H5Tset_precision(type, 16) < 0 || H5Tset_size(type, 2) < 0 ||
                      H5Tset_ebias(type, l->bias) < 0)) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

hid_t h5_dtype(raytrain_dtype dtype)
{
    switch (dtype) {
    case RAYTRAIN_FLOAT32:
        return H5Tcopy(H5T_IEEE_F32LE);
    case RAYTRAIN_FLOAT64:
        return H5Tcopy(H5T_IEEE_F64LE);
    case RAYTRAIN_FLOAT16:
        return float16_type(&HALF);
    case RAYTRAIN_BFLOAT16:
        return float16_type(&BRAIN);
    case RAYTRAIN_INT8:
        return H5Tcopy(H5T_STD_I8LE);
    case RAYTRAIN_INT16:
        return H5Tcopy(H5T_STD_I16LE);
    case RAYTRAIN_INT32:
        return H5Tcopy(H5T_STD_I32LE);
    case RAYTRAIN_INT64:
        return H5Tcopy(H5T_STD_I64LE);
    case RAYTRAIN_UINT8:
        return H5Tcopy(H5T_STD_U8LE);
    case RAYTRAIN_UINT16:
        return H5Tcopy(H5T_STD_U16LE);
    case RAYTRAIN_UINT32:
        return H5Tcopy(H5T_STD_U32LE);
    case RAYTRAIN_UINT64:
        return H5Tcopy(H5T_STD_U64LE);
    case RAYTRAIN_BYTES:
        /* Without a tag: h5py cannot read opaque types that have one. */
        return H5Tcreate(H5T_OPAQUE, 1);
    }
    return -1;
}

static bool type_is(hid_t type, raytrain_dtype dtype, bool big_endian)
{
    hid_t known = h5_dtype(dtype);
    htri_t equal = -1;

    if (known >= 0 && (!big_endian || H5Tset_order(known, H5T_ORDER_BE) >= 0))
        equal = H5Tequal(type, known);
    if (known >= 0)
        H5Tclose(known);
    return equal > 0;
}

raytrain_dtype h5_dtype_of(hid_t type, bool *big_endian)
{
    size_t bytes = H5Tget_size(type);

    for (raytrain_dtype t = RAYTRAIN_FLOAT32; t < RAYTRAIN_BYTES; t++) {
        if (raytrain_dtype_size(t) != bytes)
            continue;
        for (int big = 0; big < 2; big++) {
            if (type_is(type, t, big)) {
                *big_endian = big;
                return t;
            }
        }
    }
    return 0;
}

hid_t h5_string_type(size_t n)
{
    hid_t type = H5Tcopy(H5T_C_S1);

    if (type >= 0 &&
        (H5Tset_size(type, n) < 0 || H5Tset_cset(type, H5T_CSET_UTF8) < 0)) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

/* ---- Attributes ---- */

static int attr_write(hid_t object, const char *name, hid_t file_type, hid_t type,
                      const void *value)
{
    hid_t space = H5Screate(H5S_SCALAR), attr = -1;
    int rc = -1;

    if (space >= 0 && H5Aexists(object, name) > 0)
        attr = H5Aopen(object, name, H5P_DEFAULT);
    else if (space >= 0)
        attr = H5Acreate2(object, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
    if (attr >= 0) {
        rc = H5Awrite(attr, type, value) < 0 ? -1 : 0;
        if (H5Aclose(attr) < 0)
            rc = -1;
    }
    if (space >= 0)
        H5Sclose(space);
    return rc;
}

int h5_attr_string(hid_t object, const char *name, const char *value)
{
    hid_t type = h5_string_type(strlen(value) + 1);
    int rc;

    if (type < 0)
        return -1;
    rc = attr_write(object, name, type, type, value);
    H5Tclose(type);
    return rc;
}

int h5_attr_int(hid_t object, const char *name, int64_t value)
{
    return attr_write(object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

int h5_attr_double(hid_t object, const char *name, double value)
{
    return attr_write(object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

/* ---- Datasets ---- */

/* Contiguous, allocated at creation, never filled, without time stamps: the bytes of a
 * file depend on its contents alone. */
static hid_t dataset_properties(void)
{
    hid_t dcpl = H5Pcreate(H5P_DATASET_CREATE);

    if (dcpl >= 0 && (H5Pset_layout(dcpl, H5D_CONTIGUOUS) < 0 ||
                      H5Pset_alloc_time(dcpl, H5D_ALLOC_TIME_EARLY) < 0 ||
                      H5Pset_fill_time(dcpl, H5D_FILL_TIME_NEVER) < 0 ||
                      H5Pset_obj_track_times(dcpl, 0) < 0 ||
                      H5Pset_dset_no_attrs_hint(dcpl, 1) < 0)) {
        H5Pclose(dcpl);
        return -1;
    }
    return dcpl;
}

int h5_creation_open(struct h5_creation *how)
{
    how->link = H5Pcreate(H5P_LINK_CREATE);
    how->set = dataset_properties();
    if (how->link >= 0 && how->set >= 0 &&
        H5Pset_create_intermediate_group(how->link, 1) >= 0 &&
        H5Pset_char_encoding(how->link, H5T_CSET_UTF8) >= 0)
        return 0;
    h5_creation_close(how);
    return -1;
}

void h5_creation_close(struct h5_creation *how)
{
    if (how->link >= 0)
        H5Pclose(how->link);
    if (how->set >= 0)
        H5Pclose(how->set);
}

int h5_dataset(hid_t file, const char *name, hid_t type, int ndim, const hsize_t *shape,
               const void *data, uint64_t *offset)
{
    struct h5_creation how;
    int rc;

    if (h5_creation_open(&how) < 0)
        return -1;
    rc = h5_dataset_create(&how, file, name, type, ndim, shape, data, offset);
    h5_creation_close(&how);
    return rc;
}

int h5_dataset_create(const struct h5_creation *how, hid_t file, const char *name,
                      hid_t type, int ndim, const hsize_t *shape, const void *data,
                      uint64_t *offset)
{
    hid_t space =
        ndim == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(ndim, shape, NULL);
    hid_t set = -1;
    haddr_t at;
    int rc = -1;

    if (space >= 0)
        set = H5Dcreate2(file, name, type, space, how->link, how->set, H5P_DEFAULT);
    if (set >= 0) {
        rc = 0;
        if (data && H5Sget_simple_extent_npoints(space) > 0 &&
            H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)
            rc = -1;
        at = H5Dget_offset(set);
        if (offset)
            *offset = at == HADDR_UNDEF ? 0 : at;
        if (H5Dclose(set) < 0)
            rc = -1;
    }
    if (space >= 0)
        H5Sclose(space);
    return rc;
}

/* ---- Views ---- */

int h5_view_open(struct h5_view *view, int ndim, const hsize_t *shape, const char *line,
                 hsize_t length)
{
    *view = (struct h5_view){.line = line,
                             .whole = H5Screate_simple(ndim, shape, NULL),
                             .from = H5Screate_simple(1, &length, NULL),
                             .set = H5Pcreate(H5P_DATASET_CREATE)};
    if (view->whole >= 0 && view->from >= 0 && view->set >= 0 &&
        H5Pset_obj_track_times(view->set, 0) >= 0)
        return 0;
    h5_view_close(view);
    return -1;
}

int h5_view_add(struct h5_view *view, const hsize_t *start, const hsize_t *count,
                hsize_t at)
{
    int ndim = H5Sget_simple_extent_ndims(view->whole);
    hsize_t n = 1;

    for (int d = 0; d < ndim; d++)
        n *= count[d];
    if (H5Sselect_hyperslab(view->whole, H5S_SELECT_SET, start, NULL, count, NULL) <
            0 ||
        H5Sselect_hyperslab(view->from, H5S_SELECT_SET, &at, NULL, &n, NULL) < 0 ||
        H5Pset_virtual(view->set, view->whole, ".", view->line, view->from) < 0)
        return -1;
    return 0;
}

int h5_view_create(const struct h5_view *view, const struct h5_creation *how,
                   hid_t file, const char *name, hid_t type)
{
    hid_t set =
        H5Dcreate2(file, name, type, view->whole, how->link, view->set, H5P_DEFAULT);

    return set >= 0 && H5Dclose(set) >= 0 ? 0 : -1;
}

void h5_view_close(struct h5_view *view)
{
    if (view->whole >= 0)
        H5Sclose(view->whole);
    if (view->from >= 0)
        H5Sclose(view->from);
    if (view->set >= 0)
        H5Pclose(view->set);
}
