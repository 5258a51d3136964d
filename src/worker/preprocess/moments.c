/*
 * moments.c - see moments.h. A block of rows, which fits into the second-level cache,
 * is read twice: for its mean, and for the deviations from it. Then it is merged into
 * the moments of the rows before. Within a block, differences from a value close to the
 * mean are summed.
 */
#include "preprocess/moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/reals.h"

#define LANES_MIN      256
#define BLOCK_ELEMENTS 16384

int moments_create(struct moments *m, size_t width, struct error *err)
{
    *m = (struct moments){.width = width};
    m->lanes = width * ((LANES_MIN + width - 1) / (width ? width : 1));
    m->of = calloc(width + 1, sizeof *m->of);
    m->shift = calloc(4 * m->lanes + 1, sizeof *m->shift);
    if (!m->of || !m->shift) {
        moments_free(m);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for statistics");
    }
    m->count = m->shift + m->lanes;
    m->sum = m->count + m->lanes;
    m->square = m->sum + m->lanes;
    return 0;
}

void moments_free(struct moments *m)
{
    free(m->of);
    free(m->shift);
    *m = (struct moments){.width = 0};
}

struct moment moment_merge(struct moment a, struct moment b)
{
    double n = a.n + b.n, delta = b.mean - a.mean;

    if (a.n == 0)
        return b;
    if (b.n == 0)
        return a;
    return (struct moment){.n = n,
                           .mean = a.mean + delta * (b.n / n),
                           .m2 = a.m2 + b.m2 + delta * delta * (a.n * b.n / n)};
}

/* Add a run of elements to the sums, one element to each lane. */
static void moments_lanes_add(size_t n, const double *restrict x,
                              const double *restrict shift, double *restrict count,
                              double *restrict sum, double *restrict square)
{
    for (size_t i = 0; i < n; i++) {
        bool there = x[i] == x[i];
        double d = there ? x[i] - shift[i] : 0;

        count[i] += there ? 1 : 0;
        sum[i] += d;
        square[i] += d * d;
    }
}

/* Sum elements first .. first + n - 1; `first` is the first element of a row. */
static void block_sweep(struct moments *m, const struct frame_column *c, size_t first,
                        size_t n)
{
    double x[REALS_BLOCK];

    memset(m->count, 0, 3 * m->lanes * sizeof *m->count);
    for (size_t done = 0, step; done < n; done += step) {
        size_t lane = done % m->lanes;

        step = n - done < REALS_BLOCK ? n - done : REALS_BLOCK;
        if (step > m->lanes - lane)
            step = m->lanes - lane;
        reals_load(c, first + done, step, x);
        moments_lanes_add(step, x, m->shift + lane, m->count + lane, m->sum + lane,
                          m->square + lane);
    }
}

static struct moment lanes_fold(const struct moments *m, size_t element)
{
    double n = 0, sum = 0, square = 0;

    for (size_t i = element; i < m->lanes; i += m->width) {
        n += m->count[i];
        sum += m->sum[i];
        square += m->square[i];
    }
    if (n == 0)
        return (struct moment){.n = 0};
    return (struct moment){.n = n,
                           .mean = m->shift[element] + sum / n,
                           .m2 = fmax(0, square - sum * (sum / n))};
}

/* The first value that is not missing; 0 if all are. */
static double first_value(const struct frame_column *c, size_t width, size_t at,
                          size_t end)
{
    double value;

    for (; at < end; at += width) {
        reals_load(c, at, 1, &value);
        if (!isnan(value))
            return value;
    }
    return 0;
}

static void shift_set(struct moments *m, size_t element, double value)
{
    for (size_t i = element; i < m->lanes; i += m->width)
        m->shift[i] = value;
}

static void moments_block_add(struct moments *m, const struct frame_column *c,
                              size_t first, size_t n)
{
    for (size_t j = 0; j < m->width; j++)
        shift_set(m, j,
                  m->of[j].n > 0 ? m->of[j].mean
                                 : first_value(c, m->width, first + j, first + n));
    block_sweep(m, c, first, n);
    for (size_t j = 0; j < m->width; j++)
        shift_set(m, j, lanes_fold(m, j).mean);
    block_sweep(m, c, first, n);
    for (size_t j = 0; j < m->width; j++)
        m->of[j] = moment_merge(m->of[j], lanes_fold(m, j));
}

void moments_add(struct moments *m, const struct frame_column *c, uint64_t rows)
{
    size_t n = (size_t)rows * m->width;
    size_t block = m->lanes * ((BLOCK_ELEMENTS + m->lanes) / (m->lanes ? m->lanes : 1));

    for (size_t done = 0; done < n; done += block)
        moments_block_add(m, c, done, n - done < block ? n - done : block);
}

int moments_reduce(struct moments *m, struct comm *comm, struct error *err)
{
    struct moment *all = malloc(((size_t)comm->size * m->width + 1) * sizeof *all);
    int rc = all ? 0 : error_no_memory(err);

    rc = comm_agree(comm, rc, err);
    if (rc == 0 && m->width > 0)
        rc = comm->ops->allgather(comm, m->of, m->width * sizeof *all, all, err);
    for (size_t j = 0; rc == 0 && j < m->width; j++) {
        m->of[j] = all[j];
        for (int r = 1; r < comm->size; r++)
            m->of[j] = moment_merge(m->of[j], all[(size_t)r * m->width + j]);
    }
    free(all);
    return rc;
}
