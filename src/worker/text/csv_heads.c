/*
 * csv_heads.c - see csv_heads.h. Each rank looks at some of the files. All files must
 * be like the first one that is not empty.
 */
#include "text/csv_heads.h"

#include <stdlib.h>
#include <string.h>

#include "util/quote.h"

#define HEAD_BYTES ((size_t)64 * 1024) /* more if the header is longer */

/* The first record of a file. */
struct head {
    bool any;    /* there is a record, and nothing else was asked */
    size_t mark; /* bytes of the byte order mark */
    struct csv_names names;
    uint64_t after; /* where the next record may begin */
};

static int64_t *heads_zeros(size_t n, struct error *err)
{
    int64_t *numbers = calloc(n + 1, sizeof *numbers);

    if (!numbers)
        error_set(err, RAYTRAIN_ENOMEM, "out of memory for %zu files", n);
    return numbers;
}

void csv_files_clear(struct csv_files *files)
{
    free(files->starts);
    free(files->sizes);
    csv_names_clear(&files->names);
    *files = (struct csv_files){0};
}

int csv_files_open(const struct csv_files *files, size_t i, struct text_file *f,
                   struct error *err)
{
    if (text_open(f, &files->sources[i], err) < 0)
        return -1;
    if (f->size == (uint64_t)files->sizes[i])
        return 0;
    f->size = (uint64_t)files->sizes[i];
    text_unchanged(f, err);
    text_close(f);
    return -1;
}

/* True if there is a record, with any delimiter. */
static bool any_record(const char *bytes, size_t n, bool *cut)
{
    struct csv_cursor c = {.at = bytes, .end = bytes + n};
    bool any = csv_record_find(&c, c.end);

    *cut = !any;
    return any;
}

/* Parse the head of a file from its first n bytes. If *delimiter is 0, it is
 * guessed. */
static int head_parse(struct head *h, const struct text_file *f, char *delimiter,
                      const char *bytes, size_t n, bool *cut, struct error *err)
{
    bool last = n == f->size;
    size_t used;

    if (text_mark(f, bytes, n, &h->mark, err) < 0)
        return -1;
    if (h->any) {
        h->any = any_record(bytes + h->mark, n - h->mark, cut);
        *cut = *cut && !last;
        return 0;
    }
    if (!*delimiter)
        *delimiter = csv_delimiter_guess(bytes + h->mark, n - h->mark, last);
    if (csv_names_read(*delimiter, bytes + h->mark, n - h->mark, last, &h->names, &used,
                       cut, err) < 0)
        return error_prefix(err, "%s", f->name);
    h->after = h->mark + used;
    return 0;
}

static int head_read(const struct text_file *f, struct head *h, char *delimiter,
                     struct error *err)
{
    char *bytes = NULL, given = *delimiter;
    bool cut = true, any = h->any;
    int rc = 0;

    for (size_t room = HEAD_BYTES; rc == 0 && cut; room *= 4) {
        size_t n = f->size < room ? (size_t)f->size : room;

        free(bytes);
        bytes = n <= CSV_RECORD_MAX ? malloc(n + 1) : NULL;
        *delimiter = given;
        h->any = any;
        if (!bytes)
            rc = error_set(err, RAYTRAIN_EINVAL,
                           "%s: the header is too long; is this CSV?", f->name);
        else
            rc = text_read(f, bytes, n, 0, err);
        if (rc == 0)
            rc = head_parse(h, f, delimiter, bytes, n, &cut, err);
    }
    free(bytes);
    return rc;
}

/* ---- Each file on one rank ---- */

struct look {
    struct comm *comm;
    struct csv_files *files;
    bool header;
    int64_t *records; /* for each file, whether it has a record */
};

/* What to do with file i. */
typedef int (*look_func)(struct look *l, size_t i, const struct text_file *f,
                         struct error *err);

/* COLLECTIVE: call func for each file that has a record, or, if that is not known yet,
 * for all files. */
static int look_at(struct look *l, look_func func, bool all, struct error *err)
{
    int rc = 0;

    for (size_t i = (size_t)l->comm->rank; i < l->files->n && rc == 0;
         i += (size_t)l->comm->size) {
        struct text_file f = TEXT_FILE_INIT;

        if (!all && !l->records[i])
            continue;
        rc = text_open(&f, &l->files->sources[i], err);
        if (rc == 0)
            rc = func(l, i, &f, err);
        text_close(&f);
    }
    return comm_agree(l->comm, rc, err);
}

