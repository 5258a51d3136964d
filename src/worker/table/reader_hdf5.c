/*
 * reader_hdf5.c - HDF5 files: datasets of numbers that have the same first dimension
 * are columns of rows, and so are datasets of strings of one dimension.
 *
 * A contiguous dataset is read in place, by pread at the offset that HDF5 gives, in
 * either byte order. A chunked one is read by its chunks (packing.h), unless its rows
 * are shuffled and fit into memory: then they would be unpacked again and again.
 * Everything else (compact, types of odd sizes, other filters) is read by HDF5 here, in
 * the caller's thread, into memory that the node's ranks share. Strings are, too, as
 * codes of words: so they take 4 bytes a row, and can be read in any order.
 */
#include "table/reader.h"

#include <endian.h>
#include <hdf5.h>
#include <stdio.h>
#include <string.h>

#include "hdf5/h5.h"
#include "table/expansion.h"
#include "table/reader_hdf5_chunks.h"
#include "table/reader_hdf5_names.h"
#include "table/reader_hdf5_strings.h"
#include "util/fs.h"
#include "util/memory.h"

#define HOST_BIG_ENDIAN (__BYTE_ORDER == __BIG_ENDIAN)

struct hdf5_file {
    const char *path;
    bool shuffle;              /* its rows will be read in any order, not in windows */
    struct words_union *words; /* of the columns of strings */
    struct left_out *left_out; /* NULL: not wanted */
    hid_t id;
    hid_t access; /* of links */
};

/* A dataset, and what makes it a column. */
struct hdf5_dataset {
    hid_t id;
    raytrain_tensor all; /* with the rows as the first dimension */
    bool strings;        /* all.dtype is that of their codes */
    bool exact;          /* the file has all.dtype, in either byte order */
    bool big_endian;     /* the byte order, if exact */
    bool chunked;
    haddr_t offset; /* in the file; HADDR_UNDEF if the rows have no fixed place */
};

/* ---- Types ---- */

static bool type_exact(hid_t type, struct hdf5_dataset *d)
{
    d->all.dtype = h5_dtype_of(type, &d->big_endian);
    d->exact = d->all.dtype != 0;
    return d->exact;
}

/* The smallest of our types that can represent another integer or floating-point type.
 */
static bool type_convertible(hid_t type, struct hdf5_dataset *d)
{
    static const raytrain_dtype INTEGERS[2][4] = {
        {RAYTRAIN_UINT8, RAYTRAIN_UINT16, RAYTRAIN_UINT32, RAYTRAIN_UINT64},
        {RAYTRAIN_INT8, RAYTRAIN_INT16, RAYTRAIN_INT32, RAYTRAIN_INT64},
    };
    size_t bytes = H5Tget_size(type);
    int log2 = bytes > 4 ? 3 : bytes > 2 ? 2 : bytes > 1 ? 1 : 0;

    if (bytes == 0 || bytes > 8)
        return false;
    if (H5Tget_class(type) == H5T_FLOAT)
        d->all.dtype = bytes > 4 ? RAYTRAIN_FLOAT64 : RAYTRAIN_FLOAT32;
    else
        d->all.dtype = INTEGERS[H5Tget_sign(type) == H5T_SGN_2][log2];
    return true;
}

/* h5py stores complex numbers as compounds of this form. */
static bool is_complex(hid_t type)
{
    char *first, *second;
    bool found = false;

    if (H5Tget_class(type) != H5T_COMPOUND || H5Tget_nmembers(type) != 2)
        return false;
    first = H5Tget_member_name(type, 0);
    second = H5Tget_member_name(type, 1);
    if (first && second)
        found = strcmp(first, "r") == 0 && strcmp(second, "i") == 0;
    H5free_memory(first);
    H5free_memory(second);
    return found;
}

/* NULL, or the reason why the elements cannot be those of a column. */
static const char *hdf5_type_describe(hid_t type, struct hdf5_dataset *d)
{
    static const char *const OTHERS[] = {
        [H5T_TIME] = "holds times",
        [H5T_BITFIELD] = "holds bit fields",
        [H5T_OPAQUE] = "holds opaque bytes",
        [H5T_COMPOUND] = "holds compounds",
        [H5T_REFERENCE] = "holds references",
        [H5T_VLEN] = "holds elements of variable length",
        [H5T_ARRAY] = "holds arrays",
    };
    H5T_class_t class = H5Tget_class(type);
    const char *why = NULL;

    if (class == H5T_ENUM) { /* as numbers: h5py's booleans are enumerations */
        hid_t base = H5Tget_super(type);

        if (base < 0)
            return "holds an enumeration of unknown type";
        if (!type_exact(base, d) && !type_convertible(base, d))
            why = "holds numbers of more than 64 bits";
        H5Tclose(base);
    } else if (class == H5T_INTEGER || class == H5T_FLOAT) {
        if (!type_exact(type, d) && !type_convertible(type, d))
            why = "holds numbers of more than 64 bits";
    } else if (class == H5T_STRING) {
        d->strings = true;
        d->all.dtype = RAYTRAIN_INT32;
    } else if (class >= 0 && (size_t) class < sizeof OTHERS / sizeof *OTHERS) {
        why = is_complex(type) ? "holds complex numbers" : OTHERS[class];
    }
    return d->all.dtype || why ? why : "holds elements of unknown type";
}

