/*
 * call_match.c - do all ranks make the same collective call?
 *
 * Each such call of the user begins with one exchange, on a communicator of its own,
 * that names the call. If ranks do not make the same calls in the same order and with
 * the same arguments, all of them learn of it in that exchange, and report what each of
 * them did: the result is an error with that text, not a wrong number or a hang.
 *
 * If the companion of a command was asked to end before the command used its session,
 * it tells the others in that exchange: then the training has stopped.
 *
 * A call with GPU memory is of another kind than one with host memory. If ranks
 * disagree only in that, all of them make the call again with host memory.
 */
#include "session/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/collectives.h"
#include "util/rank_list.h"

void session_call_say(const void *name, char text[CALL_TEXT_MAX])
{
    snprintf(text, CALL_TEXT_MAX, "called %s()", (const char *)name);
}

/* What a rank did, as text. */
struct call_text {
    char text[CALL_TEXT_MAX];
    int kind;
    bool ended;
};

/* The ranks that have the same text as rank `as`. */
static const char *ranks_as(const struct call_text *all, int size, int as, bool *in,
                            char list[RANK_LIST_MAX])
{
    for (int r = 0; r < size; r++)
        in[r] = strcmp(all[r].text, all[as].text) == 0;
    return rank_list(in, size, list);
}

static int disagreement_explain(const struct call_text *all, int size,
                                struct error *err)
{
    char some[RANK_LIST_MAX], others[RANK_LIST_MAX];
    bool *in = calloc((size_t)size, sizeof *in);
    int other = 1;

    if (!in)
        return error_no_memory(err);
    while (other < size && strcmp(all[other].text, all[0].text) == 0)
        other++;
    if (other == size)
        error_set(err, RAYTRAIN_ECOMM,
                  "the workers do not agree: all of them %s, but not with the same "
                  "arguments",
                  all[0].text);
    else
        error_set(err, RAYTRAIN_ECOMM,
                  "the workers do not agree: %s %s, but %s %s. Every worker makes the "
                  "same calls in the same order",
                  ranks_as(all, size, 0, in, some), all[0].text,
                  ranks_as(all, size, other, in, others), all[other].text);
    free(in);
    return -1;
}

/* May ranks make this call with memory in different places? Then its text names all of
 * the arguments. */
static bool has_any_place(int kind)
{
    return kind == CALL_ALLREDUCE || kind == CALL_ALLREDUCE_LARGE ||
           kind == CALL_ALLREDUCE_DEVICES || kind == CALL_BROADCAST ||
           kind == CALL_BROADCAST_DEVICES || kind == CALL_ALLGATHER ||
           kind == CALL_ALLGATHER_DEVICES;
}

/* Do the ranks make the same call, with memory in different places? */
static bool places_differ(const struct call_text *all, int size)
{
    bool differ = false;

    for (int r = 1; r < size; r++) {
        if (strcmp(all[r].text, all[0].text) != 0)
            return false;
        differ = differ || all[r].kind != all[0].kind;
    }
    return differ && has_any_place(all[0].kind);
}

int session_over(raytrain_context *ctx, int rank, struct error *err)
{
    ctx->over = true;
    return error_set(err, RAYTRAIN_ESTOPPED,
                     "stopped on request: the command of rank %d was asked to end",
                     rank);
}

/* The first rank that was asked to end; -1: none. */
static int first_ended(const struct call_text *all, int size)
{
    int r = 0;

    while (r < size - 1 && !all[r].ended)
        r++;
    return all[r].ended ? r : -1;
}

/* COLLECTIVE: all ranks call it, or none. 1 on every rank, instead of -1: they must
 * make the call again, with host memory. */
static int call_disagreement(raytrain_context *ctx, const struct session_call *call,
                             struct error *err)
{
    struct comm *comm = ctx->user;
    struct call_text mine = {.kind = (int)call->kind, .ended = ctx->ended_on_request},
                     *all = calloc((size_t)comm->size, sizeof *all);
    int rc = all ? 0 : error_no_memory(err);

    call->say(call->arg, mine.text);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = comm->ops->allgather(comm, &mine, sizeof mine, all, err);
    if (rc == 0 && first_ended(all, comm->size) >= 0)
        rc = session_over(ctx, first_ended(all, comm->size), err);
    else if (rc == 0)
        rc = places_differ(all, comm->size)
                 ? 1
                 : disagreement_explain(all, comm->size, err);
    free(all);
    return rc;
}

/* 1: as call_disagreement(); then the contents of buf are undefined. */
static int match(raytrain_context *ctx, const struct session_call *call, void *buf,
                 size_t n, enum comm_type type, enum comm_op op, struct error *err)
{
    const struct backend *backend = ctx->env.backend;
    struct comm *comm = session_user_comm(ctx, err);
    bool same = true;

    if (ctx->over) /* the other ranks no longer make calls */
        return error_set(err, RAYTRAIN_ESTOPPED, "stopped on request");
    if (backend->ops->on_call && backend->ops->on_call(backend, err) < 0)
        return -1;
    if (device_groups_check(err) < 0)
        return -1;
    if (!comm || comm->ops->allreduce_matched(comm, call->kind, buf, n, type, op, &same,
                                              err) < 0)
        return -1;
    return same ? 0 : call_disagreement(ctx, call, err);
}

int session_match(raytrain_context *ctx, const struct session_call *call, void *buf,
                  size_t n, enum comm_type type, enum comm_op op, struct error *err)
{
    unsigned char kept[COMM_MATCHED_BYTES];
    size_t bytes = n * comm_type_size(type);
    int rc;

    if (has_any_place((int)call->kind))
        memcpy(kept, buf, bytes);
    rc = match(ctx, call, buf, n, type, op, err);
    if (rc <= 0)
        return rc;
    memcpy(buf, kept, bytes);
    collective_wait_begin(&ctx->waiting, ctx->waiting.call);
    rc = match(ctx, call, buf, n, type, op, err);
    return rc <= 0 ? rc
                   : error_set(err, RAYTRAIN_ECOMM,
                               "the workers do not agree on where their memory is");
}

/* A number as two, whose minima show whether it is the same on all ranks. */
static void lanes_fill(int64_t lanes[2], uint64_t number)
{
    lanes[0] = (int64_t)(number >> 1);
    lanes[1] = -lanes[0];
}

int session_match_arguments(raytrain_context *ctx, const struct session_call *call,
                            uint64_t arguments, struct error *err)
{
    int64_t lanes[2];

    lanes_fill(lanes, arguments);
    if (session_match(ctx, call, lanes, 2, COMM_INT64, COMM_MIN, err) < 0)
        return -1;
    return lanes[0] == -lanes[1] ? 0 : call_disagreement(ctx, call, err);
}

int session_match_devices(raytrain_context *ctx, const struct session_call *call,
                          uint64_t arguments, bool *devices, struct error *err)
{
    int64_t lanes[2];
    int rc;

    lanes_fill(lanes, arguments);
    rc = match(ctx, call, lanes, 2, COMM_INT64, COMM_MIN, err);
    *devices = rc == 0;
    if (rc < 0)
        return -1;
    return rc > 0 || lanes[0] == -lanes[1] ? 0 : call_disagreement(ctx, call, err);
}
