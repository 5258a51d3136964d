/*
 * clients.h - the connections of clients. Each has a slot and, whenever the client has
 * to do something, a time limit for it: to send a whole header, to send a whole body,
 * to read all of an answer. A client that is late is disconnected. When all slots are
 * taken, the client that has been idle longest is disconnected, or else the one that
 * has been sending a body longest. If all of them wait for an answer or read one, a few
 * more may connect without a slot: they only get answers that are available at once,
 * such as the health of the service.
 *
 * The memory for answers that are being read is limited: beyond the limit, the client
 * that has been reading longest is disconnected.
 *
 * To disconnect a client, its socket is shut down. The thread that serves it then reads
 * end of file, and removes it. All functions may be called from any thread.
 */
#ifndef RAYTRAIN_HTTP_CLIENTS_H
#define RAYTRAIN_HTTP_CLIENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/error.h"

struct client;
struct clients;

enum client_state {
    CLIENT_IDLE,  /* it may send a header */
    CLIENT_ASKS,  /* it sends a body */
    CLIENT_WAITS, /* for an answer: it cannot be late */
    CLIENT_READS, /* the answer */
    CLIENT_STATES
};

/* The number of clients that may be connected without a slot. */
#define CLIENTS_EXTRA 32

struct clients_limits {
    size_t most;      /* slots */
    double seconds;   /* for each state */
    uint64_t answers; /* bytes of those that are being read */
};

/* RAYTRAIN_ENOMEM. */
int clients_create(const struct clients_limits *limits, struct clients **out,
                   struct error *err);
void clients_destroy(struct clients *clients); /* all have been removed; NULL is fine */

/* The caller still owns the socket. NULL: there is no slot or no memory, and the socket
 * has been shut down. */
struct client *clients_add(struct clients *clients, int fd, double now);
/* Call this before the socket is closed. NULL is fine, here and in the next
 * functions. */
void clients_remove(struct clients *clients, struct client *c);
void clients_set(struct clients *clients, struct client *c, enum client_state state,
                 double now);
/* As clients_set() with CLIENT_READS, for an answer of this length. */
void clients_reads(struct clients *clients, struct client *c, uint64_t bytes,
                   double now);
/* Does it have a slot now? It gets one if one has become free. */
bool clients_has_slot(struct clients *clients, struct client *c);
/* Disconnect clients that are late. */
void clients_expire(struct clients *clients, double now);

/* Wait until no client waits for an answer or reads one, `seconds` at most. */
void clients_settle(struct clients *clients, double seconds);

struct clients_state {
    size_t now;      /* connected */
    uint64_t all;    /* connections so far */
    uint64_t late;   /* disconnected because they were late */
    /* Disconnected to make room for another one, or because there was none. */
    uint64_t pushed;
    uint64_t unread; /* disconnected because too many answers were not read */
};

void clients_look(struct clients *clients, struct clients_state *state);

#endif
