/* checkpoint_calls.c - checkpoints of raytrain.h, on top of checkpoint/checkpoint.h. */
#include "session/session.h"

#include <stdio.h>
#include <string.h>

#include "session/checkpoints.h"
#include "session/collectives.h"

/* Checkpoints from raytrain_get_checkpoint() and raytrain_checkpoint_open() can be
 * read; all others are being written. */
static bool is_restored(const raytrain_checkpoint *ck)
{
    return ck && checkpoint_is_restored(ck);
}

int session_writable(raytrain_checkpoint *ck, const char *call)
{
    if (!ck)
        return session_null(NULL, call, "checkpoint");
    if (!is_restored(ck))
        return RAYTRAIN_OK;
    error_set(session_error(NULL), RAYTRAIN_EINVAL,
              "%s: this checkpoint was opened to be read; put tensors into one of "
              "raytrain_checkpoint_create()",
              call);
    return RAYTRAIN_EINVAL;
}

int session_readable(raytrain_checkpoint *ck, const char *call)
{
    if (!ck)
        return session_null(NULL, call, "checkpoint");
    if (is_restored(ck))
        return RAYTRAIN_OK;
    error_set(session_error(NULL), RAYTRAIN_EINVAL,
              "%s: this checkpoint is still being written; read from one of "
              "raytrain_get_checkpoint() or raytrain_checkpoint_open()",
              call);
    return RAYTRAIN_EINVAL;
}

/* ---- Write ---- */

raytrain_checkpoint *raytrain_checkpoint_create(raytrain_context *ctx)
{
    if (!ctx) {
        session_null(ctx, __func__, "context");
        return NULL;
    }
    return checkpoint_create(&ctx->error);
}

/* Prepare memory for the copy while the checkpoint is being filled, or while the
 * restored one is in use. */
static void snapshot_expect(raytrain_checkpoint *ck, const char *name,
                            const raytrain_tensor *tensor, const raytrain_slab *slab)
{
    const raytrain_context *ctx = session_current();
    struct saving_need need = {.device = (int)tensor->device, .id = tensor->device_id};

    if (!ctx || !ctx->saving)
        return;
    checkpoint_expect(ck, name, tensor, slab, ctx->comm->size);
    need.bytes = checkpoint_expected(ck, SNAPSHOT_ALL);
    if (tensor->device != RAYTRAIN_HOST)
        need.of_devices = checkpoint_expected(ck, SNAPSHOT_DEVICES);
    saving_expect(ctx->saving, &need);
}

static int put(raytrain_checkpoint *ck, const char *call, const char *name,
               const raytrain_tensor *tensor, const raytrain_slab *slab,
               raytrain_release release, void *arg)
{
    struct error *err = session_error(NULL);
    int bad = session_writable(ck, call);

    if (bad)
        return bad;
    if (!name)
        return session_null(NULL, call, "name");
    if (!tensor)
        return session_null(NULL, call, "tensor");
    if (checkpoint_check_name(name, err) < 0)
        return session_status(NULL, -1);
    if (tensor->device != RAYTRAIN_HOST &&
        session_device_put_check(name, tensor, slab, err) < 0)
        return session_status(NULL, -1);
    if (checkpoint_give(ck, name, tensor, slab, release, arg, err) < 0)
        return session_status(NULL, -1);
    if (tensor->device != RAYTRAIN_HOST || !release) /* else it is not copied */
        snapshot_expect(ck, name, tensor, slab);
    return RAYTRAIN_OK;
}

int raytrain_checkpoint_put(raytrain_checkpoint *ck, const char *name,
                            const raytrain_tensor *tensor)
{
    return put(ck, __func__, name, tensor, NULL, NULL, NULL);
}

int raytrain_checkpoint_put_shard(raytrain_checkpoint *ck, const char *name,
                                  const raytrain_tensor *tensor,
                                  const raytrain_slab *slab)
{
    if (!slab)
        return session_null(NULL, __func__, "slab");
    return put(ck, __func__, name, tensor, slab, NULL, NULL);
}

int raytrain_checkpoint_give(raytrain_checkpoint *ck, const char *name,
                             const raytrain_tensor *tensor, const raytrain_slab *slab,
                             raytrain_release release, void *arg)
{
    if (!release)
        return session_null(NULL, __func__, "release function");
    return put(ck, __func__, name, tensor, slab, release, arg);
}

int raytrain_checkpoint_put_string(raytrain_checkpoint *ck, const char *name,
                                   const char *value)
{
    struct error *err = session_error(NULL);
    int bad = session_writable(ck, __func__);

    if (bad)
        return bad;
    if (!name || !value)
        return session_null(NULL, __func__, name ? "value" : "name");
    if (checkpoint_check_name(name, err) < 0)
        return session_status(NULL, -1);
    return session_status(NULL, checkpoint_put_string(ck, name, value, err));
}

