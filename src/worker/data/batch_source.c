/*
 * batch_source.c - decides how each batch is read: by window_reader.c, window_rows.c or
 * batch.c.
 */
#include "data/batch_source.h"

#include <stdlib.h>

#include "data/window_reader.h"
#include "data/window_rows.h"

struct batch_source {
    const struct table *table;
    uint64_t seed;
    int rank, size;
    bool lend;
    bool even;      /* all rows of a column have the same number of elements */
    uint64_t epoch; /* of the order, if order.n is not 0 */
    struct epoch_order order;
    struct epoch_order next; /* of the epoch after it; n == 0: it is not prepared */
    struct window_reader *windows; /* NULL until there is an order with windows, */
    struct window_rows *uneven;    /* and the same for rows that are not even */
};

int batch_source_create(const struct table *t, uint64_t seed, int rank, int size,
                        bool lend, struct batch_source **out, struct error *err)
{
    struct batch_source *s = calloc(1, sizeof *s);

    if (!s)
        return error_no_memory(err);
    s->table = t;
    s->seed = seed;
    s->rank = rank;
    s->size = size;
    s->lend = lend;
    s->even = window_reader_can(t);
    *out = s;
    return 0;
}

void batch_source_destroy(struct batch_source *s)
{
    if (!s)
        return;
    window_reader_destroy(s->windows);
    window_rows_destroy(s->uneven);
    epoch_order_clear(&s->order);
    epoch_order_clear(&s->next);
    free(s);
}

uint64_t batch_padding(const struct batch_job *job, uint64_t rows, int rank, int size)
{
    return job->pad
               ? job->batch -
                     position_portion(rows, job->position, job->batch, rank, size).count
               : 0;
}

/* The padding of all ranks is one series of rows, from the epoch's start on. A rank's
 * rows follow those of the ranks before it; each takes as many as it lacks. */
static struct batch_rows rows_of(struct batch_source *s, const struct batch_job *job)
{
    uint64_t n = s->table->rows;
    struct portion p = position_portion(n, job->position, job->batch, s->rank, s->size);
    struct batch_rows rows = {.order = &s->order, .first = p.first, .count = p.count};
    uint64_t before = p.first - job->position, lack = job->batch % n;

    rows.padding = batch_padding(job, n, s->rank, s->size);
    if (rows.padding > 0)
        rows.again = ((unsigned __int128)lack * (uint64_t)s->rank + n - before % n) % n;
    return rows;
}

static bool kind_equal(const struct order_kind *a, const struct order_kind *b)
{
    return a->block == b->block && a->window == b->window;
}

/* Begin the next epoch, which was prepared. */
static void order_turn(struct batch_source *s)
{
    struct epoch_order before = s->order;

    s->order = s->next;
    s->next = before;
    if (s->windows)
        window_reader_turn(s->windows);
}

/* Change to the epoch of the job. */
static int order_change(struct batch_source *s, const struct batch_job *job,
                        struct error *err)
{
    if (s->uneven)
        window_rows_reset(s->uneven);
    if (s->next.n && job->epoch == s->epoch + 1 &&
        kind_equal(&s->next.kind, &job->kind)) {
        order_turn(s);
        return 0;
    }
    if (s->windows)
        window_reader_reset(s->windows);
    return epoch_order_set(&s->order, s->table->rows, &job->kind, s->seed, job->epoch,
                           err);
}

/* Prepare the order of the epoch after the job's, if its first window can be read
 * ahead. */
static void next_prepare(struct batch_source *s, const struct batch_job *job)
{
    s->next.n = 0;
    if (s->even && epoch_order_windowed(&s->order) && job->next_kind.window > 0 &&
        epoch_order_set(&s->next, s->table->rows, &job->next_kind, s->seed,
                        job->epoch + 1, NULL) < 0)
        s->next.n = 0; /* it is read when it begins */
}

static int order_follow(struct batch_source *s, const struct batch_job *job,
                        struct error *err)
{
    if (s->order.n && s->epoch == job->epoch && kind_equal(&s->order.kind, &job->kind))
        return 0;
    if (order_change(s, job, err) < 0) {
        s->order.n = 0;
        return -1;
    }
    s->epoch = job->epoch;
    next_prepare(s, job);
    return 0;
}

/* A batch that has more rows than the table, and one with padding if rows are not even,
 * is read row by row. */
static bool windows_usable(const struct batch_source *s, const struct batch_rows *rows)
{
    return epoch_order_windowed(&s->order) &&
           (rows->padding == 0 ||
            (s->even && rows->padding + rows->count <= s->table->rows));
}

static int uneven_read(struct batch_source *s, const struct batch_job *job,
                       struct frame *f, struct error *err)
{
    if (!s->uneven &&
        window_rows_create(s->table, s->rank, s->size, &s->uneven, err) < 0)
        return -1;
    return window_rows_read(s->uneven, &s->order, job->position, job->batch, f, err);
}

static int windows_read(struct batch_source *s, const struct batch_job *job,
                        const struct batch_rows *rows, struct frame *f,
                        struct error *err)
{
    struct epoch_orders orders = {&s->order, s->next.n ? &s->next : NULL};
    struct window_place at = {job->position, job->batch};
    uint64_t n = rows->count + rows->padding;

    if (!s->even)
        return uneven_read(s, job, f, err);
    if (!s->windows &&
        window_reader_create(s->table, s->rank, s->size, s->lend, &s->windows, err) < 0)
        return -1;
    if (window_reader_read(s->windows, &orders, &at, n, f, err) < 0 ||
        batch_read_part(f, s->table, rows, rows->count, n, err) < 0)
        return -1;
    f->rows = n;
    return 0;
}

int batch_source_read(struct batch_source *s, const struct batch_job *job,
                      struct frame *f, struct error *err)
{
    struct batch_rows rows;

    if (order_follow(s, job, err) < 0)
        return -1;
    rows = rows_of(s, job);
    if ((windows_usable(s, &rows) ? windows_read(s, job, &rows, f, err)
                                  : batch_read(f, s->table, &rows, err)) < 0)
        return -1;
    return batch_check(f, s->table, err);
}
