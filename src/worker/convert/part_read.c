/* part_read.c - opens a part as a table. HDF5, which finds the arrays, and
 * table_add_column() check the sizes in the file. See part.h. */
#include "convert/part.h"

#include <stdlib.h>
#include <string.h>

#include "convert/part_names.h"
#include "hdf5/h5.h"

static const struct {
    enum frame_kind kind;
    const char *name;
} kinds[] = {{FRAME_NUMBERS, "numbers"},
             {FRAME_WORDS, "words"},
             {FRAME_TEXT, "text"},
             {FRAME_SPARSE, "sparse"}};

#define N_KINDS (sizeof kinds / sizeof *kinds)

const char *part_kind_name(enum frame_kind kind)
{
    for (size_t i = 0; i < N_KINDS; i++)
        if (kinds[i].kind == kind)
            return kinds[i].name;
    return "unknown";
}

static int part_file_damaged(struct error *err, const char *what)
{
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "it is damaged, or not made by raytrain: %s", what);
}

/* ---- Attributes ---- */

static int attr_integer(hid_t object, const char *name, int64_t *value)
{
    hid_t attr = H5Aopen(object, name, H5P_DEFAULT), space = -1;
    int rc = -1;

    if (attr >= 0)
        space = H5Aget_space(attr);
    if (space >= 0 && H5Sget_simple_extent_npoints(space) == 1 &&
        H5Aread(attr, H5T_NATIVE_INT64, value) >= 0 && *value >= 0)
        rc = 0;
    if (space >= 0)
        H5Sclose(space);
    if (attr >= 0)
        H5Aclose(attr);
    return rc;
}

static int attr_text(hid_t object, const char *name, char text[RAYTRAIN_NAME_MAX + 1])
{
    hid_t attr = H5Aopen(object, name, H5P_DEFAULT), type = -1;
    size_t n = 0;
    int rc = -1;

    if (attr >= 0)
        type = H5Aget_type(attr);
    if (type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0)
        n = H5Tget_size(type);
    if (n > 0 && n <= RAYTRAIN_NAME_MAX + 1 && H5Aget_storage_size(attr) == n &&
        H5Aread(attr, type, text) >= 0) {
        text[n - 1] = '\0';
        rc = 0;
    }
    if (type >= 0)
        H5Tclose(type);
    if (attr >= 0)
        H5Aclose(attr);
    return rc;
}

/* ---- Arrays ---- */

/* An array of the column: element type, shape, and where its bytes are. */
struct array {
    raytrain_tensor all;
    uint64_t offset;
};

static int array_shape(hid_t set, struct array *a)
{
    hid_t space = H5Dget_space(set);
    hsize_t shape[RAYTRAIN_MAX_DIMS + 1];
    int ndim = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    bool good = ndim > 0 && ndim <= RAYTRAIN_MAX_DIMS &&
                H5Sget_simple_extent_dims(space, shape, NULL) == ndim;

    a->all.ndim = good ? ndim : 0;
    for (int i = 0; i < a->all.ndim; i++)
        a->all.shape[i] = shape[i];
    if (space >= 0)
        H5Sclose(space);
    return good ? 0 : -1;
}

static int array_open(hid_t group, const char *name, struct array *a)
{
    hid_t set = H5Dopen2(group, name, H5P_DEFAULT);
    hid_t type = set < 0 ? -1 : H5Dget_type(set);
    bool big_endian = false;
    haddr_t at;
    int rc = -1;

    *a = (struct array){0};
    if (type >= 0 && array_shape(set, a) == 0) {
        a->all.dtype = h5_dtype_of(type, &big_endian);
        at = H5Dget_offset(set);
        a->offset = at == HADDR_UNDEF ? 0 : at;
        rc = a->all.dtype && !big_endian ? 0 : -1;
    }
    if (type >= 0)
        H5Tclose(type);
    if (set >= 0)
        H5Dclose(set);
    return rc;
}

static bool array_is(const struct array *a, raytrain_dtype dtype, int ndim)
{
    return a->all.dtype == dtype && a->all.ndim == ndim;
}

