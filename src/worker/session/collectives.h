/*
 * collectives.h - how the ranks agree on collective calls.
 */
#ifndef RAYTRAIN_SESSION_COLLECTIVES_H
#define RAYTRAIN_SESSION_COLLECTIVES_H

#include "session/session.h"

/*
 * call_match.c: each collective call of the user begins with a check that all ranks
 * make the same call. If they do not: -1 and RAYTRAIN_ECOMM on every rank, with what
 * each of them did. If the command of some rank was asked to end, and makes no calls:
 * RAYTRAIN_ESTOPPED on every rank, from this call and all later ones.
 */
enum session_call_kind {
    CALL_REPORT,
    CALL_ALLREDUCE,
    CALL_ALLREDUCE_LARGE, /* more than a matched allreduce can combine */
    CALL_BROADCAST,
    CALL_ALLGATHER,
    CALL_BARRIER,
    CALL_REDUCER,
    CALL_REDUCER_GATHER,
    CALL_DATASET,
    CALL_CHECKPOINT_WAIT,
    CALL_OPEN,
    CALL_GRADIENTS,
    CALL_ALLREDUCE_DEVICES, /* on the GPUs of session_devices() */
    CALL_BROADCAST_DEVICES,
    CALL_ALLGATHER_DEVICES,
    CALL_GATHER,
    CALL_PREDICT
};
#define CALL_TEXT_MAX 160

struct session_call {
    enum session_call_kind kind;
    /* What this rank did, as text: "called raytrain_barrier()". */
    void (*say)(const void *arg, char text[CALL_TEXT_MAX]);
    const void *arg;
};

/* For a call without arguments: "called NAME()". */
void session_call_say(const void *name, char text[CALL_TEXT_MAX]);

/* Combines buf (comm_ops.allreduce_matched): the ranks must also agree on n, type and
 * op. */
int session_match(raytrain_context *ctx, const struct session_call *call, void *buf,
                  size_t n, enum comm_type type, enum comm_op op, struct error *err);
/* The same with a number that represents the arguments; its lowest bit is ignored. */
int session_match_arguments(raytrain_context *ctx, const struct session_call *call,
                            uint64_t arguments, struct error *err);
/* The same for a call with GPU memory. *devices: all ranks have GPU memory. Else they
 * make the call again, with host memory. */
int session_match_devices(raytrain_context *ctx, const struct session_call *call,
                          uint64_t arguments, bool *devices, struct error *err);
/* All ranks have learned that what trains on rank `rank` was asked to end: -1, and
 * RAYTRAIN_ESTOPPED in err. */
int session_over(raytrain_context *ctx, int rank, struct error *err);

#endif
