/*
 * power_fit.c - see power_fit.h. The likelihood has its maximum where its derivative,
 *
 *     mean(log-Jacobian) - cov(y, dy/dpower) / var(y)
 *
 * is 0; y are the transformed values. A root can be found to more digits than a
 * maximum. Each pass over the rows computes the derivative at several powers at once;
 * the root of the polynomial through these points is the next estimate.
 */
#include "preprocess/power_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "preprocess/reals.h"

#define POINTS    9
#define BLOCK     256
#define POWER_MAX 1000.0
#define PASSES    40
#define EXACT     1e-13

/* Moments of y and its derivative d, which are merged as in moments.h. */
struct joint {
    double n, mean_y, mean_d, yy, yd;
};

struct power_search {
    double at[POINTS]; /* rising */
    struct joint of[POINTS];
    double low, high;        /* the derivative is positive below, and negative above */
    double n_logs, mean_log; /* of the logarithm of the Jacobian, over power - 1 */
    double power;
    bool found;
    int passes;
};

/* ---- The transforms ---- */

/* Both transforms are (exp(m * l) - 1) / m for a logarithm l; below 0, Yeo-Johnson's is
 * reflected. */
struct term {
    double log, sign;
};

static struct term term_of(enum power_method method, double x)
{
    if (method == POWER_BOX_COX)
        return (struct term){x > 0 ? log(x) : NAN, 1};
    return x < 0 ? (struct term){log1p(-x), -1} : (struct term){log1p(x), 1};
}

static double term_power(enum power_method method, struct term t, double power)
{
    return method == POWER_YEO_JOHNSON && t.sign < 0 ? 2 - power : power;
}

double power_transform(enum power_method method, double power, double x)
{
    struct term t = term_of(method, x);
    double m = term_power(method, t, power);

    return t.sign * (m == 0 ? t.log : expm1(m * t.log) / m);
}

/* y, and its derivative with respect to the power. */
static void term_values(enum power_method method, struct term t, double power,
                        double *y, double *d)
{
    double m = term_power(method, t, power), l = t.log, z = m * l;
    double value = m == 0 ? l : expm1(z) / m;

    /* The sum of z^k / (k! (k + 2)). */
    if (fabs(z) < 0.05)
        *d = l * l *
             (1.0 / 2 +
              z * (1.0 / 3 +
                   z * (1.0 / 8 +
                        z * (1.0 / 30 +
                             z * (1.0 / 144 +
                                  z * (1.0 / 840 + z * (1.0 / 5760 + z / 45360)))))));
    else
        *d = (l * exp(z) - value) / m;
    *y = t.sign * value;
}

/* ---- A pass ---- */

static void points_set(struct power_search *s, double low, double high)
{
    for (int i = 0; i < POINTS; i++)
        s->at[i] = low + (high - low) * i / (POINTS - 1);
}

int power_fit_create(struct power_fit *f, enum power_method method, size_t width,
                     struct error *err)
{
    *f = (struct power_fit){.method = method, .width = width};
    f->searches = calloc(width + 1, sizeof *f->searches);
    if (!f->searches)
        return error_no_memory(err);
    for (size_t j = 0; j < width; j++) {
        f->searches[j].low = -INFINITY;
        f->searches[j].high = INFINITY;
        points_set(&f->searches[j], -2, 2);
    }
    return 0;
}

void power_fit_free(struct power_fit *f)
{
    free(f->searches);
    f->searches = NULL;
}

static struct joint joint_merge(struct joint a, struct joint b)
{
    double n = a.n + b.n, y = b.mean_y - a.mean_y, d = b.mean_d - a.mean_d;

    if (a.n == 0)
        return b;
    if (b.n == 0)
        return a;
    return (struct joint){.n = n,
                          .mean_y = a.mean_y + y * (b.n / n),
                          .mean_d = a.mean_d + d * (b.n / n),
                          .yy = a.yy + b.yy + y * y * (a.n * b.n / n),
                          .yd = a.yd + b.yd + y * d * (a.n * b.n / n)};
}