int raytrain_checkpoint_overlap(raytrain_checkpoint *ck)
{
    int bad = session_writable(ck, __func__);

    if (bad)
        return bad;
    checkpoint_stays(ck);
    return RAYTRAIN_OK;
}

int raytrain_checkpoint_fence(raytrain_context *ctx)
{
    if (!ctx)
        return session_null(ctx, __func__, "context");
    return session_status(ctx, saving_fence(ctx->saving, &ctx->error));
}

void raytrain_checkpoint_discard(raytrain_checkpoint *ck)
{
    if (!is_restored(ck))
        checkpoint_destroy(ck);
}

int raytrain_checkpoint_wait(raytrain_context *ctx)
{
    const struct session_call call = {CALL_CHECKPOINT_WAIT, session_call_say, __func__};

    if (!ctx)
        return session_null(ctx, __func__, "context");
    collective_wait_begin(&ctx->waiting, "checkpoint wait");
    if (session_match_arguments(ctx, &call, 0, &ctx->error) < 0)
        return session_status(ctx, -1);
    return session_status(ctx, saving_drain(ctx->saving, &ctx->error));
}

int64_t raytrain_durable_iteration(const raytrain_context *ctx)
{
    int64_t durable = ctx ? saving_durable(ctx->saving) : 0;

    if (durable < 0 && ctx && !ctx->tiers && ctx->restored_own)
        durable = ctx->iteration - ctx->iterations_since_restore;
    return durable > 0 ? durable : 0;
}

/* ---- Read ---- */

raytrain_checkpoint *raytrain_get_checkpoint(raytrain_context *ctx)
{
    if (!ctx)
        session_null(ctx, __func__, "context");
    return ctx ? ctx->restored : NULL;
}

int raytrain_checkpoint_info(raytrain_checkpoint *ck, const char *name,
                             raytrain_tensor *info)
{
    int bad = session_readable(ck, __func__);

    if (bad)
        return bad;
    if (!name || !info)
        return session_null(NULL, __func__, name ? "tensor" : "name");
    return session_status(NULL, checkpoint_info(ck, name, info, session_error(NULL)));
}

static int get(raytrain_checkpoint *ck, const char *call, const char *name,
               const raytrain_tensor *tensor, const raytrain_slab *slab)
{
    int bad = session_readable(ck, call);

    if (bad)
        return bad;
    if (!name || !tensor)
        return session_null(NULL, call, name ? "tensor" : "name");
    if (tensor->device == RAYTRAIN_HOST)
        return session_status(
            NULL, checkpoint_get(ck, name, tensor, slab, session_error(NULL)));
    if (session_device_get(ck, name, tensor, slab, session_error(NULL)) < 0)
        return session_status(NULL, -1);
    if (session_current() && session_current()->restored == ck)
        snapshot_expect(ck, name, tensor, slab);
    return RAYTRAIN_OK;
}

int raytrain_checkpoint_get(raytrain_checkpoint *ck, const char *name,
                            const raytrain_tensor *tensor)
{
    return get(ck, __func__, name, tensor, NULL);
}

int raytrain_checkpoint_get_shard(raytrain_checkpoint *ck, const char *name,
                                  const raytrain_tensor *tensor,
                                  const raytrain_slab *slab)
{
    if (!slab)
        return session_null(NULL, __func__, "slab");
    return get(ck, __func__, name, tensor, slab);
}

int raytrain_checkpoint_get_string(raytrain_checkpoint *ck, const char *name,
                                   char **value)
{
    int bad = session_readable(ck, __func__);

    if (bad)
        return bad;
    if (!name || !value)
        return session_null(NULL, __func__, name ? "value" : "name");
    return session_status(NULL,
                          checkpoint_get_string(ck, name, value, session_error(NULL)));
}

int64_t raytrain_checkpoint_iteration(const raytrain_checkpoint *ck)
{
    return ck && is_restored(ck) ? checkpoint_meta(ck)->training_iteration : 0;
}

int raytrain_checkpoint_metric(const raytrain_checkpoint *ck, const char *name,
                               double *value)
{
    const struct checkpoint_meta *meta;
    int bad = session_readable((raytrain_checkpoint *)ck, __func__);

    if (bad)
        return bad;
    if (!name || !value)
        return session_null(NULL, __func__, name ? "value" : "name");
    meta = checkpoint_meta(ck);
    for (size_t i = 0; i < meta->n_metrics; i++) {
        if (strcmp(meta->metrics[i].name, name) == 0) {
            *value = meta->metrics[i].value;
            return RAYTRAIN_OK;
        }
    }
    error_set(session_error(NULL), RAYTRAIN_ENOTFOUND,
              "the report of checkpoint %s has no metric \"%s\"", checkpoint_path(ck),
              name);
    return RAYTRAIN_ENOTFOUND;
}
