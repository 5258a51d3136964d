/*
 * session.c - what all calls of a session need: the session of this process, the place
 * of its worker, and its communicators.
 */
#include "session/session.h"

static raytrain_context *current;

raytrain_context *session_current(void)
{
    return current;
}

void session_current_set(raytrain_context *ctx)
{
    current = ctx;
}

/* ---- The worker's place ---- */

int raytrain_rank(const raytrain_context *ctx)
{
    return ctx ? ctx->env.world->rank : -1;
}

int raytrain_world_size(const raytrain_context *ctx)
{
    return ctx ? ctx->env.world->size : -1;
}

int raytrain_local_rank(const raytrain_context *ctx)
{
    return ctx ? ctx->env.world->local_rank : -1;
}

int raytrain_local_world_size(const raytrain_context *ctx)
{
    return ctx ? ctx->env.world->local_size : -1;
}

int raytrain_node_rank(const raytrain_context *ctx)
{
    return ctx ? ctx->env.world->node_rank : -1;
}

int raytrain_node_count(const raytrain_context *ctx)
{
    return ctx ? ctx->env.world->n_nodes : -1;
}

int raytrain_args(const raytrain_context *ctx, char ***argv)
{
    if (argv)
        *argv = ctx ? ctx->env.argv : NULL;
    return ctx ? ctx->env.argc : 0;
}

/* ---- Communicators ---- */

static struct comm *
comm_once(raytrain_context *ctx, struct comm **slot,
          int (*make)(struct comm *, struct comm **, struct error *), struct error *err)
{
    if (!*slot && make(ctx->comm, slot, err) < 0) {
        *slot = NULL;
        return NULL;
    }
    if (!(*slot)->waiting) {
        (*slot)->waiting = collective_wait_hook;
        (*slot)->waiting_arg = &ctx->waiting;
    }
    return *slot;
}

struct comm *session_user_comm(raytrain_context *ctx, struct error *err)
{
    if (ctx->devices.lost) {
        error_set(err, RAYTRAIN_ECOMM,
                  "a rank did not connect its GPU with those of the others, which "
                  "ended the collectives of all ranks");
        return NULL;
    }
    return comm_once(ctx, &ctx->user, ctx->comm->ops->dup, err);
}

struct comm *session_store_comm(raytrain_context *ctx, struct error *err)
{
    return comm_once(ctx, &ctx->store, ctx->comm->ops->dup, err);
}

struct comm *session_node_comm(raytrain_context *ctx, struct error *err)
{
    return comm_once(ctx, &ctx->node, ctx->comm->ops->split_node, err);
}
