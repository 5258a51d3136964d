/*
 * rows_batch.c - pack pieces of requests into a message, and distribute an answer to
 * them. service_wire.h has the layout of messages.
 */
#include "service/rows_batch.h"

#include <stdlib.h>
#include <string.h>

/* ---- Pack ---- */

/* Bytes of the texts of column i in all pieces. */
static uint64_t text_bytes(const struct rows_batch *b, size_t i)
{
    uint64_t bytes = 0;

    for (const struct piece *p = b->pieces; p; p = p->next) {
        const uint64_t *offsets = p->q->inputs[i].offsets;

        bytes += offsets[p->first + p->n] - offsets[p->first];
    }
    return bytes;
}

static void numbers_pack(const struct rows_batch *b, size_t i, uint64_t width,
                         unsigned char *to)
{
    for (const struct piece *p = b->pieces; p; p = p->next) {
        memcpy(to, p->q->inputs[i].data + p->first * width, p->n * width);
        to += p->n * width;
    }
}

static void texts_pack(const struct rows_batch *b, size_t i, unsigned char *to)
{
    uint64_t *offsets = (uint64_t *)(void *)to, at = 0;
    unsigned char *bytes = to + (b->rows + 1) * sizeof(uint64_t);

    for (const struct piece *p = b->pieces; p; p = p->next) {
        const struct service_rows *in = &p->q->inputs[i];
        uint64_t from = in->offsets[p->first];
        uint64_t n = in->offsets[p->first + p->n] - from;

        for (uint64_t row = 0; row < p->n; row++)
            *offsets++ = at + in->offsets[p->first + row] - from;
        memcpy(bytes + at, in->data + from, n);
        at += n;
    }
    *offsets = at;
}

/* Where the columns are; then the gaps between them are zero. */
static int payload_make(struct rows_batch *b, const struct service_column inputs[],
                        size_t n, uint64_t text_sizes[], uint64_t places[],
                        struct error *err)
{
    uint64_t room;

    for (size_t i = 0; i < n; i++)
        text_sizes[i] = inputs[i].kind == SERVICE_TEXT ? text_bytes(b, i) : 0;
    if (service_layout(inputs, n, b->rows, text_sizes, places, &b->bytes, err) < 0)
        return -1;
    room = (b->bytes / SERVICE_ALIGN + 1) * SERVICE_ALIGN;
    b->payload = aligned_alloc(SERVICE_ALIGN, room);
    if (!b->payload)
        return error_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        uint64_t end = i + 1 < n ? places[i + 1] : room;

        memset(b->payload + (end - SERVICE_ALIGN), 0, SERVICE_ALIGN);
    }
    return 0;
}

int rows_batch_pack(struct rows_batch *b, const struct service_column inputs[],
                    size_t n, struct error *err)
{
    uint64_t *places = calloc(2 * n + 1, sizeof *places);
    int rc = places ? payload_make(b, inputs, n, places + n, places, err)
                    : error_no_memory(err);

    for (size_t i = 0; rc == 0 && i < n; i++) {
        if (inputs[i].kind == SERVICE_TEXT)
            texts_pack(b, i, b->payload + places[i]);
        else
            numbers_pack(b, i, service_row_bytes(&inputs[i]), b->payload + places[i]);
    }
    free(places);
    return rc;
}

void rows_batch_sent(struct rows_batch *b)
{
    free(b->payload);
    b->payload = NULL;
}

/* ---- The answer ---- */

int rows_batch_answer(struct rows_batch *b, const struct service_column outputs[],
                      size_t n, uint64_t rows, const unsigned char *payload,
                      uint64_t bytes, struct error *err)
{
    struct service_rows *found = calloc(n + 1, sizeof *found);
    uint64_t at = 0;
    int rc = found ? 0 : error_no_memory(err);

    if (rc == 0 && rows != b->rows)
        rc = error_set(err, RAYTRAIN_ECORRUPT,
                       "a worker answered %llu rows with %llu rows",
                       (unsigned long long)b->rows, (unsigned long long)rows);
    if (rc == 0)
        rc = service_find(outputs, n, rows, payload, bytes, found, err);
    for (const struct piece *p = b->pieces; rc == 0 && p; p = p->next) {
        if (p->q && rows_request_take(p->q, found, at, p->first, p->n) < 0)
            rows_request_fail(p->q, 503, "out of memory for the answer");
        at += p->n;
    }
    free(found);
    return rc;
}

void rows_batch_destroy(struct rows_batch *b)
{
    if (!b)
        return;
    while (b->pieces) {
        struct piece *p = b->pieces;

        b->pieces = p->next;
        free(p);
    }
    free(b->payload);
    free(b);
}
