/* checkpoint_offer.c - parses and compares what clients offer as their checkpoints. */
#include "config.h"
#include "command/checkpoint_offer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/slab.h"
#include "util/quote.h"

/* ---- Numbers, types ---- */

static int entry_error(const struct offer_entry *e, const char *why, struct error *err)
{
    char quoted[QUOTE_TEXT_MAX];

    return error_set(err, RAYTRAIN_EINVAL, "the offered checkpoint: %s %s",
                     e->name ? quote(e->name, quoted) : "an entry", why);
}

/* Returns the number of sizes; -1: not a list of at most RAYTRAIN_MAX_DIMS sizes. */
static int sizes_parse(const json_t *json, uint64_t *sizes)
{
    size_t n = json_array_size(json);

    if (!json_is_array(json) || n > RAYTRAIN_MAX_DIMS)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const json_t *size = json_array_get(json, i);

        if (!json_is_integer(size) || json_integer_value(size) < 0)
            return -1;
        sizes[i] = (uint64_t)json_integer_value(size);
    }
    return (int)n;
}

static raytrain_dtype dtype_parse(const char *name)
{
    for (int t = RAYTRAIN_FLOAT32; t <= RAYTRAIN_BYTES; t++)
        if (strcmp(name, raytrain_dtype_name((raytrain_dtype)t)) == 0)
            return (raytrain_dtype)t;
    return 0;
}

/* ---- Entries ---- */

/* Parse start and count, and compute the bytes; -1 if they are not valid. */
static int slab_parse(const json_t *row, struct offer_entry *e)
{
    raytrain_tensor *t = &e->tensor;
    uint64_t element = raytrain_dtype_size(t->dtype);

    e->sharded = true;
    if (t->ndim == 0 || sizes_parse(json_array_get(row, 3), e->slab.start) != t->ndim ||
        sizes_parse(json_array_get(row, 4), e->slab.count) != t->ndim ||
        slab_check(t->ndim, t->shape, &e->slab, NULL) < 0)
        return -1;
    return slab_tensor_bytes(t->ndim, e->slab.count, element, &e->bytes);
}

static int tensor_parse(const json_t *row, struct offer_entry *e, struct error *err)
{
    const char *type = json_string_value(json_array_get(row, 1));
    const json_t *fourth = json_array_get(row, 3);
    raytrain_tensor *t = &e->tensor;

    t->dtype = type ? dtype_parse(type) : 0;
    if (t->dtype == 0)
        return entry_error(e, "has a type that a checkpoint cannot hold", err);
    t->ndim = sizes_parse(json_array_get(row, 2), t->shape);
    if (t->ndim < 0 || slab_tensor_bytes(t->ndim, t->shape,
                                         raytrain_dtype_size(t->dtype), &e->bytes) < 0)
        return entry_error(e, "has an impossible shape", err);
    if (json_array_size(row) == 5)
        return slab_parse(row, e) == 0
                   ? 0
                   : entry_error(e, "is a slab outside its tensor", err);
    e->own = fourth && json_is_string(fourth) &&
             strcmp(json_string_value(fourth), "own") == 0;
    if (json_array_size(row) > 4 || (fourth && !e->own))
        return entry_error(e, "is neither a tensor nor a slab", err);
    return 0;
}

static int entry_parse(const json_t *row, struct offer_entry *e, struct error *err)
{
    const char *type = json_string_value(json_array_get(row, 1));

    e->name = json_string_value(json_array_get(row, 0));
    if (!e->name)
        return entry_error(e, "has no name", err);
    if (strncmp(e->name, CHECKPOINT_ATTACHED "/", strlen(CHECKPOINT_ATTACHED "/")) == 0)
        return entry_error(e, "has the name of a file", err);
    if (!type || strcmp(type, "string") != 0)
        return tensor_parse(row, e, err);
    e->text = json_string_value(json_array_get(row, 2));
    return e->text ? 0 : entry_error(e, "is a string without a text", err);
}

static int file_parse(const json_t *row, struct offer_entry *e, struct error *err)
{
    const json_t *size = json_array_get(row, 1);

    e->name = json_string_value(json_array_get(row, 0));
    if (!e->name || !json_is_integer(size) || json_integer_value(size) < 0)
        return entry_error(e, "is a file without a name or a size", err);
    e->bytes = (uint64_t)json_integer_value(size);
    e->tensor =
        (raytrain_tensor){.dtype = RAYTRAIN_BYTES, .ndim = 1, .shape = {e->bytes}};
    return 0;
}

/* ---- The offer ---- */

