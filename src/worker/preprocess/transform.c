/*
 * transform.c - plans the steps of a chain for the columns of a dataset, and applies
 * them to batches. The file of each preprocessor has what a step does.
 */
#include "preprocess/transform.h"

#include <stdlib.h>
#include <string.h>

#include "preprocess/reals.h"

/* One preprocessor: a plan for each of its columns, or one for all. */
struct step {
    const struct preprocessor *p;
    bool inverse;
    struct column_plan *columns;
    size_t n_columns;
    struct frame_plan whole;
};

struct transform {
    struct step *steps;
    size_t n;
    struct frame schema;
};

/* ---- Columns ---- */

const char *preprocessor_output(const struct preprocessor_config *config, size_t index)
{
    return config->output_columns ? config->output_columns[index]
                                  : config->columns[index];
}

static int step_column_find(const struct preprocessor *p, const struct frame *f,
                            const char *name, struct frame_column **c,
                            struct error *err)
{
    char names[512];

    *c = frame_find(f, name);
    if (*c)
        return 0;
    frame_names(f, names, sizeof names);
    return error_set(err, RAYTRAIN_ENOTFOUND,
                     "%s: there is no column \"%s\"; found: %s", p->ops->name, name,
                     names);
}

static bool has_offsets(const struct frame_column *c)
{
    return c->kind != FRAME_NUMBERS && c->kind != FRAME_WORDS;
}

typedef int column_function(const struct column_plan *, const struct frame_column *,
                            uint64_t, struct frame_column *, struct error *);

static int column_map(const struct step *s, const struct column_plan *plan,
                      struct frame *f, struct error *err)
{
    const struct preprocessor_ops *ops = s->p->ops;
    column_function *map = s->inverse        ? ops->map_inverse
                           : plan->is_absent ? ops->map_absent
                                             : ops->map;
    const char *source = s->p->config->columns[plan->source];
    struct frame_column *in = NULL, out = plan->like;

    out.spare = f->spare;
    if (s->inverse)
        source = preprocessor_output(s->p->config, plan->source);
    if (plan->is_absent)
        in = &out;
    else if (step_column_find(s->p, f, source, &in, err) < 0)
        return -1;
    if (plan->in_place && !plan->is_absent && !strcmp(plan->like.name, source)) {
        if (map(plan, in, f->rows, in, err) < 0)
            return -1;
        in->words = plan->like.words;
        return 0;
    }
    if ((has_offsets(&out) || frame_reserve(&out, f->rows, 0, err) == 0) &&
        map(plan, in, f->rows, &out, err) == 0 && frame_put(f, &out, err) == 0)
        return 0;
    frame_column_free(&out);
    return -1;
}

/* ---- Plans ---- */

static int column_plan(const struct step *s, struct column_plan *plan,
                       struct frame *schema, const char *from, struct error *err)
{
    const struct preprocessor_ops *ops = s->p->ops;
    struct frame_column *in = frame_find(schema, from);

    plan->is_absent = !in && !s->inverse && ops->plan_absent;
    if (plan->is_absent)
        return ops->plan_absent(plan, err);
    if (step_column_find(s->p, schema, from, &in, err) < 0)
        return -1;
    plan->like.kind = in->kind;
    plan->like.row = in->row;
    plan->like.words = in->words;
    return s->inverse ? ops->plan_inverse(plan, in, err) : ops->plan(plan, in, err);
}

static int column_bind(const struct step *s, struct column_plan *plan,
                       struct frame *schema, struct error *err)
{
    const char *from = s->p->config->columns[plan->source];
    const char *to = preprocessor_output(s->p->config, plan->source);
    struct frame_column out;

    plan->p = s->p;
    snprintf(plan->like.name, sizeof plan->like.name, "%s", s->inverse ? from : to);
    if (column_plan(s, plan, schema, s->inverse ? to : from, err) < 0)
        return -1;
    out = plan->like;
    return frame_put(schema, &out, err);
}

