/*
 * device_group.c - makes the group of GPUs (device/group.h) for the user's collectives
 * of tensors at the first such call, if there can be one.
 */
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

#include "rank/event.h"
#include "reduce/device_group.h"
#include "wireup/wireup.h"

bool session_devices_may(const raytrain_context *ctx, const raytrain_tensor *tensor)
{
    const struct session_devices *c = &ctx->devices;

    if (tensor->device == RAYTRAIN_HOST)
        return false;
    return !c->asked ||
           (c->group && (int)tensor->device == c->device && tensor->device_id == c->id);
}

/* device_group_env.share */
static int group_id_share(void *arg, void *id, size_t n, struct error *err)
{
    const raytrain_context *ctx = arg;
    struct wireup *w = ctx->env.wireup;
    size_t n_got = 0;
    void *got;
    int rc = 0;

    if (!w)
        return ctx->comm->ops->bcast(ctx->comm, id, n, 0, err);
    if (wireup_exchange(w, "devices", id, ctx->comm->rank == 0 ? n : 0, err) < 0)
        return -1;
    if (ctx->comm->rank == 0)
        return 0;
    if (wireup_peer_get(w, 0, "devices", &got, &n_got, err) < 0)
        return -1;
    if (n_got == n)
        memcpy(id, got, n);
    else
        rc = error_set(err, RAYTRAIN_ECOMM, "%zu bytes from rank 0 instead of %zu",
                       n_got, n);
    free(got);
    return rc;
}

/* device_group_env.announce */
static void announce(void *arg)
{
    raytrain_context *ctx = arg;

    collective_wait_announce(&ctx->waiting);
}

/* device_group_env.absent */
static void absent(void *arg, char list[RANK_LIST_MAX])
{
    const raytrain_context *ctx = arg;

    collective_wait_absent(&ctx->waiting, list);
}

/* Rank 0 reports once that tensors go through host memory. */
static void staged(raytrain_context *ctx, const struct error *why)
{
    if (!ctx->devices.said && ctx->comm->rank == 0)
        event_add(ctx->env.log_dir, EVENT_WARNING,
                  "collectives of tensors on GPUs go through host memory: %s",
                  why->text);
    ctx->devices.said = true;
}

/* NCCL has failed, on all ranks for the same reason. With "auto", and if no rank is
 * lost, tensors go through host memory from now on. */
static int failure_take(raytrain_context *ctx, bool lost, struct error *err)
{
    bool falls_back =
        ctx->env.config->run_config.device_collectives == COLLECTIVES_AUTO;

    if (err->code != RAYTRAIN_ECOMM)
        return -1;
    if (falls_back && !lost) {
        staged(ctx, err);
        ctx->devices.given_up = true;
        return 0;
    }
    if (lost)
        return -1;
    return error_set(
        err, err->code,
        "%s; NCCL_DEBUG=INFO shows more, and --device-collectives=host does "
        "without NCCL (--device-collectives=auto if it fails)",
        err->text);
}

int session_devices_group(raytrain_context *ctx, struct comm *comm, int device, int id,
                          struct device_group **out, bool *lost, struct error *err)
{
    const struct run_config *cfg = &ctx->env.config->run_config;
    struct device_group_env env = {.comm = comm,
                                   .device = device,
                                   .id = id,
                                   .share = group_id_share,
                                   .share_arg = ctx,
                                   .limit_s = cfg->failure_config.start_timeout_s,
                                   .announce = announce,
                                   .absent = absent,
                                   .absent_arg = ctx,
                                   .lost = lost};
    struct error why = {0};

    *out = NULL;
    *lost = false;
    if (cfg->device_collectives == COLLECTIVES_HOST || ctx->devices.given_up)
        return 0;
    if (device_group_create(&env, out, &why, err) < 0)
        return failure_take(ctx, *lost, err);
    if (!*out)
        staged(ctx, &why);
    return 0;
}

int session_devices(raytrain_context *ctx, const raytrain_tensor *tensor,
                    struct device_group **out, struct error *err)
{
    struct session_devices *c = &ctx->devices;
    bool lost;

    *out = c->group;
    if (c->asked)
        return 0;
    if (session_devices_group(ctx, ctx->user, (int)tensor->device, tensor->device_id,
                              out, &lost, err) < 0) {
        c->lost = lost;
        return -1;
    }
    c->group = *out;
    c->asked = true;
    c->device = (int)tensor->device;
    c->id = tensor->device_id;
    return 0;
}