/* ---- Shape and place ---- */

static const char *space_describe(hid_t space, struct hdf5_dataset *d)
{
    hsize_t dims[H5S_MAX_RANK];
    int ndim = H5Sget_simple_extent_ndims(space);

    if (H5Sget_simple_extent_type(space) != H5S_SIMPLE || ndim < 1)
        return "has no rows: it is a scalar, or empty";
    if (ndim > RAYTRAIN_MAX_DIMS)
        return "has too many dimensions";
    if (H5Sget_simple_extent_dims(space, dims, NULL) < 0)
        return "has no readable shape";
    d->all.ndim = ndim;
    for (int i = 0; i < ndim; i++)
        d->all.shape[i] = dims[i];
    return NULL;
}

static const char *place_describe(hid_t plist, struct hdf5_dataset *d)
{
    H5D_layout_t layout = H5Pget_layout(plist);

    if (layout == H5D_VIRTUAL)
        return "is virtual: its rows are in other files; name those";
    if (H5Pget_external_count(plist) != 0)
        return "has its rows in external files, which are not read";
    d->chunked = layout == H5D_CHUNKED;
    d->offset = layout == H5D_CONTIGUOUS ? H5Dget_offset(d->id) : HADDR_UNDEF;
    return NULL;
}

/* NULL, or the reason why the dataset cannot be a column. */
static const char *dataset_describe(struct hdf5_dataset *d)
{
    hid_t type = H5Dget_type(d->id), space = H5Dget_space(d->id);
    hid_t plist = H5Dget_create_plist(d->id);
    const char *why = "is damaged";

    if (type >= 0 && space >= 0 && plist >= 0) {
        why = hdf5_type_describe(type, d);
        if (!why)
            why = space_describe(space, d);
        if (!why && d->strings && d->all.ndim > 1)
            why = "holds several strings in each row";
        if (!why)
            why = place_describe(plist, d);
    }
    if (plist >= 0)
        H5Pclose(plist);
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    return why;
}

/* ---- Columns ---- */

static int dataset_fill(const struct hdf5_dataset *d, void *bytes, struct error *err)
{
    hid_t type = h5_dtype(d->all.dtype);
    int rc = 0;

    if (type < 0 || H5Dread(d->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes) < 0)
        rc = h5_read_error(d->id, "read the rows", err);
    if (type >= 0)
        H5Tclose(type);
    return rc;
}

static int dataset_expand(const struct hdf5_dataset *d, const struct hdf5_file *f,
                          struct table *t, size_t *source, struct error *err)
{
    struct expansion e;
    uint64_t bytes;

    if (!tensor_bytes(&d->all, &bytes))
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "impossible shape: its size does not fit 63 bits");
    if (expansion_begin(&e, bytes, f->path, err) < 0)
        return -1;
    if (dataset_fill(d, e.bytes, err) < 0) {
        expansion_abandon(&e);
        return -1;
    }
    return expansion_end(&e, t, source, err);
}

static int codes_refuse(uint64_t rows, struct error *err)
{
    return error_set(
        err, RAYTRAIN_EFIT,
        "the codes of its %llu strings take more memory than is available: "
        "leave it out (the option `columns`), or ask for more memory",
        (unsigned long long)rows);
}

/* Expand strings into codes of the words of all files (words_union.h). */
static int strings_expand(const struct hdf5_dataset *d, const struct hdf5_file *f,
                          const char *name, struct table *t, size_t *source,
                          struct error *err)
{
    struct dictionary *words = words_union_get(f->words, name, err);
    uint64_t rows = d->all.shape[0];
    struct expansion e;

    if (!words)
        return -1;
    if (rows > memory_available() / sizeof(int32_t))
        return codes_refuse(rows, err);
    if (expansion_begin(&e, rows * sizeof(int32_t), f->path, err) < 0)
        return -1;
    if (hdf5_strings_read(d->id, rows, words, (int32_t *)(void *)e.bytes, err) < 0) {
        expansion_abandon(&e);
        return -1;
    }
    return expansion_set_aside(&e, t, source, err);
}

/* Add rows without a fixed place: by their chunks if possible, otherwise expanded in
 * memory. */
