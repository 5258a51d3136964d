/*
 * reader_idx.c - the IDX format of the MNIST family
 * (http://yann.lecun.com/exdb/mnist/): two zero bytes, the element type, the number of
 * dimensions, the dimensions as big-endian 32-bit numbers, then the elements,
 * big-endian, the first dimension slowest.
 *
 * Features are column "x", labels, which lie in a file of their own, column "y". Plain
 * files are read in place; gzip files are expanded.
 */
#include "table/reader.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "table/expansion.h"
#include "table/gunzip.h"
#include "util/fs.h"

#define IDX_MAX_DIMS    RAYTRAIN_MAX_DIMS
#define IDX_HEADER_MAX  (4 + 4 * IDX_MAX_DIMS)
#define IDX_IMAGES      "-images-idx"
#define IDX_LABELS      "-labels-idx1-ubyte"
#define HOST_BIG_ENDIAN (__BYTE_ORDER == __BIG_ENDIAN)

static const struct {
    unsigned char code;
    raytrain_dtype dtype;
} IDX_TYPES[] = {
    {0x08, RAYTRAIN_UINT8}, {0x09, RAYTRAIN_INT8},    {0x0b, RAYTRAIN_INT16},
    {0x0c, RAYTRAIN_INT32}, {0x0d, RAYTRAIN_FLOAT32}, {0x0e, RAYTRAIN_FLOAT64},
};

struct idx_header {
    size_t bytes; /* of the header itself */
    raytrain_dtype dtype;
    int ndim;
    uint64_t shape[IDX_MAX_DIMS];
};

static raytrain_dtype idx_dtype(unsigned char code)
{
    for (size_t i = 0; i < sizeof IDX_TYPES / sizeof *IDX_TYPES; i++)
        if (IDX_TYPES[i].code == code)
            return IDX_TYPES[i].dtype;
    return 0;
}

static bool idx_magic(const unsigned char *head, size_t n)
{
    return n >= 4 && head[0] == 0 && head[1] == 0 && idx_dtype(head[2]) && head[3] > 0;
}

static bool idx_probe(const unsigned char *head, size_t n, const char *path)
{
    unsigned char plain[4];

    (void)path;
    if (!gunzip_probe(head, n))
        return idx_magic(head, n);
    return idx_magic(plain, gunzip_head(head, n, plain, sizeof plain));
}

static int idx_header_parse(const unsigned char *head, size_t n, const char *path,
                            struct idx_header *h, struct error *err)
{
    if (!idx_magic(head, n))
        return error_set(
            err, RAYTRAIN_EINVAL,
            "%s: not an IDX file (it does not start with two zero bytes, an "
            "element type and a number of dimensions)",
            path);
    h->dtype = idx_dtype(head[2]);
    h->ndim = head[3];
    h->bytes = 4 + 4 * (size_t)h->ndim;
    if (h->ndim > IDX_MAX_DIMS)
        return error_set(err, RAYTRAIN_ENOTSUP,
                         "%s: %d dimensions; at most %d are read", path, h->ndim,
                         IDX_MAX_DIMS);
    if (n < h->bytes)
        return error_set(err, RAYTRAIN_ECORRUPT, "%s: the header is truncated", path);
    for (int i = 0; i < h->ndim; i++) {
        uint32_t be;

        memcpy(&be, head + 4 + 4 * i, sizeof be);
        h->shape[i] = be32toh(be);
    }
    return 0;
}

/* Bytes of header and elements together, which must not exceed `limit`. */
static int header_total(const struct idx_header *h, uint64_t limit, const char *path,
                        uint64_t *total, struct error *err)
{
    raytrain_tensor all = {.dtype = h->dtype, .ndim = h->ndim};

    memcpy(all.shape, h->shape, sizeof h->shape);
    if (!tensor_bytes(&all, total) ||
        __builtin_add_overflow(*total, (uint64_t)h->bytes, total) || *total > limit)
        return error_set(
            err, RAYTRAIN_ECORRUPT,
            "%s: its header claims more elements than a file of this length "
            "can hold: it is truncated or damaged",
            path);
    return 0;
}