static struct joint block_joint(enum power_method method, const struct term *terms,
                                size_t n, double power)
{
    struct joint j = {.n = (double)n};
    double y[BLOCK], d[BLOCK];

    for (size_t i = 0; i < n; i++) {
        term_values(method, terms[i], power, &y[i], &d[i]);
        j.mean_y += y[i];
        j.mean_d += d[i];
    }
    j.mean_y /= j.n;
    j.mean_d /= j.n;
    for (size_t i = 0; i < n; i++) {
        j.yy += (y[i] - j.mean_y) * (y[i] - j.mean_y);
        j.yd += (y[i] - j.mean_y) * (d[i] - j.mean_d);
    }
    return j;
}

static void power_block_add(struct power_search *s, enum power_method method,
                            const struct term *terms, size_t n)
{
    double logs = 0;

    for (size_t i = 0; i < n; i++)
        logs += terms[i].sign * terms[i].log;
    s->n_logs += (double)n;
    s->mean_log += (logs / (double)n - s->mean_log) * ((double)n / s->n_logs);
    for (int k = 0; k < POINTS; k++)
        s->of[k] = joint_merge(s->of[k], block_joint(method, terms, n, s->at[k]));
}

/* Load up to BLOCK values of an element, without missing ones: *n. */
static int block_gather(const struct power_fit *f, const struct frame_column *c,
                        size_t element, uint64_t row, uint64_t end, struct term *terms,
                        size_t *n, struct error *err)
{
    double x;

    *n = 0;
    for (; row < end; row++) {
        reals_load(c, (size_t)row * f->width + element, 1, &x);
        if (isnan(x))
            continue;
        if (f->method == POWER_BOX_COX && x <= 0)
            return error_set(err, RAYTRAIN_EINVAL,
                             "power_transformer: column \"%s\" has the value %g, but "
                             "box-cox is for positive values only; use yeo-johnson",
                             c->name, x);
        terms[(*n)++] = term_of(f->method, x);
    }
    return 0;
}

int power_fit_add(struct power_fit *f, const struct frame_column *c, uint64_t rows,
                  struct error *err)
{
    struct term terms[BLOCK];
    size_t n;

    for (uint64_t row = 0; row < rows; row += BLOCK) {
        uint64_t end = rows - row < BLOCK ? rows : row + BLOCK;

        for (size_t j = 0; j < f->width; j++) {
            if (f->searches[j].found)
                continue;
            if (block_gather(f, c, j, row, end, terms, &n, err) < 0)
                return -1;
            if (n > 0)
                power_block_add(&f->searches[j], f->method, terms, n);
        }
    }
    return 0;
}

/* ---- Between passes ---- */

/* The derivative of the likelihood by the power, per row. Far from the maximum it may
 * be too large for a double; only its sign is known then. */
static double derivative(const struct power_search *s, int k)
{
    double value = s->mean_log - s->of[k].yd / s->of[k].yy;

    if (isfinite(value))
        return value;
    return s->at[k] > 1 ? -INFINITY : INFINITY;
}

/* The polynomial through n points, at x (Neville's scheme). */
static double polynomial(const double *at, const double *values, int n, double x)
{
    double p[POINTS];

    memcpy(p, values, (size_t)n * sizeof *p);
    for (int order = 1; order < n; order++)
        for (int i = 0; i + order < n; i++)
            p[i] = ((x - at[i + order]) * p[i] + (at[i] - x) * p[i + 1]) /
                   (at[i] - at[i + order]);
    return p[0];
}