static int column_expand(const struct hdf5_dataset *d, const struct hdf5_file *f,
                         const char *name, struct table *t, struct extent *e,
                         bool *packed, struct error *err)
{
    uint64_t bytes;

    if (d->strings)
        return strings_expand(d, f, name, t, &e->source, err);
    *packed = d->exact && d->chunked && tensor_bytes(&d->all, &bytes) &&
              !(f->shuffle && bytes <= memory_available() / 2);
    if (*packed && hdf5_pack(d->id, &d->all, t, &e->packing, err) < 0)
        return -1;
    *packed = e->packing != 0;
    return *packed ? 0 : dataset_expand(d, f, t, &e->source, err);
}

/* h5_dtype() asks HDF5 for little-endian when it converts. */
static int dataset_add(const struct hdf5_dataset *d, const struct hdf5_file *f,
                       const char *name, struct table *t, struct error *err)
{
    bool in_place = d->exact && d->offset != HADDR_UNDEF, packed = false;
    bool big_endian;
    struct extent e = {.offset = in_place ? d->offset : 0, .rows = d->all.shape[0]};
    struct column c = {0};

    if (t->n_columns && d->all.shape[0] != t->rows)
        return error_set(err, RAYTRAIN_EINVAL,
                         "it has %llu rows, but \"%s\" has %llu: name the columns that "
                         "belong together (the option `columns`)",
                         (unsigned long long)d->all.shape[0], t->columns[0].name,
                         (unsigned long long)t->rows);
    if (!in_place && e.rows > 0 && column_expand(d, f, name, t, &e, &packed, err) < 0)
        return -1;
    big_endian = (in_place || packed) && d->big_endian;
    strcpy(c.name, name);
    c.kind = d->strings ? FRAME_WORDS : FRAME_NUMBERS;
    c.row.dtype = d->all.dtype;
    c.row.ndim = d->all.ndim - 1;
    memcpy(c.row.shape, d->all.shape + 1, (size_t)c.row.ndim * sizeof *c.row.shape);
    e.swapped =
        raytrain_dtype_size(c.row.dtype) > 1 && big_endian != (bool)HOST_BIG_ENDIAN;
    return table_add_column(t, &c, &e, 1, err);
}

/* Leave out strings that are not one for each row: files have names of features and
 * classes beside their columns. */
static bool is_beside(const struct hdf5_dataset *d, const struct table *t)
{
    return d->strings && t->n_columns && d->all.shape[0] != t->rows;
}

/* Add a dataset; `link` is its name in the file. If it cannot be a column, and was not
 * asked for by name, it is left out. */
static int hdf5_column_add(const struct hdf5_file *f, const char *link,
                           const char *name, bool named, struct table *t,
                           struct error *err)
{
    struct hdf5_dataset d = {.id = H5Dopen2(f->id, link, H5P_DEFAULT)};
    const char *why = NULL;
    int rc = 0;

    if (d.id >= 0)
        why = dataset_describe(&d);
    if (d.id >= 0 && !why && !named && is_beside(&d, t))
        why = "holds strings, and not one for each row";
    if (d.id < 0)
        rc = h5_error(err, "open it as a dataset");
    else if (!why)
        rc = dataset_add(&d, f, name, t, err);
    else if (named)
        rc = error_set(err, RAYTRAIN_ENOTSUP, "it %s", why);
    else
        rc = left_out_column(f->left_out, name, why, err);
    if (d.id >= 0)
        H5Dclose(d.id);
    if (rc < 0)
        error_prefix(err, "%s: column \"%s\"", f->path, name);
    return rc;
}

/* ---- Names ---- */

static int name_missing(const struct hdf5_file *f, const struct hdf5_names *names,
                        const char *name, struct error *err)
{
    char text[512] = "";
    size_t used = 0;

    for (size_t i = 0; i < names->n; i++) {
        const char *found = names->all[i].column;

        if (used + strlen(found) + 3 < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     used ? ", " : "", found);
    }
    return error_set(err, RAYTRAIN_ENOTFOUND, "%s: no dataset \"%s\"; there are: %s",
                     f->path, name, used ? text : "none");
}

/* No link has this name in UTF-8, but one may have it in Latin-1. */
static int column_add_listed(const struct hdf5_file *f, const char *name,
                             struct table *t, struct error *err)
{
    struct hdf5_names names;
    size_t i = 0;
    int rc = hdf5_names_list(f->id, f->access, &names, NULL, err);

    if (rc < 0)
        return error_prefix(err, "%s", f->path);
    while (i < names.n && strcmp(names.all[i].column, name) != 0)
        i++;
    if (i < names.n)
        rc = hdf5_column_add(f, names.all[i].link, name, true, t, err);
    else
        rc = name_missing(f, &names, name, err);
    hdf5_names_clear(&names);
    return rc;
}

static int column_add_named(const struct hdf5_file *f, const char *name,
                            struct table *t, struct error *err)
{
    int is_dataset;

