/* checkpoint_state.c - creates and clears what checkpoint_state.h describes. */
#include "config.h"

#include "command/checkpoint_state.h"

#include <stdlib.h>
#include <unistd.h>

struct checkpoint_state *checkpoint_state(struct companion *c)
{
    struct checkpoint_state *state = c->state[CHECKPOINT_FAMILY];

    if (state)
        return state;
    state = calloc(1, sizeof *state);
    if (state)
        state->sent = -1;
    c->state[CHECKPOINT_FAMILY] = state;
    return state;
}

void checkpoint_sent_close(struct checkpoint_state *state)
{
    if (state->sent >= 0)
        close(state->sent);
    state->sent = -1;
}

void checkpoint_opened_close(struct open_checkpoint **at)
{
    struct open_checkpoint *o = *at;

    *at = o->next;
    checkpoint_destroy(o->ck);
    free(o);
}

void checkpoint_state_clear(struct companion *c)
{
    struct checkpoint_state *state = c->state[CHECKPOINT_FAMILY];

    if (!state)
        return;
    checkpoint_sent_close(state);
    while (state->opened)
        checkpoint_opened_close(&state->opened);
    shared_buffers_clear(&state->buffers);
    free(state);
    c->state[CHECKPOINT_FAMILY] = NULL;
}
