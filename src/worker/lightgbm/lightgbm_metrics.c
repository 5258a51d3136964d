/*
 * lightgbm_metrics.c - combines the metrics of members: sums, means by weight, or an
 * exact area under the curve (gbdt/area_under_curve.c).
 */
#include "lightgbm/lightgbm_metrics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gbdt/area_under_curve.h"
#include "lightgbm/lightgbm_params.h"

/* How the values of the members are combined into that of all rows. */
enum combination {
    BY_WEIGHT,  /* means, by the sums of weights */
    BY_ROUGH,   /* the same, but the library's sums are in float32 */
    BY_ROWS,    /* means, by the numbers of rows */
    BY_QUERY,   /* means, by the weights of query groups */
    ROOT,       /* roots of means by weight */
    SUM,        /* the library has a sum, not a mean */
    CURVE,      /* not from the members' values, but from the scores of all rows */
    CURVE_PR,   /* the same */
    CURVE_PAIRS /* the same */
};

/* Metrics by the beginnings of their names. Others are means by weight, and less is
 * better. */
static const struct {
    const char *name;
    enum combination how;
    bool more_is_better;
} kinds[] = {
    {"rmse", ROOT, false},
    {"gamma_deviance", SUM, false},
    {"cross_entropy_lambda", BY_ROWS, false},
    {"cross_entropy", BY_ROUGH, false},
    {"kullback_leibler", BY_ROUGH, false},
    {"ndcg@", BY_QUERY, true},
    {"map@", BY_QUERY, true},
    {"auc_mu", CURVE_PAIRS, true},
    {"auc", CURVE, true},
    {"average_precision", CURVE_PR, true},
};

#define METRIC_NAME_MAX 64

struct metric {
    char name[METRIC_NAME_MAX];
    enum combination how;
    bool more_is_better;
};

struct metrics {
    struct metric *list;
    size_t n;
};

/* A value of this member, and its weight. */
struct part {
    double value, weight;
};

struct evaluation {
    const struct lightgbm *l;
    lightgbm_booster booster;
    const struct booster_env *env;
    struct comm *comm; /* NULL: one member */
    struct metrics metrics;
};

/* ---- Names ---- */

static void kind_find(struct metric *m)
{
    m->how = BY_WEIGHT;
    m->more_is_better = false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strncmp(m->name, kinds[i].name, strlen(kinds[i].name)) == 0) {
            m->how = kinds[i].how;
            m->more_is_better = kinds[i].more_is_better;
            return;
        }
}

static int names_get(struct evaluation *e, struct error *err)
{
    int n = 0, got = 0;
    size_t needed = 0;
    char **pointers;

    if (e->l->BoosterGetEvalCounts(e->booster, &n) != 0)
        return lightgbm_fail(e->l, RAYTRAIN_EFAILED, "has no metrics", err);
    e->metrics.list = calloc((size_t)n + 1, sizeof *e->metrics.list);
    pointers = malloc(((size_t)n + 1) * sizeof *pointers);
    if (!e->metrics.list || !pointers) {
        free(pointers);
        return error_no_memory(err);
    }
    for (int i = 0; i < n; i++)
        pointers[i] = e->metrics.list[i].name;
    n = e->l->BoosterGetEvalNames(e->booster, n, &got, METRIC_NAME_MAX, &needed,
                                  pointers);
    free(pointers);
    if (n != 0)
        return lightgbm_fail(e->l, RAYTRAIN_EFAILED, "has no names of metrics", err);
    e->metrics.n = (size_t)got;
    for (size_t i = 0; i < e->metrics.n; i++)
        kind_find(&e->metrics.list[i]);
    return 0;
}

/* ---- Fields of datasets ---- */

static int field_get(const struct lightgbm *l, lightgbm_dataset data, const char *name,
                     const void **out, int *n, struct error *err)
{
    int type;

    *n = 0;
    *out = NULL;
    if (l->DatasetGetField(data, name, n, out, &type) != 0)
        return lightgbm_fail(l, RAYTRAIN_EFAILED, name, err);
    return 0;
}