    if (strlen(name) > RAYTRAIN_NAME_MAX)
        return error_set(err, RAYTRAIN_EINVAL, "%s: a column's name is longer than %d",
                         f->path, RAYTRAIN_NAME_MAX);
    is_dataset = h5_is_dataset(f->id, name, f->access);
    if (is_dataset < 0)
        return column_add_listed(f, name, t, err);
    if (!is_dataset)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: \"%s\" is a group; name a dataset in it (h5ls -r FILE "
                         "lists them)",
                         f->path, name);
    return hdf5_column_add(f, name, name, true, t, err);
}

/* ---- The file ---- */

/* Other files must not be opened: their names come from the data. */
static herr_t external_link_refuse(const char *parent_file, const char *parent_group,
                                   const char *file, const char *object,
                                   unsigned *flags, hid_t access, void *arg)
{
    (void)parent_file;
    (void)parent_group;
    (void)file;
    (void)object;
    (void)flags;
    (void)access;
    (void)arg;
    return -1;
}

/* The signature is at the start, or after a user block of 512, 1024, ... bytes. */
static bool hdf5_probe(const unsigned char *head, size_t n, const char *path)
{
    static const unsigned char SIGNATURE[8] = {0x89, 'H',  'D',  'F',
                                               '\r', '\n', 0x1a, '\n'};

    (void)path;
    for (size_t at = 0; at + sizeof SIGNATURE <= n; at = at ? 2 * at : 512)
        if (memcmp(head + at, SIGNATURE, sizeof SIGNATURE) == 0)
            return true;
    return false;
}

/* Also true if the file cannot be read: HDF5 has reported why. */
static bool has_signature(const struct source *s)
{
    unsigned char head[READER_HEAD];
    size_t n = s->size < sizeof head ? (size_t)s->size : sizeof head;

    return fs_pread_full(s->fd, head, n, 0) < 0 || hdf5_probe(head, n, s->path);
}

/* Open with HDF5 the file that is source 0. */
static int hdf5_file_open(struct hdf5_file *f, const struct source *s,
                          struct error *err)
{
    *f = (struct hdf5_file){.path = s->path, .id = -1};
    f->access = H5Pcreate(H5P_LINK_ACCESS);
    if (f->access < 0 || H5Pset_elink_cb(f->access, external_link_refuse, NULL) < 0)
        return h5_error(err, "prepare to read HDF5");
    f->id = h5_open_fd(s->fd, err);
    if (f->id >= 0)
        return 0;
    if (!has_signature(s))
        return error_set(err, RAYTRAIN_EINVAL, "%s: not an HDF5 file", s->path);
    return error_prefix(err, "%s", s->path);
}

static void file_close(struct hdf5_file *f)
{
    if (f->id >= 0)
        H5Fclose(f->id);
    if (f->access >= 0)
        H5Pclose(f->access);
}

/* Add all datasets: numbers first, because they tell the number of rows; then
 * strings. */
static int columns_add_all(const struct hdf5_file *f, struct table *t,
                           struct error *err)
{
    struct hdf5_names names;
    int rc = hdf5_names_list(f->id, f->access, &names, f->left_out, err);

    if (rc < 0)
        return error_prefix(err, "%s", f->path);
    for (int strings = 0; strings < 2; strings++)
        for (size_t i = 0; i < names.n && rc == 0; i++)
            if (names.all[i].strings == (bool)strings)
                rc = hdf5_column_add(f, names.all[i].link, names.all[i].column, false,
                                     t, err);
    hdf5_names_clear(&names);
    return rc;
}

static int columns_add(const struct dataset_config *cfg, const struct hdf5_file *f,
                       struct table *t, struct error *err)
{
    for (size_t i = 0; i < cfg->n_columns; i++)
        if (column_add_named(f, cfg->columns[i], t, err) < 0)
            return -1;
    if (!cfg->columns && columns_add_all(f, t, err) < 0)
        return -1;
    if (cfg->label && !table_column(t, cfg->label))
        return column_add_named(f, cfg->label, t, err);
    return 0;
}

static int hdf5_open(const struct reader_job *job, struct table *out, struct error *err)
{
    struct source file = out->sources[0];
    struct h5_quiet quiet;
    struct hdf5_file f;
    int rc;

    h5_quiet_begin(&quiet);
    rc = hdf5_file_open(&f, &file, err);
    f.words = job->words;
    f.left_out = job->left_out;
    f.shuffle = job->config->shuffle && job->config->shuffle_window == 0;
    if (rc == 0)
        rc = columns_add(job->config, &f, out, err);
    file_close(&f);
    H5Eclear2(H5E_DEFAULT);
    h5_quiet_end(&quiet);
    return rc;
}

const struct reader_ops reader_hdf5 = {
    .probe = hdf5_probe,
    .open = hdf5_open,
};
