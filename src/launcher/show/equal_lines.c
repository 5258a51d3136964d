/* equal_lines.c - lines that wait for other ranks, in a ring, and the ranks that have
 * printed each of them. */
#include "show/equal_lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/clock.h"

#define WAITING_MAX 512 /* lines */
#define WAIT_S      0.5 /* for other ranks */

struct waiting {
    uint64_t number;
    double since;
    bool is_error;
    int n_in;
    bool *in;
    char *text;
    size_t n;
};

struct equal_lines {
    int workers, chosen;
    equal_lines_emit *emit;
    void *arg;
    struct waiting lines[WAITING_MAX]; /* a ring, the oldest first */
    size_t first, n;
    uint64_t next;     /* the number of the next line, from 1 on */
    uint64_t latest[]; /* of each rank: its latest line, 0: none */
};

struct equal_lines *equal_lines_create(int workers, int chosen, equal_lines_emit *emit,
                                       void *arg)
{
    struct equal_lines *e =
        calloc(1, sizeof *e + (size_t)workers * sizeof e->latest[0]);

    if (!e)
        return NULL;
    e->workers = workers;
    e->chosen = chosen;
    e->emit = emit;
    e->arg = arg;
    e->next = 1;
    return e;
}

static struct waiting *line_at(struct equal_lines *e, size_t i)
{
    return &e->lines[(e->first + i) % WAITING_MAX];
}

static void oldest_emit(struct equal_lines *e)
{
    struct waiting *w = line_at(e, 0);

    e->emit(e->arg, w->is_error, w->in, w->n_in, w->text, w->n);
    free(w->in);
    free(w->text);
    *w = (struct waiting){0};
    e->first = (e->first + 1) % WAITING_MAX;
    e->n--;
}

/* The same line, waiting from another rank, and later than what this rank printed
 * last. */
static struct waiting *line_find(struct equal_lines *e, int rank, bool is_error,
                                 const char *text, size_t n)
{
    for (size_t i = 0; i < e->n; i++) {
        struct waiting *w = line_at(e, i);

        if (w->number > e->latest[rank] && w->is_error == is_error && w->n == n &&
            memcmp(w->text, text, n) == 0)
            return w;
    }
    return NULL;
}

/* Without memory, the line is emitted alone. */
static struct waiting *line_append(struct equal_lines *e, bool is_error,
                                   const char *text, size_t n)
{
    struct waiting w = {.since = clock_now(), .is_error = is_error, .n = n};

    if (e->n == WAITING_MAX)
        oldest_emit(e);
    w.in = calloc((size_t)e->workers, sizeof *w.in);
    w.text = malloc(n + 1);
    if (!w.in || !w.text) {
        free(w.in);
        free(w.text);
        return NULL;
    }
    memcpy(w.text, text, n);
    w.text[n] = '\0';
    w.number = e->next++;
    *line_at(e, e->n) = w;
    return line_at(e, e->n++);
}

void equal_lines_add(struct equal_lines *e, int rank, bool is_error, const char *text,
                     size_t n)
{
    struct waiting *w;

    if (rank < 0 || rank >= e->workers)
        return;
    w = line_find(e, rank, is_error, text, n);
    if (!w && !(w = line_append(e, is_error, text, n)))
        return;
    w->in[rank] = true;
    w->n_in++;
    e->latest[rank] = w->number;
    equal_lines_flush(e, false);
}

bool equal_lines_flush(struct equal_lines *e, bool all)
{
    double now = clock_now();

    while (e->n > 0) {
        const struct waiting *w = line_at(e, 0);

        if (!all && w->n_in < e->chosen && now - w->since < WAIT_S)
            return false;
        oldest_emit(e);
    }
    return true;
}

void equal_lines_destroy(struct equal_lines *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < e->n; i++) {
        free(line_at(e, i)->in);
        free(line_at(e, i)->text);
    }
    free(e);
}
