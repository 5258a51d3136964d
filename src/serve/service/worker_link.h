/*
 * worker_link.h - the non-blocking connection to one worker: its HELLO, the batches
 * that it gets, and its answers, in order. A second batch may be sent while the worker
 * computes the first one, so that it need not wait for it.
 */
#ifndef RAYTRAIN_SERVICE_WORKER_LINK_H
#define RAYTRAIN_SERVICE_WORKER_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol/service_wire.h"
#include "service/rows_batch.h"

#define LINK_DEPTH 2

struct model_version;

struct worker_link {
    int fd;
    int64_t pid;             /* from HELLO; 0: it has not sent one yet */
    struct model_version *served; /* of its HELLO */
    struct service_reader in;
    struct service_writer out;
    struct rows_batch *batches[LINK_DEPTH]; /* without an answer, the oldest first */
    size_t n, sent;                         /* of these; sent: completely */
    bool is_lost;
    uint32_t watched; /* events of epoll that the service waits for */
    double since;     /* when it was connected */
    struct worker_link *next;
};

/* Takes ownership of the socket, and makes it non-blocking. RAYTRAIN_ENOMEM. */
int worker_link_create(int fd, uint64_t limit, struct worker_link **out,
                       struct error *err);
/* Send a batch, which the link owns from now on, or as much of it as the socket accepts
 * now. -1: the worker is gone; the link owns the batch even then. */
int worker_link_send(struct worker_link *w, struct rows_batch *b, struct error *err);
/* Continue to send. -1: the worker is gone. */
int worker_link_flush(struct worker_link *w, struct error *err);
/* Are there bytes to send that the socket did not accept? */
bool worker_link_is_full(const struct worker_link *w);
/* Take the oldest batch, which has been answered; the caller owns it. NULL: there is
 * none. */
struct rows_batch *worker_link_take(struct worker_link *w);
/* Close the socket, which ends the worker. Its batches must have been taken. NULL is
 * fine. */
void worker_link_destroy(struct worker_link *w);

#endif
