/*
 * reader_numpy.c - arrays of NumPy, whose first dimension is the rows.
 *
 * An .npy file is one column, of the name of the file without .npy and without a number
 * at its end (of "x-0001.npy": x), so that many files have the same column; a
 * structured array is a column for each field. The label may be a file of its own. In
 * an .npz file each member is such a file. Rows are read in place, except those of
 * deflated members and of arrays in Fortran order, which are expanded, and codes of
 * words (numpy_words.h).
 */
#include "table/reader.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "table/expansion.h"
#include "table/fortran_order.h"
#include "table/npy_header.h"
#include "table/numpy_words.h"
#include "table/zip_members.h"
#include "util/fs.h"
#include "util/quote.h"

#define ENDING      ".npy"
#define LOCAL_BYTES 30 /* of the header of a member of a ZIP archive, before its name */

/* The bytes of an .npy file, or of a member: in source `source`, from `at` on. */
struct array {
    size_t source;
    uint64_t at, size;
    const char *name;                /* of the column, unless it has fields */
    const char *what;                /* for messages */
    const struct numpy_words *words; /* of its archive; NULL: it is not in one */
};

/* ---- Names ---- */

/* The length of the name without its last ".npy". */
static size_t numpy_name_length(const char *name)
{
    size_t n = strlen(name), ending = strlen(ENDING);

    return n > ending && strcasecmp(name + n - ending, ENDING) == 0 ? n - ending : n;
}

/* "x-0001" -> "x", "part-00000-of-00010" -> "part", "17" -> "", "x1" as it is. */
static size_t number_strip(const char *name, size_t n)
{
    size_t k = n;

    while (k > 0 && name[k - 1] >= '0' && name[k - 1] <= '9')
        k--;
    if (k == 0)
        return 0;
    if (k == n || !strchr("-_.", name[k - 1]))
        return n;
    k--;
    return k > 3 && strncmp(name + k - 3, "-of", 3) == 0 ? number_strip(name, k - 3)
                                                         : k;
}

/* Make a name from n bytes in UTF-8, or otherwise in Latin-1. False if it is too
 * long. */
static bool numpy_name_make(const char *text, size_t n,
                            char name[RAYTRAIN_NAME_MAX + 1])
{
    char own[RAYTRAIN_NAME_MAX + 1];

    memcpy(own, text, n);
    own[n] = '\0';
    return utf8_make(own, name, RAYTRAIN_NAME_MAX + 1);
}

static void column_name(const char *path, const char *otherwise,
                        char name[RAYTRAIN_NAME_MAX + 1])
{
    const char *base = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    size_t n = number_strip(base, numpy_name_length(base));

    if (n == 0 || n > RAYTRAIN_NAME_MAX || !numpy_name_make(base, n, name))
        strcpy(name, otherwise);
}

static bool is_label(const struct dataset_config *cfg, const char *name)
{
    return cfg->label && strcmp(cfg->label, name) == 0 && !dataset_label_is_path(cfg);
}

static bool is_wanted(const struct dataset_config *cfg, const char *name)
{
    return reader_wants(cfg, name) || is_label(cfg, name);
}

/* True if the column was asked for by its name. Then it is an error if it cannot be
 * one. */
static bool numpy_is_named(const struct dataset_config *cfg, const char *name)
{
    return cfg->columns ? is_wanted(cfg, name) : is_label(cfg, name);
}

/* ---- Arrays ---- */

/* Expand an array in Fortran order into rows in another source. */
static int rows_expand(const struct npy_header *h, const raytrain_tensor *row,
                       struct table *t, struct extent *e, struct error *err)
{
    const struct fortran_array a = {.at = e->offset, .rows = h->rows, .row = *row};

    e->offset = 0;
    return fortran_order_expand(t, &a, &e->source, err);
}

/* Add a column: codes of words if the archive has words for it, otherwise numbers. */
static int elements_add(const struct array *a, const struct npy_field *f,
                        const struct column *c, const struct extent *e, struct table *t,
                        struct error *err)
{
    struct packed_words packed;

    if (!a->words || f->name[0] || !numpy_words_find(a->words, c->name, &packed))
        return table_add_column(t, c, e, 1, err);
    if (c->row.dtype != RAYTRAIN_INT32 || c->row.ndim != 0 || e->swapped || e->stride)
        return error_set(err, RAYTRAIN_EINVAL, "%s: it has words, but no codes",
                         a->what);
    return numpy_words_add(a->words, &packed, c->name, a->what, t, e, err);
}