/* The weight of a group is the mean of those of its rows, in the library's
 * precision. */
static double queries_weigh(const float *weights, const int32_t *starts, int n)
{
    double sum = 0;

    for (int q = 0; q + 1 < n; q++) {
        float weight = 0;

        for (int32_t i = starts[q]; weights && i < starts[q + 1]; i++)
            weight += weights[i];
        sum += weights ? (double)(weight / (float)(starts[q + 1] - starts[q])) : 1;
    }
    return sum;
}

/* Add pairwise, in float32. */
static double weights_add(const float *weights, int n)
{
    float sum = n % 2 ? weights[0] : 0;

    for (int i = n % 2; i + 1 < n; i += 2)
        sum += weights[i] + weights[i + 1];
    return (double)sum;
}

int lightgbm_set_measure(const struct lightgbm *l, struct lightgbm_set *set,
                         struct error *err)
{
    const void *labels, *weights, *starts;
    int rows, n, n_starts;

    if (!set->data)
        return 0;
    if (field_get(l, set->data, "label", &labels, &rows, err) < 0 ||
        field_get(l, set->data, "weight", &weights, &n, err) < 0 ||
        field_get(l, set->data, "group", &starts, &n_starts, err) < 0)
        return -1;
    set->rows = set->weight = set->rough_weight = rows;
    if (weights) {
        set->rough_weight = weights_add(weights, n);
        set->weight = 0;
        for (int i = 0; i < n; i++)
            set->weight += (double)((const float *)weights)[i];
    }
    set->query_weight = starts ? queries_weigh(weights, starts, n_starts) : 0;
    return 0;
}

/* ---- Means ---- */

static struct part part_make(const struct metric *m, const struct lightgbm_set *set,
                             double value)
{
    switch (m->how) {
    case BY_ROUGH:
        return (struct part){value * set->rough_weight, set->weight};
    case BY_ROWS:
        return (struct part){value * set->rows, set->rows};
    case BY_QUERY:
        return (struct part){value * set->query_weight, set->query_weight};
    case ROOT:
        return (struct part){value * value * set->weight, set->weight};
    case SUM:
        return (struct part){value, 0};
    default:
        return (struct part){value * set->weight, set->weight};
    }
}

static double part_value(const struct metric *m, const struct part *all)
{
    if (m->how == SUM)
        return all->value;
    return m->how == ROOT ? sqrt(all->value / all->weight) : all->value / all->weight;
}

/* ---- Curves ---- */

/* The scores of this member's rows, one class after the other: before the objective's
 * transformation, or after it if it preserves their order. */
struct scores {
    double *values;
    int64_t n;
    const float *labels, *weights;
    int rows, classes;
};

static int scores_get(const struct evaluation *e, const struct lightgbm_set *set,
                      struct scores *s, struct error *err)
{
    const void *labels = NULL, *weights = NULL;
    int n;

    memset(s, 0, sizeof *s);
    if (e->l->BoosterGetNumClasses(e->booster, &s->classes) != 0)
        return lightgbm_fail(e->l, RAYTRAIN_EFAILED, "has no classes", err);
    if (!set->data)
        return 0;
    if (field_get(e->l, set->data, "label", &labels, &s->rows, err) < 0 ||
        field_get(e->l, set->data, "weight", &weights, &n, err) < 0)
        return -1;
    s->labels = labels;
    s->weights = weights;
    if (e->l->BoosterGetNumPredict(e->booster, set->number, &s->n) != 0)
        return lightgbm_fail(e->l, RAYTRAIN_EFAILED, "has no scores", err);
    s->values = malloc(((size_t)s->n + 1) * sizeof *s->values);
    if (!s->values)
        return error_no_memory(err);
    if (e->l->BoosterGetPredict(e->booster, set->number, &s->n, s->values) != 0)
        return lightgbm_fail(e->l, RAYTRAIN_EFAILED, "has no scores", err);
    return 0;
}

