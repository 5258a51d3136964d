/*
 * table.c - builds a table of columns, extents, sources and packings, and checks each
 * number against its file. Readers decide what it has.
 */
#include "table/table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "table/band_store.h"
#include "util/descriptors.h"
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

/* Rows that stay unpacked. */
#define CACHE_BANDS 64
#define CACHE_BYTES (UINT64_C(64) << 20)

/* Make room for one more element of `size` bytes after n of them. */
static int array_grow(void **array, size_t n, size_t size, struct error *err)
{
    void *grown = reallocarray(*array, n + 1, size);

    if (!grown)
        return error_no_memory(err);
    *array = grown;
    return 0;
}

/* The same for arrays that only grow here: their room is a power of 2. */
static int array_double(void **array, size_t n, size_t size, struct error *err)
{
    return n & (n - 1) ? 0 : array_grow(array, n ? 2 * n - 1 : 0, size, err);
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
    s.fd = descriptor_raise(fd);
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

static int beyond_end(const struct source *s, const struct column *c, struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT,
                     "%s: column \"%s\" claims more than the file's %llu bytes: "
                     "it is truncated or damaged",
                     s->path, c->name, (unsigned long long)s->size);
}

static bool bytes_fit(uint64_t offset, uint64_t n, uint64_t width, uint64_t size)
{
    return offset <= size && n <= (size - offset) / width;
}

/* True if the elements of a ragged column are within the source. */
static bool elements_fit(const struct column *c, const struct extent *e, uint64_t size)
{
    if (!bytes_fit(e->elements, e->n_elements, raytrain_dtype_size(c->row.dtype), size))
        return false;
    return c->kind != FRAME_SPARSE ||
           bytes_fit(e->indices, e->n_elements, sizeof(uint32_t), size);
}

static int extent_check(const struct table *t, const struct column *c,
                        const struct extent *e, struct error *err)
{
    const struct source *s = &t->sources[e->source];
    uint64_t end = 0, stride = e->stride ? e->stride : c->row_bytes;

    if (c->row_bytes == 0)
        return error_set(err, RAYTRAIN_EINVAL,
                         "%s: rows without elements in column \"%s\"", s->path,
                         c->name);
    if (e->rows == 0)
        return 0;
    if (column_ragged(c) && !elements_fit(c, e, s->size))
        return beyond_end(s, c, err);
    if (e->packing && e->packing <= t->n_packings &&
        e->rows <= t->packings[e->packing - 1].shape[0])
        return 0; /* table_add_packing() has checked it */
    if (__builtin_mul_overflow(e->rows - 1, stride, &end) ||
        __builtin_add_overflow(end, (uint64_t)c->row_bytes, &end) ||
        __builtin_add_overflow(end, e->offset, &end) || end > s->size)
        return beyond_end(s, c, err);
    return 0;
}

/* The file in which a column begins, for messages. */
static const char *extent_path(const struct table *t, const struct extent *e)
{
    return e ? t->sources[e->source].path : "empty";
}

static int table_column_check(const struct table *t, const struct column *c,
                              const struct extent *first, uint64_t rows,
                              struct error *err)
{
    const struct column *other = t->columns;

    if (table_column(t, c->name))
        return error_set(err, RAYTRAIN_EINVAL, "column \"%s\" is there twice", c->name);
    if (t->n_columns && rows != t->rows)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "columns of different length: \"%s\" has %llu rows (%s), "
            "\"%s\" has %llu (%s)",
            other->name, (unsigned long long)t->rows,
            extent_path(t, other->n_extents ? &t->extents[other->extent] : NULL),
            c->name, (unsigned long long)rows, extent_path(t, first));
    return 0;
}

/* Check the extents, and add them after those of the other columns. */
static int extents_add(struct table *t, struct column *c, const struct extent extents[],
                       size_t n, uint64_t *rows, struct error *err)
{
    size_t at = c->extent;

    *rows = 0;
    for (size_t i = 0; i < n; i++) {
        struct extent e = extents[i];

        e.first = *rows;
        if (extent_check(t, c, &e, err) < 0)
            return -1;
        if (e.rows == 0)
            continue;
        if (array_double((void **)&t->extents, at, sizeof e, err) < 0)
            return -1;
        t->extents[at++] = e;
        *rows += e.rows;
    }
    c->n_extents = at - c->extent;
    return 0;
}

/* The code of a name is the index of its column. */
static int table_name_add(struct table *t, const char *name, struct error *err)
{
    int32_t code;

    if (t->n_columns == 0 && !t->names)
        t->names = dictionary_create();
    return t->names ? dictionary_add(t->names, name, strlen(name), &code, err) : 0;
}

int table_add_column(struct table *t, const struct column *column,
                     const struct extent extents[], size_t n_extents, struct error *err)
{
    struct column c = *column;
    uint64_t bytes, rows;

    c.row.data = NULL;
    c.extent = t->n_extents;
    if (!tensor_bytes(&c.row, &bytes) || bytes > SIZE_MAX)
        return error_set(err, RAYTRAIN_ECORRUPT, "column \"%s\": impossible shape",
                         c.name);
    c.row_bytes = column_ragged(&c) ? sizeof(struct row_place) : (size_t)bytes;
    if (extents_add(t, &c, extents, n_extents, &rows, err) < 0 ||
        table_column_check(t, &c, n_extents ? extents : NULL, rows, err) < 0 ||
        array_double((void **)&t->columns, t->n_columns, sizeof c, err) < 0 ||
        table_name_add(t, c.name, err) < 0)
        return -1;
    t->rows = rows;
    t->columns[t->n_columns++] = c;
    t->n_extents += c.n_extents;
    return 0;
}