/* A field without a name is the whole array, which its caller may leave out. */
static int field_refuse(const struct reader_job *job, const struct array *a,
                        const struct npy_field *f, const char *name, struct error *err)
{
    if (f->name[0] && !numpy_is_named(job->config, name))
        return left_out_column(job->left_out, name, f->why, err);
    if (f->name[0])
        return error_set(err, RAYTRAIN_ENOTSUP, "%s: its field \"%s\" %s", a->what,
                         name, f->why);
    return error_set(err, RAYTRAIN_ENOTSUP, "%s: it %s", a->what, f->why);
}

static int numpy_field_add(const struct reader_job *job, const struct array *a,
                           const struct npy_header *h, const struct npy_field *f,
                           struct table *t, struct error *err)
{
    struct column c = {.row = f->row};
    struct extent e = {.source = a->source,
                       .offset = a->at + h->bytes + f->offset,
                       .rows = h->rows,
                       .swapped = f->swapped};
    uint64_t bytes;

    if (!utf8_make(f->name[0] ? f->name : a->name, c.name, sizeof c.name))
        return left_out_column(job->left_out, f->name, "has a name that is too long",
                               err);
    if (!is_wanted(job->config, c.name))
        return 0;
    if (!f->row.dtype)
        return field_refuse(job, a, f, c.name, err);
    if (t->n_columns && h->rows != t->rows)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: it has %llu rows, but \"%s\" has %llu: name the columns "
                         "that belong together (the option `columns`)",
                         a->what, (unsigned long long)h->rows, t->columns[0].name,
                         (unsigned long long)t->rows);
    if (!tensor_bytes(&c.row, &bytes))
        return error_set(err, RAYTRAIN_ECORRUPT, "%s: impossible shape", a->what);
    e.stride = bytes == h->stride ? 0 : h->stride;
    if (h->fortran && bytes > 0 && h->rows > 0 &&
        rows_expand(h, &c.row, t, &e, err) < 0)
        return -1;
    return elements_add(a, f, &c, &e, t, err);
}

static int array_add(const struct reader_job *job, const struct array *a,
                     struct table *t, struct error *err)
{
    struct npy_header h;
    int rc = npy_header_read(&t->sources[a->source], a->at, a->size, a->what, &h, err);

    for (size_t i = 0; i < h.n_fields && rc == 0; i++)
        rc = numpy_field_add(job, a, &h, &h.fields[i], t, err);
    npy_header_clear(&h);
    return rc;
}

/* ---- Archives ---- */

/* The content of a member as an array: in place, or expanded into another source. */
static int member_open(const struct zip_member *m, struct array *a, struct table *t,
                       struct error *err)
{
    struct source file = t->sources[a->source];
    struct expansion e;

    if (zip_locate(&file, m, &a->at, err) < 0)
        return -1;
    a->size = m->bytes;
    if (m->method == 0)
        return 0;
    if (expansion_begin(&e, m->bytes, file.path, err) < 0)
        return -1;
    if (zip_expand(&file, m, a->at, e.bytes, err) < 0) {
        expansion_abandon(&e);
        return -1;
    }
    a->at = 0;
    return expansion_end(&e, t, &a->source, err);
}

/* The reason without the names before it: "PATH: \"x\": it holds ..." */
static const char *reason_of(const struct error *err, const struct zip_member *m,
                             const char *path, const char *what)
{
    char member[RAYTRAIN_NAME_MAX + 3];
    const char *const before[] = {what, path, ": ", member, ": ", "it "};
    const char *why = err->text;

    snprintf(member, sizeof member, "\"%s\"", m->name);
    for (size_t i = 0; i < sizeof before / sizeof *before; i++)
        if (strncmp(why, before[i], strlen(before[i])) == 0)
            why += strlen(before[i]);
    return why;
}

/* A member that was not asked for by name is left out if it cannot be a column. Fields
 * are not known before it is opened. */
static int member_add(const struct reader_job *job, const struct zip_member *m,
                      const struct numpy_words *words, size_t source, struct table *t,
                      struct error *err)
{
    char name[RAYTRAIN_NAME_MAX + 1], what[PATH_MAX + RAYTRAIN_NAME_MAX + 8];
    struct array a = {.source = source, .name = name, .what = what, .words = words};
    struct error own = {0};
    size_t n = numpy_name_length(m->name);