/* Round a score, so that scores which differ only by the rounding of the objective's
 * transformation are equal, as they are in the library. */
static double near(double score)
{
    const double unit = 0x1p-40;

    return nearbyint(score / unit) * unit;
}

/* The rows of two classes, with those of `high` as positive ones; the score of a row is
 * that of `high` minus that of the other. */
struct pair {
    double *scores;
    float *labels, *weights;
};

static int pair_area(const struct evaluation *e, const struct scores *s,
                     const struct pair *p, int high, int low, double *area,
                     struct error *err)
{
    struct curve_rows rows = {p->scores, p->labels, s->weights ? p->weights : NULL, 0};
    struct curve_area found;

    for (int i = 0; i < s->rows; i++) {
        int class = (int)s->labels[i];

        if (class != high && class != low)
            continue;
        p->scores[rows.n] = near(s->values[(size_t)high * (size_t)s->rows + (size_t)i] -
                                 s->values[(size_t)low * (size_t)s->rows + (size_t)i]);
        p->labels[rows.n] = class == high;
        if (s->weights)
            p->weights[rows.n] = s->weights[i];
        rows.n++;
    }
    if (curve_area(e->comm, &rows, &found, err) < 0)
        return -1;
    *area = found.positives > 0 && found.negatives > 0 ? found.roc : NAN;
    return 0;
}

/* Compute scores from probabilities; for softmax except for a number that is the same
 * for all classes of a row, which cancels in their differences. */
static void scores_unwrap(const struct evaluation *e, struct scores *s)
{
    static const char *const keys[] = {"objective",   "objective_type", "app",
                                       "application", "loss",           NULL};
    static const char *const values[] = {"multiclassova", "multiclass_ova", "ova",
                                         "ovr", NULL};
    const bool one_by_one = lightgbm_params_has(e->env, keys, values);

    for (int64_t i = 0; i < s->n; i++)
        s->values[i] =
            one_by_one ? log(s->values[i]) - log1p(-s->values[i]) : log(s->values[i]);
}

static int pairs_area(const struct evaluation *e, struct scores *s, double *value,
                      struct error *err)
{
    const size_t n = (size_t)s->rows + 1;
    struct pair p = {malloc(n * sizeof *p.scores), malloc(n * sizeof *p.labels),
                     malloc(n * sizeof *p.weights)};
    double sum = 0, area = 0;
    int rc = p.scores && p.labels && p.weights ? 0 : error_no_memory(err);

    if (json_object_get(e->env->config->params, "auc_mu_weights"))
        rc = error_set(err, RAYTRAIN_ENOTSUP,
                       "params.auc_mu_weights: not available with several workers");
    scores_unwrap(e, s);
    for (int i = 0; rc == 0 && i < s->classes; i++)
        for (int j = i + 1; rc == 0 && j < s->classes; j++) {
            rc = pair_area(e, s, &p, i, j, &area, err);
            sum += area;
        }
    *value = 2 * sum / s->classes / (s->classes - 1);
    free(p.scores);
    free(p.labels);
    free(p.weights);
    return rc;
}

static int curve_get(const struct evaluation *e, const struct lightgbm_set *set,
                     enum combination how, double *value, struct error *err)
{
    struct scores s;
    struct curve_area area = {0};
    int rc = comm_agree(e->comm, scores_get(e, set, &s, err), err);

    if (rc == 0 && how == CURVE_PAIRS) {
        rc = pairs_area(e, &s, value, err);
    } else if (rc == 0) {
        const struct curve_rows rows = {s.values, s.labels, s.weights, (size_t)s.rows};

        rc = curve_area(e->comm, &rows, &area, err);
        *value = how == CURVE ? area.roc : area.pr;
    }
    free(s.values);
    return rc;
}

/* ---- Evaluation ---- */

/* Turn the library's values for this member's rows into parts. */
static int parts_get(const struct evaluation *e, const struct lightgbm_sets *sets,
                     struct part *parts, struct error *err)
{
    double *values = malloc((e->metrics.n + 1) * sizeof *values);
    int rc = values ? 0 : error_no_memory(err), n;

