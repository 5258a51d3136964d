/*
 * chain_fit.c - chooses the preprocessors of a chain that can learn in the next pass
 * over the rows, and makes that pass.
 */
#include "preprocess/chain_fit.h"

#include <stdlib.h>
#include <string.h>

#include "preprocess/transform.h"

/* ---- Which preprocessors can learn in the next pass ---- */

static bool reads(const struct preprocessor *p, const char *column)
{
    for (size_t i = 0; i < p->config->n_columns; i++)
        if (!strcmp(p->config->columns[i], column))
            return true;
    return p->ops->reads_all && p->config->n_columns == 0;
}

/* True if p reads a column that q makes, changes or removes, or makes one that q
 * reads. */
static bool depends(const struct preprocessor *p, const struct preprocessor *q)
{
    const struct preprocessor_config *config = q->config;

    if (p->ops->bind || q->ops->bind)
        return true;
    for (size_t i = 0; i < config->n_columns; i++)
        if (reads(p, config->columns[i]) || reads(p, preprocessor_output(config, i)))
            return true;
    for (size_t i = 0; i < p->config->n_columns; i++)
        if (reads(q, preprocessor_output(p->config, i)))
            return true;
    return false;
}

/* Sets use[i] if preprocessor i and all that it depends on are fitted; learn[i] if it
 * is not, but all that it depends on are. */
static void chain_choose(const struct chain *chain, bool *use, bool *learn)
{
    for (size_t i = 0; i < chain->n; i++) {
        bool ready = true;

        for (size_t k = 0; ready && k < i; k++)
            ready = use[k] || !depends(&chain->list[i], &chain->list[k]);
        learn[i] = ready && preprocessor_needs_fit(&chain->list[i]);
        use[i] = ready && !learn[i];
    }
}

/* ---- Passes ---- */

/* The columns of one preprocessor that learns. */
struct learner {
    struct preprocessor *p;
    void **fits; /* one per column; NULL: it has learned */
    size_t n;
};

struct lesson {
    struct learner *learners;
    size_t n;
    bool *use, *learn;
    struct transform *before; /* applied to rows before the learners see them */
};

static void fit_free(struct learner *l, size_t i)
{
    if (l->fits[i] && l->p->ops->fit_free)
        l->p->ops->fit_free(l->fits[i]);
    free(l->fits[i]);
    l->fits[i] = NULL;
}

static void learner_free(struct learner *l)
{
    for (size_t i = 0; i < l->n; i++)
        fit_free(l, i);
    free(l->fits);
}

static void lesson_free(struct lesson *lesson)
{
    for (size_t i = 0; i < lesson->n; i++)
        learner_free(&lesson->learners[i]);
    free(lesson->learners);
    free(lesson->use);
    free(lesson->learn);
    transform_destroy(lesson->before);
}

static int learner_column(const struct learner *l, size_t i, const struct frame *f,
                          const struct frame_column **c, struct error *err)
{
    char names[512];

    *c = frame_find(f, l->p->config->columns[i]);
    if (*c)
        return 0;
    frame_names(f, names, sizeof names);
    return error_set(err, RAYTRAIN_ENOTFOUND,
                     "%s: there is no column \"%s\"; found: %s", l->p->ops->name,
                     l->p->config->columns[i], names);
}

static int learner_begin(struct learner *l, struct preprocessor *p,
                         const struct frame *schema, struct error *err)
{
    const struct frame_column *c;

    *l = (struct learner){.p = p, .n = p->config->n_columns};
    l->fits = calloc(l->n + 1, sizeof *l->fits);
    if (!l->fits) {
        l->n = 0;
        return error_no_memory(err);
    }
    for (size_t i = 0; i < l->n; i++) {
        if (!(l->fits[i] = calloc(1, p->ops->fit_size)))
            return error_no_memory(err);
        if (learner_column(l, i, schema, &c, err) < 0 ||
            p->ops->fit_begin(p, l->fits[i], c, err) < 0)
            return -1;
    }
    return 0;
}

