/*
 * foreign_list.c - list the datasets of a plain HDF5 file: which can be tensors or
 * strings, where their elements lie, and why the others are left out.
 */
#include "config.h"

#include "checkpoint/foreign_list.h"

#include <string.h>

#include "checkpoint/checkpoint_impl.h"
#include "hdf5/h5.h"

/* A damaged file may have cycles in which no object seems to come twice. */
#define OBJECTS_MAX (1u << 20)
#define DEPTH_MAX   (TENSOR_NAME_MAX / 2)

static const char *const reasons[N_REASONS] = {
    [OUT_TYPE] = "holds elements of an unknown type",
    [OUT_TIMES] = "holds times",
    [OUT_STRINGS] = "holds an array of strings",
    [OUT_BITS] = "holds bit fields",
    [OUT_OPAQUE] = "holds opaque elements of several bytes",
    [OUT_COMPOUND] = "holds compounds",
    [OUT_REFERENCE] = "holds references",
    [OUT_VLEN] = "holds elements of variable length",
    [OUT_ARRAY] = "holds elements that are arrays",
    [OUT_NUMBERS] = "holds numbers of a size or format that no tensor has",
    [OUT_NULL] = "is empty: it has no shape",
    [OUT_NDIM] = "has more than 8 dimensions",
    [OUT_SIZE] = "is larger than a tensor can be",
    [OUT_ELSEWHERE] = "has its elements in other files",
    [OUT_NAME] = "has a name that no tensor can have",
    [OUT_DAMAGED] = "is damaged: HDF5 cannot open it",
};

/* ---- What a dataset is ---- */

static enum foreign_reason type_describe(hid_t type, struct foreign_record *r,
                                         bool *as_in_memory)
{
    static const enum foreign_reason OTHERS[] = {
        [H5T_TIME] = OUT_TIMES,          [H5T_BITFIELD] = OUT_BITS,
        [H5T_OPAQUE] = OUT_OPAQUE,       [H5T_COMPOUND] = OUT_COMPOUND,
        [H5T_REFERENCE] = OUT_REFERENCE, [H5T_VLEN] = OUT_VLEN,
        [H5T_ARRAY] = OUT_ARRAY,
    };
    H5T_class_t class = H5Tget_class(type);
    bool big_endian = false;

    if (class == H5T_STRING) {
        r->dtype = DTYPE_STRING;
    } else if (class == H5T_OPAQUE && H5Tget_size(type) == 1) {
        r->dtype = RAYTRAIN_BYTES;
    } else if (class == H5T_ENUM) { /* as numbers: h5py's booleans are enumerations */
        hid_t base = H5Tget_super(type);

        r->dtype = base < 0 ? 0 : h5_dtype_of(base, &big_endian);
        if (base >= 0)
            H5Tclose(base);
    } else if (class == H5T_INTEGER || class == H5T_FLOAT) {
        r->dtype = h5_dtype_of(type, &big_endian);
    } else {
        bool known = class >= 0 && (size_t) class < sizeof OTHERS / sizeof *OTHERS;

        return known && OTHERS[class] ? OTHERS[class] : OUT_TYPE;
    }
    *as_in_memory = !big_endian || entry_dtype_size(r->dtype) == 1;
    return r->dtype ? OUT_NOT : OUT_NUMBERS;
}

static enum foreign_reason shape_describe(hid_t space, struct foreign_record *r,
                                          uint64_t *bytes)
{
    hsize_t shape[H5S_MAX_RANK];
    int ndim = H5Sget_simple_extent_ndims(space);

    if (H5Sget_simple_extent_type(space) == H5S_NULL)
        return OUT_NULL;
    if (ndim < 0 || H5Sget_simple_extent_dims(space, shape, NULL) < 0)
        return OUT_DAMAGED;
    if (r->dtype == DTYPE_STRING)
        return H5Sget_simple_extent_npoints(space) == 1 ? OUT_NOT : OUT_STRINGS;
    if (ndim > RAYTRAIN_MAX_DIMS)
        return OUT_NDIM;
    r->ndim = (uint32_t)ndim;
    for (int d = 0; d < ndim; d++)
        r->shape[d] = shape[d];
    return slab_tensor_bytes(ndim, r->shape, entry_dtype_size(r->dtype), bytes) < 0
               ? OUT_SIZE
               : OUT_NOT;
}

/* The offset of its elements, if they are contiguous. Only HDF5 knows the elements of a
 * dataset that never got space. */