    if (m->name[n] == '\0')
        return job->config->columns || strcmp(m->name, NUMPY_WORDS) == 0
                   ? 0
                   : left_out_column(job->left_out, m->name, "is not an array", err);
    if (!numpy_name_make(m->name, n, name))
        return left_out_column(job->left_out, m->name, "has a name that is too long",
                               err);
    snprintf(what, sizeof what, "%s: \"%s\"", t->sources[source].path, name);
    if (!is_wanted(job->config, name))
        return 0;
    if (member_open(m, &a, t, &own) == 0 && array_add(job, &a, t, &own) == 0)
        return 0;
    if (own.code == RAYTRAIN_ENOTSUP && !numpy_is_named(job->config, name))
        return left_out_column(job->left_out, name,
                               reason_of(&own, m, t->sources[source].path, what), err);
    return error_set(err, own.code, "%s", own.text);
}

static int archive_add(const struct reader_job *job, size_t source, struct table *t,
                       struct error *err)
{
    struct source file = t->sources[source];
    struct zip_members members;
    struct numpy_words words = {.bytes = NULL};
    int rc = zip_list(&file, &members, err);

    if (rc == 0)
        rc = numpy_words_read(&file, &members, job->words, &words, err);
    for (size_t i = 0; i < members.n && rc == 0; i++)
        rc = member_add(job, &members.all[i], &words, source, t, err);
    numpy_words_clear(&words);
    zip_clear(&members);
    return rc;
}

/* ---- Files ---- */

static bool is_archive(const unsigned char *head, size_t n)
{
    return n >= 4 && (memcmp(head, "PK\3\4", 4) == 0 || memcmp(head, "PK\5\6", 4) == 0);
}

/* Add a file. `otherwise`: the name of the column if the file has no name for it. */
static int numpy_file_add(const struct reader_job *job, size_t source,
                          const char *otherwise, struct table *t, struct error *err)
{
    struct source file = t->sources[source];
    struct array a = {.source = source, .size = file.size, .what = file.path};
    char name[RAYTRAIN_NAME_MAX + 1];
    unsigned char head[8];
    size_t n = file.size < sizeof head ? (size_t)file.size : sizeof head;

    if (fs_pread_full(file.fd, head, n, 0) < 0)
        return fs_error(err, "read", file.path);
    if (is_archive(head, n))
        return archive_add(job, source, t, err);
    if (!npy_probe(head, n))
        return error_set(err, RAYTRAIN_EINVAL, "%s: not an .npy or .npz file",
                         file.path);
    column_name(file.path, otherwise, name);
    a.name = name;
    return array_add(job, &a, t, err);
}

static int labels_add(const struct reader_job *job, struct table *t, struct error *err)
{
    const struct dataset_config *cfg = job->config;
    int fd = reader_open_file(cfg->label, err);
    size_t source;

    if (fd < 0 || table_add_source(t, fd, false, cfg->label, &source, err) < 0 ||
        numpy_file_add(job, source, "y", t, err) < 0)
        return error_prefix(err, "labels");
    return 0;
}

static int numpy_open(const struct reader_job *job, struct table *out,
                      struct error *err)
{
    const struct dataset_config *cfg = job->config;
    char names[512];

    if (numpy_file_add(job, 0, "x", out, err) < 0)
        return -1;
    if (!cfg->label)
        return 0;
    if (dataset_label_is_path(cfg))
        return labels_add(job, out, err);
    if (table_column(out, cfg->label))
        return 0;
    table_names(out, names, sizeof names);
    return error_set(
        err, RAYTRAIN_ENOTFOUND,
        "%s: the label is neither a file nor a column: \"%s\"; the columns "
        "are: %s",
        cfg->path, cfg->label, names);
}

/* An archive is read if its first member is an array. */
static bool numpy_probe(const unsigned char *head, size_t n, const char *path)
{
    size_t name;

    (void)path;
    if (npy_probe(head, n))
        return true;
    if (!is_archive(head, n) || n < LOCAL_BYTES)
        return false;
    name = head[26] | (size_t)head[27] << 8;
    return name > strlen(ENDING) && LOCAL_BYTES + name <= n &&
           memcmp(head + LOCAL_BYTES + name - strlen(ENDING), ENDING, strlen(ENDING)) ==
               0;
}

const struct reader_ops reader_numpy = {
    .probe = numpy_probe,
    .open = numpy_open,
};