static int step_bind(struct step *s, struct frame *schema, struct error *err)
{
    const struct preprocessor_config *config = s->p->config;

    if (s->p->ops->bind) {
        s->whole.p = s->p;
        return s->p->ops->bind(&s->whole, schema, err);
    }
    s->columns = calloc(config->n_columns + 1, sizeof *s->columns);
    if (!s->columns)
        return error_no_memory(err);
    for (size_t i = 0; i < config->n_columns; i++) {
        if (s->inverse && !frame_find(schema, preprocessor_output(config, i)))
            continue;
        s->columns[s->n_columns].source = i;
        if (column_bind(s, &s->columns[s->n_columns++], schema, err) < 0)
            return -1;
    }
    return 0;
}

static void step_free(struct step *s)
{
    const struct preprocessor_ops *ops = s->p->ops;

    for (size_t i = 0; i < s->n_columns; i++) {
        if (ops->plan_free)
            ops->plan_free(&s->columns[i]);
        else
            free(s->columns[i].state);
        dictionary_destroy(s->columns[i].owned);
    }
    free(s->columns);
    if (s->whole.p && ops->unbind)
        ops->unbind(&s->whole);
    else
        free(s->whole.state);
}

static int step_apply(const struct step *s, struct frame *f, struct error *err)
{
    if (s->p->ops->apply)
        return s->p->ops->apply(&s->whole, f, err);
    for (size_t i = 0; i < s->n_columns; i++)
        if (column_map(s, &s->columns[i], f, err) < 0)
            return -1;
    return 0;
}

/* ---- The steps of a chain ---- */

static int step_add(struct transform *t, const struct preprocessor *p, bool inverse,
                    struct error *err)
{
    struct step *s = &t->steps[t->n++];

    *s = (struct step){.p = p, .inverse = inverse};
    if (preprocessor_needs_fit(p))
        return error_set(err, RAYTRAIN_EINVAL, "%s has not been fitted", p->ops->name);
    return step_bind(s, &t->schema, err);
}

static int transform_steps_make(struct transform *t, const struct chain *chain,
                                const bool *use, bool inverse, struct error *err)
{
    for (size_t i = 0; i < chain->n; i++) {
        size_t at = inverse ? chain->n - 1 - i : i;
        const struct preprocessor *p = &chain->list[at];

        if ((use && !use[at]) || (inverse && !p->ops->plan_inverse))
            continue;
        if (step_add(t, p, inverse, err) < 0)
            return -1;
    }
    return 0;
}

static int transform_make(const struct chain *chain, const struct frame *schema,
                          const bool *use, bool inverse, struct transform **made,
                          struct error *err)
{
    struct transform *t = calloc(1, sizeof *t);
    size_t index;
    int rc = 0;

    *made = NULL;
    if (!t || !(t->steps = calloc(chain->n + 1, sizeof *t->steps))) {
        free(t);
        return error_no_memory(err);
    }
    for (size_t i = 0; rc == 0 && i < schema->n_columns; i++)
        rc = frame_append(&t->schema, &schema->columns[i], &index, err);
    if (rc == 0)
        rc = transform_steps_make(t, chain, use, inverse, err);
    if (rc == 0)
        *made = t;
    else
        transform_destroy(t);
    return rc;
}

int transform_create(const struct chain *chain, const struct frame *schema,
                     const bool *use, struct transform **made, struct error *err)
{
    return transform_make(chain, schema, use, false, made, err);
}

int transform_create_inverse(const struct chain *chain, const struct frame *schema,
                             struct transform **made, struct error *err)
{
    return transform_make(chain, schema, NULL, true, made, err);
}

const struct frame *transform_schema(const struct transform *t)
{
    return &t->schema;
}

int transform_apply(const struct transform *t, struct frame *f, struct error *err)
{
    for (size_t i = 0; i < t->n; i++)
        if (step_apply(&t->steps[i], f, err) < 0)
            return -1;
    return 0;
}

void transform_destroy(struct transform *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->n; i++)
        step_free(&t->steps[i]);
    free(t->steps);
    frame_clear(&t->schema);
    free(t);
}