/* The root of the polynomial between low, where it is positive, and high. */
static double polynomial_root(const double *at, const double *values, int n, double low,
                              double high)
{
    for (int i = 0; i < 100; i++) {
        double middle = low + (high - low) / 2;

        if (middle <= low || middle >= high)
            break;
        if (polynomial(at, values, n, middle) > 0)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}

/* Move the points beyond all present ones, or between the limits if both are known. */
static void points_move(struct power_search *s, bool up)
{
    double width = 4 * (s->at[POINTS - 1] - s->at[0]);

    if (isfinite(s->low) && isfinite(s->high)) {
        points_set(s, s->low, s->high);
    } else if (up ? s->low >= POWER_MAX : s->high <= -POWER_MAX) {
        s->power = up ? s->low : s->high;
        s->found = true;
    } else if (up) {
        points_set(s, s->low, fmin(s->low + width, POWER_MAX));
    } else {
        points_set(s, fmax(s->high - width, -POWER_MAX), s->high);
    }
}

/* Move the points closer to the root: the derivative changes its sign after point k. */
static void points_narrow(struct power_search *s, const double *values, int k)
{
    int from = k > 2 ? k - 2 : 0, n = POINTS - from < 6 ? POINTS - from : 6;
    double root, rough, error;

    for (int i = 0; i < POINTS; i++)
        if (!isfinite(values[i])) {
            points_set(s, s->low, s->high);
            return;
        }
    root = polynomial_root(s->at, values, POINTS, s->low, s->high);
    rough = polynomial_root(s->at + from, values + from, n, s->low, s->high);
    error = fabs(root - rough);
    s->power = root;
    if (error <= EXACT * fmax(1, fabs(root)) || ++s->passes == PASSES) {
        s->found = true;
        return;
    }
    points_set(s, fmax(s->low, root - 2 * error), fmin(s->high, root + 2 * error));
    if (s->at[0] >= s->at[POINTS - 1])
        s->found = true;
}

static void search_step(struct power_search *s)
{
    double values[POINTS];
    int change = -1;

    if (s->found)
        return;
    if (!(s->of[0].n > 0) || s->of[POINTS / 2].yy == 0) {
        s->power = 1;
        s->found = true;
        return;
    }
    for (int k = 0; k < POINTS; k++) {
        values[k] = derivative(s, k);
        if (values[k] > 0)
            s->low = fmax(s->low, s->at[k]);
        else
            s->high = fmin(s->high, s->at[k]);
        if (k > 0 && values[k - 1] > 0 && values[k] <= 0 && change < 0)
            change = k - 1;
    }
    if (change >= 0 && s->low < s->high) {
        points_narrow(s, values, change);
    } else {
        points_move(s, values[0] > 0);
        s->found = s->found || ++s->passes == PASSES;
    }
    memset(s->of, 0, sizeof s->of);
    s->n_logs = s->mean_log = 0;
}

/* The sums of a rank for one element: one part of a message. */
struct seen {
    struct joint of[POINTS];
    double n_logs, mean_log;
};

static void seen_merge(struct power_search *s, const struct seen *seen, bool first)
{
    for (int k = 0; k < POINTS; k++)
        s->of[k] = first ? seen->of[k] : joint_merge(s->of[k], seen->of[k]);
    if (first) {
        s->n_logs = seen->n_logs;
        s->mean_log = seen->mean_log;
    } else if (seen->n_logs > 0) {
        s->n_logs += seen->n_logs;
        s->mean_log += (seen->mean_log - s->mean_log) * (seen->n_logs / s->n_logs);
    }
}

int power_fit_reduce(struct power_fit *f, struct comm *comm, bool *again,
                     struct error *err)
{
    size_t ranks = (size_t)comm->size, own = f->width * ranks;
    struct seen *all = calloc((ranks + 1) * f->width + 1, sizeof *all);
    int rc = all ? 0 : error_no_memory(err);

    *again = false;
    rc = comm_agree(comm, rc, err);
    for (size_t j = 0; rc == 0 && j < f->width; j++) {
        const struct power_search *s = &f->searches[j];

        memcpy(all[own + j].of, s->of, sizeof s->of);
        all[own + j].n_logs = s->n_logs;
        all[own + j].mean_log = s->mean_log;
    }
    if (rc == 0 && f->width > 0)
        rc = comm->ops->allgather(comm, all + own, f->width * sizeof *all, all, err);
    for (size_t j = 0; rc == 0 && j < f->width; j++) {
        for (size_t r = 0; r < ranks; r++)
            seen_merge(&f->searches[j], &all[r * f->width + j], r == 0);
        search_step(&f->searches[j]);
        *again = *again || !f->searches[j].found;
    }
    free(all);
    return rc;
}

double power_fit_get(const struct power_fit *f, size_t element)
{
    return f->searches[element].power;
}
