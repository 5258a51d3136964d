/*
 * numpy_words.c - finds the words of each column of an archive, and adds the columns.
 * zip_members.c finds the members of archives.
 */
#include "table/numpy_words.h"

#include <stdlib.h>
#include <string.h>

#include "table/expansion.h"
#include "util/fs.h"
#include "util/memory.h"

/* ---- The member ---- */

static int numpy_words_damaged(const char *path, struct error *err)
{
    return error_set(err, RAYTRAIN_ECORRUPT, "%s: its words are damaged", path);
}

/* The next column at *at; false at the end, and if it does not fit into the bytes. */
static bool numpy_word_next(const struct numpy_words *w, size_t *at, const char **name,
                            uint32_t *length, struct packed_words *words)
{
    size_t left = w->n - *at;
    uint64_t size;

    if (left < sizeof *length)
        return false;
    memcpy(length, w->bytes + *at, sizeof *length);
    left -= sizeof *length;
    if (*length > left || left - *length < sizeof size)
        return false;
    *name = (const char *)w->bytes + *at + sizeof *length;
    left -= *length + sizeof size;
    memcpy(&size, *name + *length, sizeof size);
    if (size > left)
        return false;
    words->bytes = (const unsigned char *)*name + *length + sizeof size;
    words->n = (size_t)size;
    *at = w->n - left + words->n;
    return true;
}

static int member_check(const struct numpy_words *w, const char *path,
                        struct error *err)
{
    struct packed_words words;
    const char *name;
    uint32_t length;
    size_t at = 0;

    while (numpy_word_next(w, &at, &name, &length, &words))
        ;
    return at == w->n ? 0 : numpy_words_damaged(path, err);
}

static int member_read(const struct source *s, const struct zip_member *m,
                       struct numpy_words *out, struct error *err)
{
    uint64_t at;

    if (zip_locate(s, m, &at, err) < 0)
        return -1;
    out->bytes = m->bytes < memory_available() ? malloc(m->bytes + 1) : NULL;
    if (!out->bytes)
        return error_set(err, RAYTRAIN_EFIT,
                         "%s: its words take %.1f MiB, more than the free memory",
                         s->path, (double)m->bytes / 1048576);
    out->n = m->bytes;
    if (m->method != 0)
        return zip_expand(s, m, at, out->bytes, err);
    if (fs_pread_full(s->fd, out->bytes, out->n, at) < 0)
        return fs_error(err, "read", s->path);
    return 0;
}

int numpy_words_read(const struct source *s, const struct zip_members *members,
                     struct words_union *into, struct numpy_words *out,
                     struct error *err)
{
    *out = (struct numpy_words){.into = into};
    for (size_t i = 0; i < members->n; i++) {
        if (strcmp(members->all[i].name, NUMPY_WORDS) != 0)
            continue;
        if (member_read(s, &members->all[i], out, err) < 0)
            return -1;
        return member_check(out, s->path, err);
    }
    return 0;
}

void numpy_words_clear(struct numpy_words *w)
{
    free(w->bytes);
    *w = (struct numpy_words){.bytes = NULL};
}

bool numpy_words_find(const struct numpy_words *w, const char *column,
                      struct packed_words *out)
{
    size_t n = strlen(column), at = 0;
    const char *name;
    uint32_t length;

    while (w->bytes && numpy_word_next(w, &at, &name, &length, out))
        if (length == n && memcmp(name, column, n) == 0)
            return true;
    return false;
}

/* ---- A column ---- */

/* Turn codes of the file into those of the union. */
static int codes_renumber(int32_t *codes, uint64_t rows, const int32_t *change,
                          size_t words, const char *what, struct error *err)
{
    for (uint64_t i = 0; i < rows; i++) {
        if (codes[i] < -1 || codes[i] >= (int64_t)words)
            return error_set(err, RAYTRAIN_EINVAL,
                             "%s: row %llu has the code %d, and there are %zu words",
                             what, (unsigned long long)i, codes[i], words);
        if (codes[i] >= 0)
            codes[i] = change[codes[i]];
    }
    return 0;
}

static int codes_take(const struct packed_words *packed, struct dictionary *words,
                      int32_t *codes, uint64_t rows, const char *what,
                      struct error *err)
{
    /* A word takes four bytes at least. */
    int32_t *change = malloc(packed->n + sizeof *change);
    size_t n = 0;
    int rc;

    if (!change)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for words");
    for (size_t at = 0; at < packed->n; n++) {
        uint32_t length = 0;

        memcpy(&length, packed->bytes + at,
               packed->n - at < sizeof length ? packed->n - at : sizeof length);
        at += sizeof length + length;
    }
    rc = dictionary_unpack(words, packed->bytes, packed->n, change, err);
    if (rc == 0)
        rc = codes_renumber(codes, rows, change, n, what, err);
    free(change);
    return rc;
}

int numpy_words_add(const struct numpy_words *w, const struct packed_words *packed,
                    const char *column, const char *what, struct table *t,
                    const struct extent *codes, struct error *err)
{
    struct dictionary *words = words_union_get(w->into, column, err);
    const struct source from = t->sources[codes->source];
    struct extent e = {.rows = codes->rows};
    struct column c = {.kind = FRAME_WORDS, .row = {.dtype = RAYTRAIN_INT32}};
    struct expansion x;

    if (!words)
        return -1;
    strcpy(c.name, column);
    if (e.rows == 0)
        return table_add_column(t, &c, &e, 1, err);
    if (expansion_begin(&x, e.rows * sizeof(int32_t), from.path, err) < 0)
        return -1;
    if (fs_pread_full(from.fd, x.bytes, x.size, codes->offset) < 0) {
        expansion_abandon(&x);
        return fs_error(err, "read", from.path);
    }
    if (codes_take(packed, words, (int32_t *)(void *)x.bytes, e.rows, what, err) < 0) {
        expansion_abandon(&x);
        return -1;
    }
    if (expansion_set_aside(&x, t, &e.source, err) < 0)
        return -1;
    return table_add_column(t, &c, &e, 1, err);
}
