/*
 * checkpoint_state.h - what the companion keeps for its client's checkpoints: those
 * that are open, and memory shared with the client.
 */
#ifndef RAYTRAIN_COMMAND_CHECKPOINT_STATE_H
#define RAYTRAIN_COMMAND_CHECKPOINT_STATE_H

#include "checkpoint/checkpoint.h"
#include "command/companion.h"
#include "command/shared_buffer.h"

/* A checkpoint that the client reads. */
struct open_checkpoint {
    struct open_checkpoint *next;
    int64_t id;
    raytrain_checkpoint *ck;
};

struct checkpoint_state {
    struct shared_buffers buffers;
    struct open_checkpoint *opened;
    int64_t ids;
    int sent; /* the descriptor of the latest reply, still open here; -1: none */
};

/* Created at its first use; NULL without memory. */
struct checkpoint_state *checkpoint_state(struct companion *c);
/* Close all checkpoints, and free the state, if there is one. */
void checkpoint_state_clear(struct companion *c);
/* Close the descriptor in the latest reply. */
void checkpoint_sent_close(struct checkpoint_state *state);
/* Remove *at from the list, and close it. */
void checkpoint_opened_close(struct open_checkpoint **at);

#endif