static uint64_t place_find(hid_t set, uint64_t bytes)
{
    haddr_t at = H5Dget_offset(set);

    return at != HADDR_UNDEF && H5Dget_storage_size(set) == bytes ? at : 0;
}

static enum foreign_reason layout_describe(hid_t set, bool *contiguous)
{
    hid_t plist = H5Dget_create_plist(set);
    H5D_layout_t layout = H5Pget_layout(plist);
    int n_external = layout == H5D_CONTIGUOUS ? H5Pget_external_count(plist) : 0;

    if (plist >= 0)
        H5Pclose(plist);
    *contiguous = layout == H5D_CONTIGUOUS;
    if (layout < 0 || n_external < 0)
        return OUT_DAMAGED;
    return layout == H5D_VIRTUAL || n_external > 0 ? OUT_ELSEWHERE : OUT_NOT;
}

/* The layout comes first: to ask a virtual dataset for its shape opens other files. */
static enum foreign_reason dataset_describe(hid_t set, struct foreign_record *r)
{
    bool contiguous = false, as_in_memory = false;
    enum foreign_reason reason = layout_describe(set, &contiguous);
    uint64_t bytes = 0;
    hid_t type, space;

    if (reason)
        return reason;
    type = H5Dget_type(set);
    space = H5Dget_space(set);
    reason =
        type < 0 || space < 0 ? OUT_DAMAGED : type_describe(type, r, &as_in_memory);
    if (!reason)
        reason = shape_describe(space, r, &bytes);
    if (!reason && contiguous && as_in_memory && r->dtype != DTYPE_STRING)
        r->offset = place_find(set, bytes);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return reason;
}

/* ---- The list ---- */

struct members_listing {
    FILE *out;
    uint32_t n_objects;
    bool has_report; /* one of raytrain's own tables */
    struct error *err;
};

static int slashes(const char *name)
{
    int n = 0;

    for (; *name; name++)
        n += *name == '/';
    return n;
}

static int object_list(void *arg, hid_t file, const char *name, bool is_dataset)
{
    struct members_listing *l = arg;
    struct foreign_record r = {.name_bytes = (uint32_t)strlen(name) + 1};
    hid_t set;

    if (++l->n_objects > OBJECTS_MAX || slashes(name) >= DEPTH_MAX)
        return error_set(l->err, RAYTRAIN_ENOTSUP,
                         "it has more than %u objects, or groups in groups more than "
                         "%d deep",
                         OBJECTS_MAX, DEPTH_MAX);
    if (!is_dataset)
        return 0;
    l->has_report = l->has_report || strcmp(name, TABLE_REPORT) == 0;
    set = H5Dopen2(file, name, H5P_DEFAULT);
    r.reason = set < 0 ? OUT_DAMAGED : dataset_describe(set, &r);
    if (set >= 0)
        H5Dclose(set);
    if (checkpoint_check_name(name, NULL) < 0)
        r.reason = OUT_NAME;
    if (fwrite(&r, sizeof r, 1, l->out) == 1 &&
        fwrite(name, r.name_bytes, 1, l->out) == 1)
        return 0;
    return error_no_memory(l->err);
}

/* A checkpoint of raytrain has a user block of a certain size. Programs that rewrite
 * HDF5 files, such as h5repack, drop the user block, so that the result is a plain HDF5
 * file. */
static bool has_user_block(hid_t file)
{
    hid_t plist = H5Fget_create_plist(file);
    hsize_t bytes = 0;
    bool has =
        plist >= 0 && H5Pget_userblock(plist, &bytes) >= 0 && bytes == HEAD_BYTES;

    if (plist >= 0)
        H5Pclose(plist);
    return has;
}

int foreign_list_write(hid_t file, FILE *out, struct error *err)
{
    struct error why = {.code = RAYTRAIN_OK};
    struct members_listing l = {.out = out, .err = &why};

    if (h5_visit(file, object_list, &l) < 0) {
        if (why.code == RAYTRAIN_OK) {
            h5_error(&why, "list its datasets");
            why.code = RAYTRAIN_ECORRUPT;
        }
        return error_set(err, why.code, "%s", why.text);
    }
    if (l.has_report && has_user_block(file))
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "this is a checkpoint of raytrain whose head is damaged");
    return 0;
}

const char *foreign_reason_text(enum foreign_reason reason)
{
    return reasons[reason];
}
