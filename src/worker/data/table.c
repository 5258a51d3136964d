#include "data/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fs.h"

bool tensor_bytes(const raytrain_tensor *tensor, uint64_t *bytes)
{
    uint64_t n = raytrain_dtype_size(tensor->dtype);

    for (int i = 0; i < tensor->ndim; i++)
        if (__builtin_mul_overflow(n, tensor->shape[i], &n))
            return false;
    *bytes = n;
    return true;
}

/* Make room for one more element of `size` bytes after n of them. */
static int array_grow(void **array, size_t n, size_t size, struct error *err)
{
    void *grown = reallocarray(*array, n + 1, size);

    if (!grown)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory");
    *array = grown;
    return 0;
}

int table_add_source(struct table *t, int fd, bool anonymous, const char *path,
                     size_t *index, struct error *err)
{
    struct source s = {.fd = fd, .anonymous = anonymous};
    struct stat st;

    if (strlen(path) >= sizeof s.path) {
        error_set(err, RAYTRAIN_EINVAL, "the path is longer than %zu bytes",
                  sizeof s.path - 1);
        goto fail;
    }
    if (fstat(fd, &st) < 0) {
        fs_error(err, "read", path);
        goto fail;
    }
    if (array_grow((void **)&t->sources, t->n_sources, sizeof s, err) < 0)
        goto fail;
    strcpy(s.path, path);
    s.size = (uint64_t)st.st_size;
    s.dev = st.st_dev;
    s.ino = st.st_ino;
    *index = t->n_sources++;
    t->sources[*index] = s;
    return 0;
fail:
    close(fd);
    return -1;
}

static int extent_check(const struct table *t, const struct column *c,
                        const struct extent *e, struct error *err)
{
    const struct source *s = &t->sources[e->source];
    uint64_t end;

    if (e->rows == 0)
        return error_set(err, RAYTRAIN_EINVAL, "%s: no rows in column \"%s\"", s->path,
                         c->name);
    if (c->row_bytes == 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: rows without elements in column \"%s\"", s->path,
                         c->name);
    if (__builtin_mul_overflow(e->rows, (uint64_t)c->row_bytes, &end) ||
        __builtin_add_overflow(end, e->offset, &end) || end > s->size)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "%s: column \"%s\" claims more than the file's %llu bytes: "
                         "it is truncated or damaged",
                         s->path, c->name, (unsigned long long)s->size);
    return 0;
}

/* The file in which a column begins, for messages. */
static const char *extent_path(const struct table *t, const struct extent *e)
{
    return t->sources[e->source].path;
}

static int column_check(const struct table *t, const struct column *c,
                        const struct extent *first, uint64_t rows, struct error *err)
{
    const struct column *other = t->columns;

    if (table_column(t, c->name))
        return error_set(err, RAYTRAIN_EINVAL, "column \"%s\" is there twice", c->name);
    if (t->n_columns && rows != t->rows)
        return error_set(err, RAYTRAIN_ECORRUPT,
                         "columns of different length: \"%s\" has %llu rows (%s), "
                         "\"%s\" has %llu (%s)",
                         other->name, (unsigned long long)t->rows,
                         extent_path(t, &t->extents[other->extent]), c->name,
                         (unsigned long long)rows, extent_path(t, first));
    return 0;
}

/* Check the extents, and add them after those of the other columns. */
static int extents_add(struct table *t, const struct column *c,
                       const struct extent extents[], size_t n, uint64_t *rows,
                       struct error *err)
{
    *rows = 0;
    for (size_t i = 0; i < n; i++) {
        struct extent e = extents[i];

        e.first = *rows;
        if (extent_check(t, c, &e, err) < 0 ||
            array_grow((void **)&t->extents, c->extent + i, sizeof e, err) < 0)
            return -1;
        t->extents[c->extent + i] = e;
        *rows += e.rows;
    }
    return 0;
}

int table_add_column(struct table *t, const struct column *column,
                     const struct extent extents[], size_t n_extents, struct error *err)
{
    struct column c = *column;
    uint64_t bytes, rows;

    c.row.data = NULL;
    c.extent = t->n_extents;
    c.n_extents = n_extents;
    if (!tensor_bytes(&c.row, &bytes) || bytes > SIZE_MAX)
        return error_set(err, RAYTRAIN_ECORRUPT, "column \"%s\": impossible shape",
                         c.name);
    c.row_bytes = (size_t)bytes;
    if (extents_add(t, &c, extents, n_extents, &rows, err) < 0 ||
        column_check(t, &c, extents, rows, err) < 0 ||
        array_grow((void **)&t->columns, t->n_columns, sizeof c, err) < 0)
        return -1;
    t->rows = rows;
    t->columns[t->n_columns++] = c;
    t->n_extents += n_extents;
    return 0;
}

const struct column *table_column(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->n_columns; i++)
        if (strcmp(t->columns[i].name, name) == 0)
            return &t->columns[i];
    return NULL;
}

void table_names(const struct table *t, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < t->n_columns; i++) {
        size_t n = strlen(t->columns[i].name);

        if (used + n + 3 > size)
            return;
        if (i > 0)
            used += strlen(strcpy(text + used, ", "));
        memcpy(text + used, t->columns[i].name, n + 1);
        used += n;
    }
}

static void source_close(struct source *s)
{
    if (s->map)
        munmap((void *)(uintptr_t)s->map, s->size);
    if (s->fd >= 0)
        close(s->fd);
}

void table_prune(struct table *t)
{
    size_t kept = 0;

    for (size_t i = 0; i < t->n_sources; i++) {
        bool used = false;

        for (size_t e = 0; e < t->n_extents; e++)
            if (t->extents[e].source == i) {
                t->extents[e].source = kept;
                used = true;
            }
        if (used)
            t->sources[kept++] = t->sources[i];
        else
            source_close(&t->sources[i]);
    }
    t->n_sources = kept;
}

void table_map(struct table *t)
{
    for (size_t i = 0; i < t->n_sources; i++) {
        struct source *s = &t->sources[i];
        void *p;

        if (!s->anonymous || s->map || s->size == 0)
            continue;
        p = mmap(NULL, s->size, PROT_READ, MAP_SHARED, s->fd, 0);
        s->map = p == MAP_FAILED ? NULL : p;
    }
}

void table_clear(struct table *t)
{
    for (size_t i = 0; i < t->n_sources; i++)
        source_close(&t->sources[i]);
    free(t->sources);
    free(t->columns);
    free(t->extents);
    *t = (struct table){0};
}