const struct column *table_column(const struct table *t, const char *name)
{
    int32_t code;

    if (t->names) {
        code = dictionary_find(t->names, name, strlen(name));
        return code < 0 ? NULL : &t->columns[code];
    }
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
        bool used = t->selection == i + 1;

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

static void sources_map(struct table *t)
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

/* The cache has room for one band of each column at least: batches take rows of all of
 * them in turn. */
static int cache_create(struct table *t, struct error *err)
{
    size_t bands = CACHE_BANDS;
    uint64_t bytes = 0;

    for (size_t i = 0; i < t->n_columns; i++) {
        const struct column *c = &t->columns[i];
        uint64_t most = 0;

        for (size_t k = c->extent; k < c->extent + c->n_extents; k++)
            if (t->extents[k].packing) {
                const struct packing *p = &t->packings[t->extents[k].packing - 1];
                uint64_t band = packing_band_bytes(p);

                most = band > most ? band : most;
            }
        bytes += most;
        bands += most > 0;
    }
    t->cache = packing_cache_create(bands, bytes < CACHE_BYTES ? CACHE_BYTES : bytes);
    return t->cache ? 0 : error_no_memory(err);
}

static void packings_number(struct table *t)
{
    for (size_t i = 0; i < t->n_columns; i++)
        for (size_t k = 0; k < t->columns[i].n_extents; k++) {
            const struct extent *e = &t->extents[t->columns[i].extent + k];

            if (e->packing)
                t->packings[e->packing - 1].column = (unsigned)i;
        }
    for (size_t i = 0; i < t->n_packings; i++)
        t->packings[i].number = i;
}

int table_ready(struct table *t, struct error *err)
{
    sources_map(t);
    packings_number(t);
    if (t->selection) {
        const struct source *s = &t->sources[t->selection - 1];

        if (!s->map || s->size / sizeof *t->selected < t->rows)
            return error_set(
                err, RAYTRAIN_ENOMEM,
                "no memory to map the numbers of the rows that pass the filter");
        t->selected = (const uint64_t *)(const void *)s->map;
    }
    if (t->n_packings && !t->cache && cache_create(t, err) < 0)
        return -1;
    if (t->cache)
        packing_cache_share(t->cache, t->store);
    return 0;
}

void table_truncate(struct table *t, uint64_t rows)
{
    for (size_t i = 0; i < t->n_extents; i++) {
        struct extent *e = &t->extents[i];
        uint64_t left = e->first < rows ? rows - e->first : 0;

        e->rows = e->rows < left ? e->rows : left;
    }
    for (size_t i = 0; i < t->n_columns; i++) {
        struct column *c = &t->columns[i];

        while (c->n_extents > 0 && t->extents[c->extent + c->n_extents - 1].rows == 0)
            c->n_extents--;
    }
    t->rows = rows;
}

void table_remove_column(struct table *t, size_t index)
{
    struct column *c = &t->columns[index];

    dictionary_destroy(t->names); /* the codes are no longer the indices */
    t->names = NULL;
    dictionary_destroy(c->words);
    memmove(c, c + 1, (t->n_columns - index - 1) * sizeof *c);
    t->n_columns--;
}

static int chunks_check(const struct source *s, const struct packed_chunk *chunks,
                        uint64_t n, struct error *err)
{
    for (uint64_t i = 0; i < n; i++)
        if (chunks[i].bytes > s->size || chunks[i].offset > s->size - chunks[i].bytes)
            return error_set(err, RAYTRAIN_ECORRUPT,
                             "%s: a chunk lies behind the file's %llu bytes: it is "
                             "truncated or damaged",
                             s->path, (unsigned long long)s->size);
    return 0;
}

int table_add_packing(struct table *t, const struct packing *packing,
                      const struct packed_chunk *chunks, size_t source, size_t *number,
                      struct error *err)
{
    const struct source *s = &t->sources[source];
    struct packed_chunk *grown;
    uint64_t band, n;

    if (!packing_count(packing, &band, &n) || n > SIZE_MAX / 2 - t->n_chunks)
        return error_set(err, RAYTRAIN_ECORRUPT, "%s: impossible chunks", s->path);
    if (chunks_check(s, chunks, n, err) < 0 ||
        array_grow((void **)&t->packings, t->n_packings, sizeof *packing, err) < 0)
        return -1;
    grown = reallocarray(t->chunks, t->n_chunks + n + 1, sizeof *grown);
    if (!grown)
        return error_no_memory(err);
    t->chunks = grown;
    memcpy(grown + t->n_chunks, chunks, n * sizeof *grown);
    t->packings[t->n_packings] = *packing;
    t->packings[t->n_packings].first = t->n_chunks;
    t->n_chunks += n;
    *number = ++t->n_packings;
    return 0;
}

void table_clear(struct table *t)
{
    packing_cache_destroy(t->cache);
    band_store_detach(t->store);
    free(t->packings);
    free(t->chunks);
    for (size_t i = 0; i < t->n_sources; i++)
        source_close(&t->sources[i]);
    for (size_t i = 0; i < t->n_columns; i++)
        dictionary_destroy(t->columns[i].words);
    dictionary_destroy(t->names);
    free(t->sources);
    free(t->columns);
    free(t->extents);
    *t = (struct table){0};
}