static int lesson_begin(struct lesson *lesson, struct chain *chain,
                        const struct chain_source *source, struct error *err)
{
    *lesson =
        (struct lesson){.learners = calloc(chain->n + 1, sizeof *lesson->learners),
                        .use = calloc(chain->n + 1, sizeof *lesson->use),
                        .learn = calloc(chain->n + 1, sizeof *lesson->learn)};
    if (!lesson->learners || !lesson->use || !lesson->learn)
        return error_no_memory(err);
    chain_choose(chain, lesson->use, lesson->learn);
    if (transform_create(chain, source->schema, lesson->use, &lesson->before, err) < 0)
        return -1;
    for (size_t i = 0; i < chain->n; i++)
        if (lesson->learn[i] &&
            learner_begin(&lesson->learners[lesson->n++], &chain->list[i],
                          transform_schema(lesson->before), err) < 0)
            return -1;
    return 0;
}

static int learner_rows(struct learner *l, const struct frame *f, struct error *err)
{
    const struct frame_column *c;

    for (size_t i = 0; i < l->n; i++)
        if (l->fits[i] && (learner_column(l, i, f, &c, err) < 0 ||
                           l->p->ops->fit_rows(l->p, l->fits[i], c, f->rows, err) < 0))
            return -1;
    return 0;
}

static int all_rows(struct lesson *lesson, const struct chain_source *source,
                    struct error *err)
{
    struct frame f = FRAME_INIT;
    int rc = source->rewind(source->arg, err) < 0 ? -1 : 1;

    while (rc > 0 && (rc = source->next(source->arg, &f, err)) > 0) {
        if (transform_apply(lesson->before, &f, err) < 0)
            rc = -1;
        for (size_t i = 0; rc > 0 && i < lesson->n; i++)
            if (learner_rows(&lesson->learners[i], &f, err) < 0)
                rc = -1;
    }
    frame_clear(&f);
    return rc;
}

/* COLLECTIVE, with the same outcome on every rank: end a pass of one learner. */
static int learner_end(struct learner *l, const struct frame *schema, struct comm *comm,
                       bool *again, struct error *err)
{
    const struct frame_column *c;
    bool more = false;

    for (size_t i = 0; i < l->n; i++) {
        bool column = false;
        int rc;

        if (!l->fits[i])
            continue;
        rc = learner_column(l, i, schema, &c, err);
        if (rc == 0)
            rc = l->p->ops->fit_end(l->p, l->fits[i], c, comm, &column, err);
        if (comm_agree(comm, rc, err) < 0)
            return -1;
        if (!column)
            fit_free(l, i);
        more = more || column;
    }
    if (more)
        *again = true;
    else
        l->p->is_fitted = true;
    return 0;
}

/* COLLECTIVE: make passes until the chosen preprocessors have learned. */
static int lesson_hold(struct lesson *lesson, const struct chain_source *source,
                       struct comm *comm, int *passes, struct error *err)
{
    const struct frame *schema = transform_schema(lesson->before);
    bool again = true;

    while (again) {
        again = false;
        ++*passes;
        if (comm_agree(comm, all_rows(lesson, source, err), err) < 0)
            return -1;
        for (size_t i = 0; i < lesson->n; i++)
            if (learner_end(&lesson->learners[i], schema, comm, &again, err) < 0)
                return -1;
    }
    return 0;
}

int chain_fit(struct chain *chain, const struct chain_source *source, struct comm *comm,
              int *passes, struct error *err)
{
    int rc = 0, counted = 0;

    while (rc == 0 && !chain_is_fitted(chain)) {
        struct lesson lesson;

        rc = comm_agree(comm, lesson_begin(&lesson, chain, source, err), err);
        if (rc == 0)
            rc = lesson_hold(&lesson, source, comm, &counted, err);
        lesson_free(&lesson);
    }
    if (passes)
        *passes = counted;
    return rc;
}
