/* reducer_parts.c - the calls of a sharded reducer (raytrain.h). */
#include <stdio.h>
#include <string.h>

#include "reduce/reducer_impl.h"

#include "session/collectives.h"

static int param_usage(raytrain_reducer *r, const char *call, size_t i)
{
    if (!r)
        return session_null(NULL, call, "reducer");
    if (i < r->n_params)
        return RAYTRAIN_OK;
    error_set(&r->ctx->error, RAYTRAIN_EINVAL,
              r->sharded ? "%s: this reducer has no parameter %zu"
                         : "%s: parameter %zu: this reducer is not sharded: create it "
                           "with raytrain_reducer_create_sharded()",
              call, i);
    return RAYTRAIN_EINVAL;
}

void *raytrain_reducer_param(raytrain_reducer *r, size_t i)
{
    return param_usage(r, __func__, i) ? NULL : r->tensors[r->n + i].data;
}

int raytrain_reducer_shard(raytrain_reducer *r, size_t i, raytrain_slab *slab,
                           size_t *first, size_t *n)
{
    const char *call = __func__;
    const raytrain_tensor *t;
    size_t row, width, begin, end;
    int rc = param_usage(r, call, i);

    if (rc)
        return rc;
    if (!first || !n)
        return session_null(r->ctx, call, first ? "place for n" : "place for first");
    t = &r->tensors[r->n + i];
    width = raytrain_dtype_size(t->dtype);
    row = bucket_parts_row(t);
    begin = r->parts[i].cuts[r->comm->rank] / width;
    end = r->parts[i].cuts[r->comm->rank + 1] / width;
    *first = begin;
    *n = end - begin;
    if (!slab)
        return RAYTRAIN_OK;
    *slab = (raytrain_slab){{0}, {0}};
    memcpy(slab->count, t->shape, (size_t)t->ndim * sizeof *t->shape);
    if (t->ndim > 0 && row > 0) {
        slab->start[0] = begin / row;
        slab->count[0] = (end - begin) / row;
    }
    return RAYTRAIN_OK;
}

static int reducer_gather(raytrain_reducer *r, const char *name)
{
    const struct session_call call = {CALL_REDUCER_GATHER, session_call_say, name};
    struct error *err = &r->ctx->error;

    collective_wait_begin(&r->ctx->waiting, "reducer gather");
    if (session_match_arguments(r->ctx, &call, 0, err) < 0)
        return -1;
    if (r->transport->gather(r, err) < 0) {
        r->broken = true;
        return -1;
    }
    return 0;
}

int raytrain_reducer_gather(raytrain_reducer *r)
{
    const char *call = __func__;

    if (!r)
        return session_null(NULL, call, "reducer");
    if (!r->sharded)
        return param_usage(r, call, 0);
    if (r->broken)
        return reducer_broken_error(r);
    if (r->due > 0) {
        error_set(
            &r->ctx->error, RAYTRAIN_EINVAL,
            "%s: gradients are being averaged: call raytrain_reducer_wait() first",
            call);
        return RAYTRAIN_EINVAL;
    }
    return r->comm->size == 1 ? RAYTRAIN_OK
                              : session_status(r->ctx, reducer_gather(r, call));
}
