/*
 * device_batches.c - batches of a dataset on a GPU: a place of dataset.h, with the
 * columns one after the other in the slots of a feed (device/feed.h).
 *
 * Columns whose rows have one size are copied: numbers, and the codes of words.
 */
#include "session/session.h"

#include <stdlib.h>
#include <string.h>

#include "device/feed.h"
#include "session/datasets.h"

#define ALIGNMENT ((size_t)256) /* that of memory which a GPU allocates */
#define ELSEWHERE SIZE_MAX

struct device_batches {
    const struct frame *schema; /* of the dataset */
    int device, device_id;
    struct device_feed *feed;
    size_t
        *places[2]; /* of each batch: where its columns are in the slot, or ELSEWHERE */
};

static bool is_copied(const struct frame_column *c)
{
    return c->kind == FRAME_NUMBERS || c->kind == FRAME_WORDS;
}

/* Find the places of the columns of a batch. Returns the bytes of all. */
static size_t places_find(const struct device_batches *b, const struct frame *batch,
                          size_t *places)
{
    size_t n = 0;

    for (size_t i = 0; i < b->schema->n_columns; i++) {
        const struct frame_column *c = &b->schema->columns[i];
        size_t bytes = is_copied(c) ? frame_row_bytes(c) * batch->rows : 0;

        places[i] = is_copied(c) ? n : ELSEWHERE;
        n += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return n;
}

static int batch_fill(void *arg, int number, const struct frame *batch,
                      struct error *err)
{
    struct device_batches *b = arg;
    const size_t *places = b->places[number];
    size_t n = places_find(b, batch, b->places[number]);
    unsigned char *room;

    n = n > 0 ? n : ALIGNMENT; /* no rows */
    room = device_feed_room(b->feed, number, n, err);
    if (!room)
        return -1;
    for (size_t i = 0; i < b->schema->n_columns; i++) {
        const struct frame_column *like = &b->schema->columns[i];
        const struct frame_column *c =
            places[i] == ELSEWHERE ? NULL : frame_find(batch, like->name);

        if (c && batch->rows > 0)
            memcpy(room + places[i], c->data, frame_row_bytes(like) * batch->rows);
    }
    return device_feed_send(b->feed, number, n, err);
}

static int batch_turn(void *arg, int number, struct error *err)
{
    const struct device_batches *b = arg;

    return device_feed_turn(b->feed, number, err);
}

static void batch_show(void *arg, int number, size_t i, raytrain_tensor *tensor)
{
    const struct device_batches *b = arg;

    if (b->places[number][i] == ELSEWHERE)
        return;
    tensor->data = (char *)device_feed_memory(b->feed, number) + b->places[number][i];
    tensor->device = b->device;
    tensor->device_id = b->device_id;
}

static void batches_destroy(void *arg)
{
    struct device_batches *b = arg;

    if (!b)
        return;
    device_feed_destroy(b->feed);
    free(b->places[0]);
    free(b->places[1]);
    free(b);
}

static struct device_batches *batches_create(const raytrain_dataset *ds, int device,
                                             int device_id, struct error *err)
{
    struct device_batches *b = calloc(1, sizeof *b);

    if (b) {
        b->schema = dataset_schema(ds);
        b->device = device;
        b->device_id = device_id;
        b->places[0] = calloc(b->schema->n_columns + 1, sizeof *b->places[0]);
        b->places[1] = calloc(b->schema->n_columns + 1, sizeof *b->places[1]);
    }
    if (!b || !b->places[0] || !b->places[1]) {
        error_no_memory(err);
        batches_destroy(b);
        return NULL;
    }
    if (device_feed_create(device, device_id, &b->feed, err) < 0) {
        batches_destroy(b);
        return NULL;
    }
    return b;
}

/* Is there anything for a GPU? */
static int columns_check(const raytrain_dataset *ds, struct error *err)
{
    const struct frame *schema = dataset_schema(ds);

    for (size_t i = 0; i < schema->n_columns; i++)
        if (is_copied(&schema->columns[i]))
            return 0;
    return error_set(err, RAYTRAIN_ETYPE,
                     "dataset \"%s\": it has no column of numbers or words; texts and "
                     "sparse vectors stay in host memory",
                     dataset_name(ds));
}

int session_dataset_to_device(raytrain_dataset *ds, int device, int device_id,
                              struct error *err)
{
    struct device_batches *b;

    if (columns_check(ds, err) < 0)
        return -1;
    b = batches_create(ds, device, device_id, err);
    if (!b)
        return error_prefix(err, "dataset \"%s\"", dataset_name(ds));
    if (dataset_set_place(ds,
                          &(struct batch_place){.arg = b,
                                                .fill = batch_fill,
                                                .turn = batch_turn,
                                                .show = batch_show,
                                                .destroy = batches_destroy},
                          err) < 0) {
        batches_destroy(b);
        return -1;
    }
    return 0;
}