    for (size_t s = 0; rc == 0 && s < sets->n; s++) {
        const struct lightgbm_set *set = &sets->list[s];

        if (!set->data)
            continue;
        if (e->l->BoosterGetEval(e->booster, set->number, &n, values) != 0)
            rc = lightgbm_fail(e->l, RAYTRAIN_EFAILED, "cannot evaluate", err);
        for (size_t m = 0; rc == 0 && m < e->metrics.n; m++)
            parts[s * e->metrics.n + m] =
                e->comm ? part_make(&e->metrics.list[m], set, values[m])
                        : (struct part){values[m], 1};
    }
    free(values);
    return rc;
}

static int metric_value_get(const struct evaluation *e, const struct lightgbm_set *set,
                            const struct metric *m, const struct part *all,
                            double *value, struct error *err)
{
    if (!e->comm) {
        *value = set->data ? all->value : NAN;
        return 0;
    }
    if (m->how == CURVE || m->how == CURVE_PR || m->how == CURVE_PAIRS)
        return curve_get(e, set, m->how, value, err);
    *value = part_value(m, all);
    return 0;
}

static int scores_fill(const struct evaluation *e, const struct lightgbm_sets *sets,
                       const struct part *parts, struct gbdt_scores *scores,
                       struct error *err)
{
    scores->n = 0;
    for (size_t i = 0; i < sets->n * e->metrics.n; i++) {
        const struct lightgbm_set *set = &sets->list[i / e->metrics.n];
        const struct metric *m = &e->metrics.list[i % e->metrics.n];
        struct gbdt_score *score = &scores->list[scores->n];

        if (scores->n == GBDT_SCORES_MAX)
            return error_set(err, RAYTRAIN_EINVAL,
                             "there are %zu metrics of %zu datasets, and a report has "
                             "room for %d: set fewer as `metric` in params",
                             e->metrics.n, sets->n, GBDT_SCORES_MAX);
        if ((size_t)snprintf(score->name, sizeof score->name, "%s-%s", set->name,
                             m->name) >= sizeof score->name)
            return error_set(
                err, RAYTRAIN_EINVAL,
                "the metric %s of dataset %s has too long a name: give the "
                "dataset a shorter one",
                m->name, set->name);
        score->more_is_better = m->more_is_better;
        if (metric_value_get(e, set, m, &parts[i], &score->value, err) < 0)
            return -1;
        scores->n++;
    }
    return 0;
}

/* Add the parts of members that have rows: without rows, the library's value may be
 * meaningless or NaN. */
static int parts_sum(const struct evaluation *e, struct part *parts, size_t n, int rc,
                     struct error *err)
{
    if (!e->comm)
        return rc;
    if (comm_agree(e->comm, rc, err) < 0)
        return -1;
    return n == 0 ? 0
                  : e->comm->ops->allreduce(e->comm, parts, 2 * n, COMM_FLOAT64,
                                            COMM_SUM, err);
}

int lightgbm_metrics_get(const struct lightgbm *l, lightgbm_booster booster,
                         const struct lightgbm_sets *sets,
                         const struct booster_env *env, struct gbdt_scores *scores,
                         struct error *err)
{
    struct evaluation e = {.l = l,
                           .booster = booster,
                           .env = env,
                           .comm = env->comm && env->comm->size > 1 ? env->comm : NULL};
    struct part *parts = NULL;
    int rc = names_get(&e, err);

    scores->n = 0;
    if (rc == 0) {
        parts = calloc(sets->n * e.metrics.n + 1, sizeof *parts);
        rc = parts ? parts_get(&e, sets, parts, err) : error_no_memory(err);
    }
    rc = parts_sum(&e, parts, sets->n * e.metrics.n, rc, err);
    if (rc == 0)
        rc = scores_fill(&e, sets, parts, scores, err);
    free(parts);
    free(e.metrics.list);
    return rc;
}