static int heads_size_note(struct look *l, size_t i, const struct text_file *f,
                           struct error *err)
{
    struct head h = {.any = true};
    char any = ',';
    int rc = head_read(f, &h, &any, err);

    l->files->sizes[i] = (int64_t)f->size;
    l->records[i] = h.any;
    return rc;
}

static int start_note(struct look *l, size_t i, const struct text_file *f,
                      struct error *err)
{
    const struct csv_names *names = &l->files->names;
    char delimiter = l->files->delimiter;
    struct head h = {0};
    int rc = head_read(f, &h, &delimiter, err);

    l->files->starts[i] = (int64_t)(l->header ? h.after : h.mark);
    if (rc == 0 && l->header &&
        (h.names.length != names->length || h.names.n != names->n ||
         memcmp(h.names.text, names->text, names->length) != 0))
        rc = error_set(
            err, RAYTRAIN_EINVAL,
            "%s has another header than the files before it; files of one dataset "
            "have the same columns in the same order",
            f->name);
    csv_names_clear(&h.names);
    return rc;
}

/* COLLECTIVE: send what rank 0 found in the first file that has a record. */
static int first_share(struct look *l, size_t first, struct error *err)
{
    struct csv_files *files = l->files;
    int root = (int)(first % (size_t)l->comm->size), rc = 0;
    struct {
        char delimiter;
        size_t length, n;
    } found = {0};
    struct text_file f = TEXT_FILE_INIT;
    struct head h = {0};
    void *text;

    if (l->comm->rank == root) {
        rc = text_open(&f, &files->sources[first], err);
        if (rc == 0)
            rc = head_read(&f, &h, &files->delimiter, err);
        text_close(&f);
        files->names = h.names;
        found.delimiter = files->delimiter;
        found.length = h.names.length;
        found.n = h.names.n;
    }
    if (comm_agree(l->comm, rc, err) < 0 ||
        l->comm->ops->bcast(l->comm, &found, sizeof found, root, err) < 0)
        return -1;
    text = files->names.text;
    rc = comm_bcast_alloc(l->comm, &text, found.length, root, err);
    files->delimiter = found.delimiter;
    files->names =
        (struct csv_names){.text = text, .length = found.length, .n = found.n};
    return rc;
}

static int sum(struct look *l, int64_t *numbers, struct error *err)
{
    return l->comm->ops->allreduce(l->comm, numbers, l->files->n, COMM_INT64, COMM_SUM,
                                   err);
}

static int heads_look(struct look *l, struct error *err)
{
    struct csv_files *files = l->files;
    size_t first = 0;

    if (look_at(l, heads_size_note, true, err) < 0 || sum(l, files->sizes, err) < 0 ||
        sum(l, l->records, err) < 0)
        return -1;
    while (first < files->n && !l->records[first])
        first++;
    if (first == files->n)
        return error_set(err, RAYTRAIN_EINVAL, "%s is empty: it does not have a header",
                         files->sources[0].name ? files->sources[0].name
                                                : files->sources[0].path);
    if (first_share(l, first, err) < 0 || look_at(l, start_note, false, err) < 0 ||
        sum(l, files->starts, err) < 0)
        return -1;
    for (size_t i = 0; i < files->n; i++) {
        if (!l->records[i])
            files->starts[i] = files->sizes[i];
    }
    return 0;
}

int csv_files_look(struct comm *comm, struct csv_files *files,
                   const struct text_source sources[], size_t n, char delimiter,
                   bool header, struct error *err)
{
    struct look l = {.comm = comm, .files = files, .header = header};
    int rc = 0;

    *files = (struct csv_files){.sources = sources, .n = n, .delimiter = delimiter};
    if (n == 0)
        return error_set(err, RAYTRAIN_EINVAL, "there is no file to read");
    files->starts = heads_zeros(n, err);
    files->sizes = heads_zeros(n, err);
    l.records = heads_zeros(n, err);
    if (!files->starts || !files->sizes || !l.records)
        rc = -1;
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = heads_look(&l, err);
    free(l.records);
    return rc;
}
