/*
 * loader_positions.c - the positions of data loaders in a checkpoint. They are texts of
 * the clients (_positions.py), not parsed here, and stored as one tensor of bytes: row
 * R is the text of rank R, padded with zeros. Rows after the last rank that has a text
 * are left out; usually only rank 0 has one.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "command/client_checkpoint.h"

/* A multiple of this, so that usually the next checkpoint can have the same layout. */
#define WIDTH_UNIT 256
#define WIDTH_MAX  (1u << 22)

/* ---- Put ---- */

static void position_release(void *data, void *arg)
{
    (void)arg;
    free(data);
}

static int position_put(struct client_checkpoint *m, const raytrain_tensor *shape,
                        struct error *err)
{
    size_t rank = (size_t)m->comm->rank, width = shape->shape[1];
    raytrain_slab slab = {.start = {rank}, .count = {1, width}};
    raytrain_tensor tensor = *shape;
    char *row = calloc(1, width);

    if (!row)
        return error_no_memory(err);
    if (m->position)
        memcpy(row, m->position, m->summaries[rank].position_bytes);
    tensor.data = row;
    if (checkpoint_give(m->ck, LOADER_POSITIONS, &tensor, &slab, position_release, NULL,
                        err) < 0) {
        free(row);
        return -1;
    }
    return 0;
}

int client_checkpoint_put_positions(struct client_checkpoint *m, struct error *err)
{
    const raytrain_slab none = {.count = {0}};
    raytrain_tensor tensor = {.dtype = RAYTRAIN_UINT8, .ndim = 2};
    uint64_t longest = 0;

    for (int r = 0; r < m->comm->size; r++) {
        if (m->summaries[r].position_bytes == 0)
            continue;
        tensor.shape[0] = (uint64_t)r + 1;
        if (m->summaries[r].position_bytes > longest)
            longest = m->summaries[r].position_bytes;
    }
    if (longest == 0)
        return 0;
    tensor.shape[1] = (longest / WIDTH_UNIT + 1) * WIDTH_UNIT;
    if (tensor.shape[1] > WIDTH_MAX)
        return error_set(err, RAYTRAIN_EINVAL,
                         "the positions of data loaders are too long: %llu bytes",
                         (unsigned long long)longest);
    if ((uint64_t)m->comm->rank < tensor.shape[0])
        return position_put(m, &tensor, err);
    return checkpoint_put(m->ck, LOADER_POSITIONS, &tensor, &none, err);
}

/* ---- Get ---- */

/* A new reference. */
static json_t *position_get(raytrain_checkpoint *ck, const raytrain_tensor *shape,
                            int rank, struct error *err)
{
    uint64_t width = shape->shape[1];
    raytrain_slab slab = {.start = {(uint64_t)rank}, .count = {1, width}};
    raytrain_tensor tensor = *shape;
    char *row;
    json_t *text = NULL;

    if ((uint64_t)rank >= shape->shape[0])
        return json_string("");
    row = calloc(1, width + 1);
    tensor.data = row;
    if (!row)
        error_no_memory(err);
    else if (checkpoint_get(ck, LOADER_POSITIONS, &tensor, &slab, err) == 0 &&
             !(text = json_string(row)))
        error_set(err, RAYTRAIN_ECORRUPT, "%s: %s does not hold texts",
                  checkpoint_path(ck), LOADER_POSITIONS);
    free(row);
    return text;
}

json_t *loader_positions_json(raytrain_checkpoint *ck, int rank, struct error *err)
{
    raytrain_tensor shape = {0};
    json_t *first = NULL, *own = NULL;
    size_t i;

    if (!checkpoint_item_find(ck, LOADER_POSITIONS, &i))
        return json_pack("[s, s]", "", "");
    if (checkpoint_info(ck, LOADER_POSITIONS, &shape, err) < 0)
        return NULL;
    if (shape.dtype != RAYTRAIN_UINT8 || shape.ndim != 2 ||
        shape.shape[1] > WIDTH_MAX) {
        error_set(err, RAYTRAIN_ECORRUPT,
                  "%s: %s does not hold what raytrain writes there",
                  checkpoint_path(ck), LOADER_POSITIONS);
        return NULL;
    }
    first = position_get(ck, &shape, 0, err);
    own = first ? position_get(ck, &shape, rank, err) : NULL;
    if (!own) {
        json_decref(first);
        return NULL;
    }
    return json_pack("[o, o]", first, own);
}
