/*
 * batch_mapper.c - lets a function of the user make new columns of a batch. A function
 * in C is called here (map_batch.h), first without rows, so that its columns are known.
 * The client of this process calls a function in Python, and applies everything that
 * comes after it.
 */
#include <stdlib.h>

#include "preprocess/map_batch.h"
#include "preprocess/map_function.h"
#include "preprocess/preprocessor.h"

struct mapper {
    raytrain_map_func function;
    raytrain_batch batch; /* its outputs were declared by the first call */
};

/* Report why the function has failed: by the error of a call of raytrain.h, if the
 * function returned its status. */
static int mapper_failed(const struct mapper *m, int status, struct error *err)
{
    bool known = status > RAYTRAIN_OK && status < RAYTRAIN_END;

    if (known && m->batch.error.code == (raytrain_status)status)
        return error_set(err, m->batch.error.code, "%s", m->batch.error.text);
    return error_set(err, known ? (raytrain_status)status : RAYTRAIN_EFAILED,
                     "the function returned %d, not 0", status);
}

static int call(struct mapper *m, struct frame *f, bool declares, struct error *err)
{
    int status;

    map_batch_begin(&m->batch, f, declares);
    status = m->function(&m->batch);
    return status ? mapper_failed(m, status, err) : map_batch_check(&m->batch, err);
}

static int named(const struct frame_plan *plan, struct error *err)
{
    return error_prefix(err, "batch_mapper \"%s\"", plan->p->config->function);
}

static int mapper_bind(struct frame_plan *plan, struct frame *schema, struct error *err)
{
    const struct preprocessor_config *config = plan->p->config;
    struct mapper *m = calloc(1, sizeof *m);
    int rc;

    plan->state = m;
    if (!m)
        return error_no_memory(err);
    if (config->python)
        return map_function_no_python(config->python, err);
    rc = map_function_find(config->library, config->function, &m->function, err);
    if (rc == 0)
        rc = call(m, schema, true, err);
    map_batch_end(&m->batch);
    if (rc == 0)
        rc = map_batch_put_schema(&m->batch, schema, err);
    return rc < 0 ? named(plan, err) : 0;
}

static int mapper_apply(const struct frame_plan *plan, struct frame *f,
                        struct error *err)
{
    struct mapper *m = plan->state;
    int rc = call(m, f, false, err);

    if (rc == 0)
        rc = map_batch_put(&m->batch, err);
    map_batch_end(&m->batch);
    return rc < 0 ? named(plan, err) : 0;
}

static void mapper_unbind(struct frame_plan *plan)
{
    struct mapper *m = plan->state;

    if (m)
        map_batch_clear(&m->batch);
    free(m);
}

const struct preprocessor_ops preprocessor_batch_mapper = {
    .name = "batch_mapper",
    .bind = mapper_bind,
    .apply = mapper_apply,
    .unbind = mapper_unbind,
    .reads_all = true,
};
