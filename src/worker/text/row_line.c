/* row_line.c - counts records or lines up to a row. csv_scan.c scans CSV. */
#include "text/row_line.h"

#include <stdlib.h>
#include <string.h>

#include "text/csv_heads.h"
#include "text/csv_scan.h"
#include "text/line_range.h"

#define BLOCK_BYTES ((size_t)256 * 1024)

static int row_line_fail(struct error *err)
{
    return error_set(err, RAYTRAIN_ENOTFOUND, "the row does not exist");
}

/* ---- CSV ---- */

struct search {
    uint64_t left;  /* rows that come before the searched one */
    uint64_t begin; /* where the present record begins */
    enum csv_state state;
};

/* True if the searched row is the record that begins at s->begin. */
static bool block_search(struct search *s, char delimiter, const char *bytes, size_t n,
                         uint64_t at)
{
    bool record;

    for (size_t used = 0; used < n;) {
        if (s->state == CSV_RECORD)
            s->begin = at + used;
        used += csv_scan_line(delimiter, &s->state, bytes + used, n - used, &record);
        if (record && s->left-- == 0)
            return true;
    }
    return false;
}

/* 1 if the row is in file i; *out is its line. 0 if it is in a later file. */
static int csv_file_search(const struct csv_files *files, size_t i, struct search *s,
                           char *bytes, struct row_line *out, struct error *err)
{
    uint64_t at = (uint64_t)files->starts[i], end = (uint64_t)files->sizes[i];
    struct text_file f = TEXT_FILE_INIT;
    int rc = csv_files_open(files, i, &f, err);
    bool found = false;

    s->state = CSV_RECORD;
    while (rc == 0 && !found && at < end) {
        size_t n = end - at < BLOCK_BYTES ? (size_t)(end - at) : BLOCK_BYTES;

        rc = text_read(&f, bytes, n, at, err);
        found = rc == 0 && block_search(s, files->delimiter, bytes, n, at);
        at += n;
    }
    /* The last record may end without an end of line. */
    if (rc == 0 && !found && s->state > CSV_BLANKS)
        found = s->left-- == 0;
    out->source = i;
    if (rc == 0 && found)
        rc = text_line(&f, s->begin, &out->line) < 0 ? row_line_fail(err) : 1;
    text_close(&f);
    return rc;
}

int csv_row_line(const struct text_source sources[], size_t n, char delimiter,
                 bool header, uint64_t row, struct row_line *out, struct error *err)
{
    struct comm *self = comm_self_create(err);
    struct search s = {.left = row};
    struct csv_files files = {0};
    char *bytes = malloc(BLOCK_BYTES);
    int rc = self ? 0 : -1;

    if (rc == 0 && !bytes)
        rc = error_no_memory(err);
    if (rc == 0)
        rc = csv_files_look(self, &files, sources, n, delimiter, header, err);
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = csv_file_search(&files, i, &s, bytes, out, err);
    csv_files_clear(&files);
    free(bytes);
    comm_free(self);
    return rc > 0 ? 0 : rc < 0 ? -1 : row_line_fail(err);
}

/* ---- Lines ---- */

struct line_search {
    uint64_t (*count)(const char *line, size_t n);
    uint64_t left;
    struct row_line *out;
    bool found;
};

static int lines_search(void *arg, const struct line_block *block, struct error *err)
{
    struct line_search *s = arg;
    const char *at = block->bytes, *end = at + block->n, *next;

    for (; at < end; at = next) {
        const char *last = memchr(at, '\n', (size_t)(end - at));

        next = last ? last + 1 : end;
        if (s->count(at, (size_t)(next - at)) == 0 || s->left-- > 0)
            continue;
        s->found = true;
        s->out->source = block->source;
        return text_line(block->file, block->at + (uint64_t)(at - block->bytes),
                         &s->out->line) < 0
                   ? row_line_fail(err)
                   : 1;
    }
    return 0;
}

int line_row_line(const struct text_source sources[], size_t n,
                  uint64_t (*count)(const char *line, size_t n), uint64_t row,
                  struct row_line *out, struct error *err)
{
    struct comm *self = comm_self_create(err);
    struct line_search s = {.count = count, .left = row, .out = out};
    struct line_range range = {0};
    int rc = self ? line_range_init(self, &range, sources, n, 0, err) : -1;

    if (rc == 0)
        rc = line_range_each(&range, lines_search, &s, err);
    line_range_clear(&range);
    comm_free(self);
    if (rc < 0)
        return -1;
    return s.found ? 0 : row_line_fail(err);
}