/* All of a one-dimensional array, malloc'ed. It lies within the file. */
static int array_load(hid_t group, const char *name, raytrain_dtype dtype, size_t width,
                      uint64_t file_bytes, void **out, uint64_t *n)
{
    hid_t set, type;
    struct array a;
    int rc = -1;

    if (array_open(group, name, &a) < 0 || !array_is(&a, dtype, 1) ||
        a.all.shape[0] > file_bytes / width)
        return -1;
    *n = a.all.shape[0];
    *out = malloc(*n * width + 1);
    set = H5Dopen2(group, name, H5P_DEFAULT);
    type = h5_dtype(dtype);
    if (*out && set >= 0 && type >= 0 &&
        (*n == 0 || H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *out) >= 0))
        rc = 0;
    if (type >= 0)
        H5Tclose(type);
    if (set >= 0)
        H5Dclose(set);
    return rc;
}

/* ---- Columns ---- */

static int words_fill(struct dictionary *words, const uint64_t *offsets, uint64_t n,
                      const char *bytes, uint64_t n_bytes, struct error *err)
{
    int32_t code;

    for (uint64_t i = 0; i + 1 < n; i++) {
        if (offsets[i] > offsets[i + 1] || offsets[i + 1] > n_bytes)
            return part_file_damaged(err, "its words");
        if (dictionary_add(words, bytes + offsets[i], offsets[i + 1] - offsets[i],
                           &code, err) < 0)
            return -1;
        if ((uint64_t)code != i)
            return part_file_damaged(err, "a word occurs twice");
    }
    return 0;
}

static int words_read(hid_t group, uint64_t file_bytes, struct column *c,
                      struct error *err)
{
    void *offsets = NULL, *bytes = NULL;
    uint64_t n = 0, n_bytes = 0;
    int rc = 0;

    c->words = dictionary_create();
    if (!c->words)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for words");
    if (array_load(group, PART_WORD_OFFSETS, RAYTRAIN_UINT64, sizeof(uint64_t),
                   file_bytes, &offsets, &n) < 0 ||
        array_load(group, PART_WORD_BYTES, RAYTRAIN_UINT8, 1, file_bytes, &bytes,
                   &n_bytes) < 0)
        rc = part_file_damaged(err, "its words");
    if (rc == 0)
        rc = words_fill(c->words, offsets, n, bytes, n_bytes, err);
    free(offsets);
    free(bytes);
    return rc;
}

static int numbers_describe(hid_t group, struct column *c, struct extent *e)
{
    struct array a;

    if (array_open(group, PART_ROWS, &a) < 0)
        return -1;
    c->row.dtype = a.all.dtype;
    c->row.ndim = a.all.ndim - 1;
    memcpy(c->row.shape, a.all.shape + 1, (size_t)c->row.ndim * sizeof *c->row.shape);
    e->rows = a.all.shape[0];
    e->offset = a.offset;
    return 0;
}

static int words_describe(hid_t group, struct column *c, struct extent *e)
{
    struct array a;

    if (array_open(group, PART_CODES, &a) < 0 || !array_is(&a, RAYTRAIN_INT32, 1))
        return -1;
    c->row.dtype = RAYTRAIN_INT32;
    e->rows = a.all.shape[0];
    e->offset = a.offset;
    return 0;
}

static int ragged_describe(hid_t group, struct column *c, struct extent *e)
{
    bool sparse = c->kind == FRAME_SPARSE;
    struct array places, elements, indices;
    int64_t length = 0;

    if (array_open(group, PART_PLACES, &places) < 0 ||
        !array_is(&places, RAYTRAIN_UINT64, 2) || places.all.shape[1] != 2 ||
        array_open(group, sparse ? PART_VALUES : PART_BYTES, &elements) < 0 ||
        elements.all.ndim != 1)
        return -1;
    if (sparse && (attr_integer(group, PART_LENGTH, &length) < 0 ||
                   array_open(group, PART_INDICES, &indices) < 0 ||
                   !array_is(&indices, RAYTRAIN_UINT32, 1) ||
                   indices.all.shape[0] != elements.all.shape[0]))
        return -1;
    c->row.dtype = elements.all.dtype;
    c->row.ndim = sparse;
    c->row.shape[0] = (uint64_t)length;
    e->rows = places.all.shape[0];
    e->offset = places.offset;
    e->elements = elements.offset;
    e->n_elements = elements.all.shape[0];
    e->indices = sparse ? indices.offset : 0;
    return 0;
}

