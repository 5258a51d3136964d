/*
 * client_checkpoint.c - what checkpoints of dicts and of directories have in common:
 * the client copies its part into shared memory, and the texts of Python are put.
 */
#include "config.h"

#include "command/client_checkpoint.h"

#include "checkpoint/checkpoint.h"
#include "command/checkpoint_state.h"

/* With the buffers that are kept: the client unmaps all others. */
static json_t *question_make(const struct shared_buffers *all,
                             const struct shared_buffer *b, bool sharded)
{
    json_t *kept = json_array();

    for (int i = 0; i < SHARED_BUFFERS; i++)
        if (all->kept[i])
            json_array_append_new(kept, json_integer(all->kept[i]->id));
    return json_pack("{s:s, s:I, s:I, s:o, s:s}", "ask", "copy", "buffer",
                     (json_int_t)b->id, "bytes", (json_int_t)b->size, "kept", kept,
                     "what", sharded ? "shards" : "all");
}

/* If the client cannot copy, its answer is an error. */
static int answer_check(const json_t *answer, struct error *err)
{
    const json_t *error = json_object_get(answer, "error");
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *text = json_string_value(json_object_get(error, "text"));

    if (!error)
        return 0;
    return error_set(err, code ? wire_code(code) : RAYTRAIN_EFAILED, "%s",
                     text ? text : "the checkpoint could not be copied");
}

static int copy_ask(struct client_checkpoint *m, const struct shared_buffers *all,
                    bool sharded, struct error *err)
{
    json_t *question = question_make(all, m->buffer, sharded);
    struct wire_message answer;
    int rc;

    if (!question)
        return error_no_memory(err);
    if (companion_ask(m->c, question, &m->buffer->fd, m->buffer->known ? 0 : 1, &answer,
                      err) < 0)
        return -1;
    m->buffer->known = true;
    rc = answer_check(answer.text, err);
    wire_clear(&answer);
    return rc;
}

int client_checkpoint_copy(struct client_checkpoint *m, bool sharded, struct error *err)
{
    struct checkpoint_state *state = checkpoint_state(m->c);
    int n_sharing = m->n_offers > 1 ? raytrain_local_world_size(m->c->ctx) : 1;
    uint64_t bytes;

    if (!state)
        return error_no_memory(err);
    if (offer_lay_out(&m->own, sharded, &bytes, err) < 0)
        return -1;
    if (bytes == 0)
        return 0;
    if (shared_buffers_take(&state->buffers, bytes, n_sharing, &m->buffer, err) < 0)
        return -1;
    return copy_ask(m, &state->buffers, sharded, err);
}

void client_checkpoint_release(void *data, void *buffer)
{
    (void)data;
    shared_buffer_release(buffer);
}

int client_checkpoint_put_texts(struct client_checkpoint *m, const char *structure,
                                const char *metadata, struct error *err)
{
    if (checkpoint_put_string(m->ck, PYTHON_STRUCTURE, structure, err) < 0)
        return -1;
    if (!metadata)
        return 0;
    return checkpoint_put_string(m->ck, PYTHON_METADATA, metadata, err);
}