static int offer_kind_parse(const json_t *json, struct offer *offer, struct error *err)
{
    const char *kind = json_string_value(json_object_get(json, "kind"));

    offer->structure = json_string_value(json_object_get(json, "structure"));
    offer->metadata = json_string_value(json_object_get(json, "metadata"));
    if (kind && strcmp(kind, "dict") == 0 && offer->structure)
        offer->kind = OFFER_DICT;
    else if (kind && strcmp(kind, "directory") == 0)
        offer->kind = OFFER_DIRECTORY;
    else
        return error_set(err, RAYTRAIN_EINVAL,
                         "the offered checkpoint is neither a dict with its structure "
                         "nor a directory");
    return 0;
}

int offer_parse(const json_t *json, struct offer *offer, struct error *err)
{
    const json_t *rows = json_object_get(json, "entries");
    size_t n = json_array_size(rows);
    int rc = 0;

    *offer = (struct offer){0};
    if (!json)
        return 0;
    if (offer_kind_parse(json, offer, err) < 0)
        return -1;
    if (!json_is_array(rows))
        return error_set(err, RAYTRAIN_EINVAL,
                         "the offered checkpoint has no list of entries");
    offer->entries = calloc(n + 1, sizeof *offer->entries);
    if (!offer->entries)
        return error_no_memory(err);
    offer->n_entries = n;
    for (size_t i = 0; rc == 0 && i < n; i++)
        rc = (offer->kind == OFFER_DICT ? entry_parse : file_parse)(
            json_array_get(rows, i), &offer->entries[i], err);
    if (rc < 0)
        offer_clear(offer);
    return rc;
}

void offer_clear(struct offer *offer)
{
    free(offer->entries);
    *offer = (struct offer){0};
}

int offer_lay_out(struct offer *offer, bool sharded, uint64_t *bytes, struct error *err)
{
    const uint64_t largest = INT64_MAX - OFFER_ALIGNMENT;

    *bytes = 0;
    for (size_t i = 0; i < offer->n_entries; i++) {
        struct offer_entry *e = &offer->entries[i];

        if (e->text || (sharded && !e->sharded))
            continue;
        e->offset = (*bytes + OFFER_ALIGNMENT - 1) / OFFER_ALIGNMENT * OFFER_ALIGNMENT;
        if (e->offset > largest || e->bytes > largest - e->offset)
            return error_set(err, RAYTRAIN_EINVAL,
                             "the size of the offered checkpoint does not fit 63 bits");
        *bytes = e->offset + e->bytes;
    }
    return 0;
}

/* ---- What ranks must agree on ---- */

struct offer_entry *offer_common_next(const struct offer *offer,
                                      const struct offer_entry *e)
{
    size_t i = e ? (size_t)(e - offer->entries) + 1 : 0;

    while (i < offer->n_entries && (offer->entries[i].own || offer->entries[i].text))
        i++;
    return i < offer->n_entries ? &offer->entries[i] : NULL;
}

static bool entries_equal(const struct offer_entry *a, const struct offer_entry *b)
{
    if (strcmp(a->name, b->name) != 0 || a->sharded != b->sharded ||
        a->tensor.dtype != b->tensor.dtype || a->tensor.ndim != b->tensor.ndim)
        return false;
    return memcmp(a->tensor.shape, b->tensor.shape, sizeof a->tensor.shape) == 0;
}

#define ENTRY_TEXT_MAX (QUOTE_TEXT_MAX + 256)

/* "model/w" (float32 [3, 4]) */
static const char *entry_text(const struct offer_entry *e, char text[ENTRY_TEXT_MAX])
{
    char quoted[QUOTE_TEXT_MAX];
    int n;

    if (!e)
        return "nothing more";
    n = snprintf(text, ENTRY_TEXT_MAX, "%s (%s%s [", quote(e->name, quoted),
                 e->sharded ? "a Shard of " : "", raytrain_dtype_name(e->tensor.dtype));
    for (int d = 0; d < e->tensor.ndim; d++)
        n += snprintf(text + n, ENTRY_TEXT_MAX - (size_t)n, "%s%" PRIu64, d ? ", " : "",
                      e->tensor.shape[d]);
    snprintf(text + n, ENTRY_TEXT_MAX - (size_t)n, "])");
    return text;
}

int offer_compare(const struct offer *a, int rank_a, const struct offer *b, int rank_b,
                  struct error *err)
{
    const struct offer_entry *x = offer_common_next(a, NULL);
    const struct offer_entry *y = offer_common_next(b, NULL);
    char text_x[ENTRY_TEXT_MAX], text_y[ENTRY_TEXT_MAX];

    while (x && y && entries_equal(x, y)) {
        x = offer_common_next(a, x);
        y = offer_common_next(b, y);
    }
    if (!x && !y)
        return 0;
    return error_set(err, RAYTRAIN_EINVAL,
                     "the checkpoint of rank %d has %s where that of rank %d has %s: "
                     "report a dict of the same arrays on every rank, or on one rank "
                     "alone",
                     rank_a, entry_text(x, text_x), rank_b, entry_text(y, text_y));
}