static int kind_read(hid_t group, struct column *c)
{
    char text[RAYTRAIN_NAME_MAX + 1];

    if (attr_text(group, PART_NAME, c->name) < 0 ||
        attr_text(group, PART_KIND, text) < 0)
        return -1;
    for (size_t i = 0; i < N_KINDS; i++)
        if (strcmp(kinds[i].name, text) == 0) {
            c->kind = kinds[i].kind;
            return 0;
        }
    return -1;
}

static int column_describe(hid_t group, struct column *c, struct extent *e)
{
    if (kind_read(group, c) < 0)
        return -1;
    switch (c->kind) {
    case FRAME_NUMBERS:
        return numbers_describe(group, c, e);
    case FRAME_WORDS:
        return words_describe(group, c, e);
    default:
        return ragged_describe(group, c, e);
    }
}

static int column_read_group(hid_t group, struct table *t, struct error *err)
{
    struct column c = {0};
    struct extent e = {0};
    int rc = 0;

    if (column_describe(group, &c, &e) < 0)
        return part_file_damaged(err, "its columns");
    if (c.kind == FRAME_WORDS)
        rc = words_read(group, t->sources[0].size, &c, err);
    if (rc == 0)
        rc = table_add_column(t, &c, &e, 1, err);
    if (rc < 0)
        dictionary_destroy(c.words);
    return rc;
}

struct reading {
    hid_t columns;
    struct table *t;
    struct error why;
};

static int link_read(void *arg, const char *name, enum h5_link link)
{
    struct reading *r = arg;
    hid_t group = link == H5_LINK_HARD ? H5Gopen2(r->columns, name, H5P_DEFAULT) : -1;
    int rc;

    if (group < 0)
        return part_file_damaged(&r->why, "its columns");
    rc = column_read_group(group, r->t, &r->why);
    H5Gclose(group);
    return rc;
}

static int part_columns_read(hid_t columns, struct table *t, struct error *err)
{
    struct reading r = {.columns = columns, .t = t};

    if (h5_links(columns, link_read, &r) >= 0)
        return 0;
    if (r.why.code == RAYTRAIN_OK)
        return part_file_damaged(err, "its columns");
    return error_set(err, r.why.code, "%s", r.why.text);
}

static int part_file_read(hid_t file, struct table *t, struct error *err)
{
    int64_t version = 0, rows = 0;
    hid_t columns;
    int rc;

    if (attr_integer(file, PART_VERSION, &version) < 0 ||
        attr_integer(file, PART_N_ROWS, &rows) < 0)
        return part_file_damaged(err, "its attributes");
    if (version != PART_VERSION_NUMBER)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "its version is %lld; this raytrain reads version %d",
                         (long long)version, PART_VERSION_NUMBER);
    columns = H5Gopen2(file, PART_COLUMNS, H5P_DEFAULT);
    if (columns < 0)
        return part_file_damaged(err, "it has no columns");
    rc = part_columns_read(columns, t, err);
    H5Gclose(columns);
    if (rc == 0 && (t->n_columns == 0 || t->rows != (uint64_t)rows))
        rc = part_file_damaged(err, "its number of rows");
    return rc;
}

int part_read(struct table *t, struct error *err)
{
    struct h5_quiet quiet;
    hid_t file;
    int rc = -1;

    h5_quiet_begin(&quiet);
    file = h5_open_fd(t->sources[0].fd, err);
    if (file >= 0) {
        rc = part_file_read(file, t, err);
        H5Fclose(file);
    }
    h5_quiet_end(&quiet);
    return rc < 0 ? error_prefix(err, "%s", t->sources[0].path) : 0;
}
