/*
 * worker_link.c - send batches to a worker and keep them in order until they are
 * answered. service_workers.c reads the answers.
 */
#include "service/worker_link.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int worker_link_create(int fd, uint64_t limit, struct worker_link **out,
                       struct error *err)
{
    struct worker_link *w = calloc(1, sizeof *w);
    int flags = fcntl(fd, F_GETFL);

    if (!w || flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        free(w);
        close(fd);
        return error_set(err, RAYTRAIN_ENOMEM, "out of memory for a worker");
    }
    w->fd = fd;
    service_reader_init(&w->in, limit);
    *out = w;
    return 0;
}

static void next_begin(struct worker_link *w)
{
    const struct rows_batch *b = w->batches[w->sent];

    service_writer_begin(&w->out, SERVICE_BATCH, b->id, b->rows, b->payload, b->bytes);
}

int worker_link_flush(struct worker_link *w, struct error *err)
{
    while (w->sent < w->n) {
        int rc = service_write(&w->out, w->fd, err);

        if (rc != SERVICE_DONE)
            return rc < 0 ? -1 : 0;
        rows_batch_sent(w->batches[w->sent++]);
        if (w->sent < w->n)
            next_begin(w);
    }
    return 0;
}

int worker_link_send(struct worker_link *w, struct rows_batch *b, struct error *err)
{
    w->batches[w->n++] = b;
    if (w->sent == w->n - 1)
        next_begin(w);
    return worker_link_flush(w, err);
}

bool worker_link_is_full(const struct worker_link *w)
{
    return w->sent < w->n;
}

struct rows_batch *worker_link_take(struct worker_link *w)
{
    struct rows_batch *b = w->n > 0 ? w->batches[0] : NULL;

    if (!b)
        return NULL;
    w->n--;
    for (size_t i = 0; i < w->n; i++)
        w->batches[i] = w->batches[i + 1];
    if (w->sent > 0)
        w->sent--;
    return b;
}

void worker_link_destroy(struct worker_link *w)
{
    if (!w)
        return;
    close(w->fd);
    service_reader_clear(&w->in);
    free(w);
}