static int idx_expand(struct table *t, size_t *source, const unsigned char *head,
                      size_t n, struct idx_header *h, struct error *err)
{
    struct source file = t->sources[*source];
    unsigned char plain[IDX_HEADER_MAX];
    struct expansion e;
    uint64_t total;

    n = gunzip_head(head, n, plain, sizeof plain);
    if (idx_header_parse(plain, n, file.path, h, err) < 0 ||
        header_total(h, gunzip_bound(file.size), file.path, &total, err) < 0 ||
        expansion_begin(&e, total, file.path, err) < 0)
        return -1;
    if (gunzip_file(&file, e.bytes, total, err) < 0) {
        expansion_abandon(&e);
        return -1;
    }
    return expansion_end(&e, t, source, err);
}

static int idx_in_place(const struct source *file, const unsigned char *head, size_t n,
                        struct idx_header *h, struct error *err)
{
    uint64_t total;

    if (idx_header_parse(head, n, file->path, h, err) < 0 ||
        header_total(h, file->size, file->path, &total, err) < 0)
        return -1;
    if (total < file->size)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s: %llu bytes follow the elements that its header claims",
                         file->path, (unsigned long long)(file->size - total));
    return 0;
}

/* Make source `source` the column `name`. */
static int idx_add_column(struct table *t, size_t source, const char *name,
                          struct error *err)
{
    const struct source *file = &t->sources[source];
    unsigned char head[READER_HEAD];
    size_t n = file->size < sizeof head ? (size_t)file->size : sizeof head;
    struct column c = {0};
    struct extent e;
    struct idx_header h;
    int rc;

    if (fs_pread_full(file->fd, head, n, 0) < 0)
        return fs_error(err, "read", file->path);
    rc = gunzip_probe(head, n) ? idx_expand(t, &source, head, n, &h, err)
                               : idx_in_place(file, head, n, &h, err);
    if (rc < 0)
        return -1;
    strcpy(c.name, name);
    c.row.dtype = h.dtype;
    c.row.ndim = h.ndim - 1;
    memcpy(c.row.shape, h.shape + 1, (size_t)c.row.ndim * sizeof *h.shape);
    e = (struct extent){.source = source,
                        .offset = h.bytes,
                        .rows = h.shape[0],
                        .swapped =
                            !HOST_BIG_ENDIAN && raytrain_dtype_size(h.dtype) > 1};
    return table_add_column(t, &c, &e, 1, err);
}

/*
 * By convention the labels of NAME-images-idx3-ubyte[.gz] are in
 * NAME-labels-idx1-ubyte[.gz] beside it. *out is malloc'ed; NULL if there is no such
 * file.
 */
static int labels_by_convention(const char *path, char **out, struct error *err)
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    const char *images = strstr(base, IDX_IMAGES);
    const char *const ENDINGS[] = {"", ".gz"};

    *out = NULL;
    for (size_t i = 0; images && !*out && i < sizeof ENDINGS / sizeof *ENDINGS; i++) {
        if (asprintf(out, "%.*s" IDX_LABELS "%s", (int)(images - path), path,
                     ENDINGS[i]) < 0) {
            *out = NULL;
            return error_no_memory(err);
        }
        if (access(*out, F_OK) < 0) {
            free(*out);
            *out = NULL;
        }
    }
    return 0;
}

static int labels_open(const struct dataset_config *cfg, struct table *t,
                       struct error *err)
{
    char *path = NULL;
    size_t source;
    int fd, rc = -1;

    if (cfg->label && !(path = strdup(cfg->label)))
        return error_no_memory(err);
    if (!path && labels_by_convention(cfg->path, &path, err) < 0)
        return -1;
    if (!path) /* only features */
        return 0;
    fd = reader_open_file(path, err);
    if (fd >= 0 && table_add_source(t, fd, false, path, &source, err) == 0)
        rc = idx_add_column(t, source, "y", err);
    if (rc < 0)
        error_prefix(err, "labels");
    free(path);
    return rc;
}

static int idx_open(const struct reader_job *job, struct table *out, struct error *err)
{
    const struct dataset_config *cfg = job->config;

    if (reader_wants(cfg, "x") && idx_add_column(out, 0, "x", err) < 0)
        return -1;
    return reader_wants(cfg, "y") ? labels_open(cfg, out, err) : 0;
}

const struct reader_ops reader_idx = {
    .probe = idx_probe,
    .open = idx_open,
};
