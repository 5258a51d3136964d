/*
 * card_group.c - the group of cards (device/group.h) on which the user's collectives of tensors
 * are, if there can be one: made by the first such call.
 */
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

#include "rank/event.h"
#include "wireup/wireup.h"

bool session_cards_may(const raytrain_context *ctx, const raytrain_tensor *tensor)
{
    const struct session_cards *c = &ctx->cards;

    if (tensor->device == RAYTRAIN_HOST)
        return false;
    return !c->asked ||
           (c->group && (int)tensor->device == c->device && tensor->device_id == c->id);
}

int session_cards_share(void *arg, void *id, size_t n, struct error *err)
{
    const raytrain_context *ctx = arg;
    struct wireup *w = ctx->env.wireup;
    size_t n_got = 0;
    void *got;
    int rc = 0;

    if (!w)
        return ctx->comm->ops->bcast(ctx->comm, id, n, 0, err);
    if (wireup_exchange(w, "cards", id, ctx->comm->rank == 0 ? n : 0, err) < 0)
        return -1;
    if (ctx->comm->rank == 0)
        return 0;
    if (wireup_peer_get(w, 0, "cards", &got, &n_got, err) < 0)
        return -1;
    if (n_got == n)
        memcpy(id, got, n);
    else
        rc = error_set(err, RAYTRAIN_ECOMM, "%zu bytes from rank 0 instead of %zu",
                       n_got, n);
    free(got);
    return rc;
}

void session_cards_staged(raytrain_context *ctx, const struct error *why)
{
    if (!ctx->cards.said && ctx->comm->rank == 0)
        event_add(ctx->env.log_dir, EVENT_WARNING,
                  "collectives of tensors on cards go through host memory: %s",
                  why->text);
    ctx->cards.said = true;
}

int session_cards(raytrain_context *ctx, const raytrain_tensor *tensor,
                  struct device_group **out, struct error *err)
{
    struct device_group_env env = {.comm = ctx->user,
                                   .device = (int)tensor->device,
                                   .id = tensor->device_id,
                                   .share = session_cards_share,
                                   .share_arg = ctx};
    struct session_cards *c = &ctx->cards;
    struct error why = {0};

    *out = c->group;
    if (c->asked)
        return 0;
    if (device_group_create(&env, out, &why, err) < 0)
        return -1;
    c->group = *out;
    c->asked = true;
    c->device = (int)tensor->device;
    c->id = tensor->device_id;
    if (!c->group)
        session_cards_staged(ctx, &why);
    return 0;
}
