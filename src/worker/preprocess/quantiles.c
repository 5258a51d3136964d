/*
 * quantiles.c - see quantiles.h. A quantile lies between two values of known rank, and
 * each of these is searched digit by digit. Doubles are read as integers of the same
 * order (sign, exponent, fraction). The first pass counts values by their leading 12
 * bits. Each later pass counts, by their next 11 bits, those that begin like the
 * searched value. A search ends early if all of these are equal.
 */
#include "preprocess/quantiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/reals.h"

#define FIRST_BITS 12
#define BITS       11
#define PASSES     6 /* 12 + 11 * 5 >= 64 */
#define FIRST_BINS ((size_t)1 << FIRST_BITS)
#define BINS       ((size_t)1 << BITS)

struct search {
    uint64_t prefix;        /* the leading bits that are known */
    int64_t rank;           /* of the searched value among those with this prefix */
    int64_t least, most;    /* the limits of those values, as ordered integers */
    double value, fraction; /* the quantile as a fraction from lower to upper */
    bool found;
    size_t histogram; /* of the prefix: its first index in counts */
};

/* Keys have the order of the numbers; -0 is below 0. */
static uint64_t number_key(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double key_number(uint64_t key)
{
    uint64_t bits = key >> 63 ? key & ~(UINT64_C(1) << 63) : ~key;
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The number of bits that are known before a pass, and after it. */
static int bits_before(int pass)
{
    return pass == 0 ? 0 : FIRST_BITS + BITS * (pass - 1);
}

static int bits_after(int pass)
{
    int bits = bits_before(pass + 1);

    return bits > 64 ? 64 : bits;
}

static size_t per_element(const struct quantiles *q)
{
    return 2 * q->n;
}

int quantiles_create(struct quantiles *q, size_t width, size_t n, const double *at,
                     struct error *err)
{
    *q = (struct quantiles){.width = width, .n = n, .n_counts = width * FIRST_BINS};
    memcpy(q->at, at, n * sizeof *at);
    q->searches = calloc(width * per_element(q) + 1, sizeof *q->searches);
    q->counts = calloc(q->n_counts + 1, sizeof *q->counts);
    if (q->searches && q->counts)
        return 0;
    quantiles_free(q);
    return error_set(err, RAYTRAIN_ENOMEM, "out of memory for quantiles");
}

void quantiles_free(struct quantiles *q)
{
    free(q->searches);
    free(q->counts);
    q->searches = NULL;
    q->counts = NULL;
}

/* ---- A pass ---- */

static void first_pass(struct quantiles *q, const double *x, size_t first, size_t n)
{
    size_t element = first % q->width;

    for (size_t i = 0; i < n; i++) {
        if (x[i] == x[i])
            q->counts[element * FIRST_BINS + (number_key(x[i]) >> (64 - FIRST_BITS))]++;
        element = element + 1 == q->width ? 0 : element + 1;
    }
}

/* Count the next digit of a value for each search of its prefix. Searches for the same
 * prefix follow each other, and only the first of them counts. */
static void keys_count(struct quantiles *q, struct search *s, uint64_t key)
{
    int before = bits_before(q->pass), after = bits_after(q->pass);
    uint64_t mask = (UINT64_C(1) << (after - before)) - 1;
    uint64_t prefix = key >> (64 - before);
    int64_t order = (int64_t)(key ^ UINT64_C(1) << 63);
    size_t last = SIZE_MAX;

    for (size_t k = 0; k < per_element(q); k++) {
        if (s[k].found || s[k].prefix != prefix || s[k].histogram == last)
            continue;
        last = s[k].histogram;
        q->counts[last + ((key >> (64 - after)) & mask)]++;
        s[k].least = order < s[k].least ? order : s[k].least;
        s[k].most = order > s[k].most ? order : s[k].most;
    }
}

void quantiles_add(struct quantiles *q, const struct frame_column *c, uint64_t rows)
{
    size_t n = (size_t)rows * q->width, step;
    double x[REALS_BLOCK];

    for (size_t done = 0; done < n; done += step) {
        step = n - done < REALS_BLOCK ? n - done : REALS_BLOCK;
        reals_load(c, done, step, x);
        if (q->pass == 0) {
            first_pass(q, x, done, step);
            continue;
        }
        for (size_t i = 0; i < step; i++)
            if (x[i] == x[i])
                keys_count(q, q->searches + (done + i) % q->width * per_element(q),
                           number_key(x[i]));
    }
}

/* ---- Between passes ---- */

/* Set the ranks of the two values around a quantile, as numpy does: at * (n - 1). */
static void ranks_set(struct quantiles *q, size_t element)
{
    struct search *s = q->searches + element * per_element(q);
    int64_t total = 0;

    for (size_t b = 0; b < FIRST_BINS; b++)
        total += q->counts[element * FIRST_BINS + b];
    for (size_t k = 0; k < q->n; k++) {
        double position = q->at[k] * (double)(total > 0 ? total - 1 : 0);
        int64_t low = (int64_t)floor(position);

        s[2 * k].rank = low;
        s[2 * k].fraction = position - (double)low;
        s[2 * k + 1].rank = low + 1 < total ? low + 1 : low;
        s[2 * k].value = s[2 * k + 1].value = NAN;
        s[2 * k].found = s[2 * k + 1].found = total == 0;
        s[2 * k].histogram = s[2 * k + 1].histogram = element * FIRST_BINS;
    }
}

static void search_narrow(const struct quantiles *q, struct search *s)
{
    size_t bin = 0;
    int digits = bits_after(q->pass) - bits_before(q->pass);

    if (s->found)
        return;
    while (s->rank >= q->counts[s->histogram + bin])
        s->rank -= q->counts[s->histogram + bin++];
    s->prefix = s->prefix << digits | bin;
    if (bits_after(q->pass) == 64) {
        s->found = true;
        s->value = key_number(s->prefix);
    }
}

/* End a search if all values with its prefix are equal. */
static void search_settle(struct search *s)
{
    if (s->found || s->least != s->most)
        return;
    s->found = true;
    s->value = key_number((uint64_t)s->least ^ UINT64_C(1) << 63);
}

/* Give each prefix that is still searched a histogram. */
static int histograms_make(struct quantiles *q, bool *again, struct error *err)
{
    size_t n = q->width * per_element(q), used = 0;

    for (size_t i = 0; i < n; i++) {
        struct search *s = &q->searches[i];
        bool same = i % per_element(q) > 0 && !s[-1].found && s[-1].prefix == s->prefix;

        if (s->found)
            continue;
        s->histogram = same ? s[-1].histogram : BINS * used++;
        s->least = INT64_MAX;
        s->most = INT64_MIN;
    }
    free(q->counts);
    q->n_counts = BINS * used;
    q->counts = calloc(q->n_counts + 1, sizeof *q->counts);
    *again = used > 0;
    if (!q->counts)
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for quantiles");
    return 0;
}

/* Set least and most of each search to those of all ranks. Searches that share a
 * histogram share them. */
static int limits_reduce(struct quantiles *q, struct comm *comm, struct error *err)
{
    size_t n = q->width * per_element(q);
    int64_t *limits = malloc((2 * n + 1) * sizeof *limits);
    int rc =
        limits ? 0 : error_set(err, RAYTRAIN_ENOMEM, "out of memory for quantiles");

    rc = comm_agree(comm, rc, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        limits[i] = q->searches[i].least;
        limits[n + i] = ~q->searches[i].most; /* so that a minimum finds it */
    }
    if (rc == 0 && n > 0)
        rc = comm->ops->allreduce(comm, limits, 2 * n, COMM_INT64, COMM_MIN, err);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        struct search *s = &q->searches[i];
        bool same = i % per_element(q) > 0 && !s->found && !s[-1].found &&
                    s[-1].histogram == s->histogram;

        s->least = same ? s[-1].least : limits[i];
        s->most = same ? s[-1].most : ~limits[n + i];
    }
    free(limits);
    return rc;
}

int quantiles_reduce(struct quantiles *q, struct comm *comm, bool *again,
                     struct error *err)
{
    size_t n = q->width * per_element(q);

    *again = false;
    if (q->n_counts > 0 && comm->ops->allreduce(comm, q->counts, q->n_counts,
                                                COMM_INT64, COMM_SUM, err) < 0)
        return -1;
    if (q->pass > 0 && limits_reduce(q, comm, err) < 0)
        return -1;
    for (size_t j = 0; q->pass == 0 && j < q->width; j++)
        ranks_set(q, j);
    for (size_t i = 0; i < n; i++)
        search_narrow(q, &q->searches[i]);
    for (size_t i = 0; q->pass > 0 && i < n; i++)
        search_settle(&q->searches[i]);
    q->pass++;
    return comm_agree(comm, histograms_make(q, again, err), err);
}

double quantiles_get(const struct quantiles *q, size_t element, size_t k)
{
    const struct search *s = q->searches + element * per_element(q) + 2 * k;
    double a = s[0].value, b = s[1].value, t = s[0].fraction;

    if (a == b)
        return a;
    return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}
