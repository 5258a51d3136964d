/*
 * clients.h - the connections of clients. Each has a slot and, whenever something is
 * expected of the client, a time until which it must have come: a whole header, a whole
 * body, the end of reading an answer. A client that is late is disconnected. When all
 * slots are taken, the one that has been idle longest makes room, or else the one that
 * has been sending a body longest. If all of them wait for an answer or read one, a few
 * more may connect, which get no slot: they are answered what can be answered at once,
 * such as the health of the service.
 *
 * Answers that are being read have a limit of memory: beyond it, the client that has
 * been reading longest is disconnected.
 *
 * To disconnect is to shut its socket down; the thread that serves it then reads end of
 * file, and removes it. All functions may be called from any thread.
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

/* How many may be connected without a slot. */
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

/* Its socket stays the caller's. NULL: there is no slot, or no memory, and its socket is
 * shut down. */
struct client *clients_add(struct clients *clients, int fd, double now);
/* Before its socket is closed. NULL is fine, as in the next. */
void clients_remove(struct clients *clients, struct client *c);
void clients_set(struct clients *clients, struct client *c, enum client_state state,
                 double now);
/* As clients_set() with CLIENT_READS, for an answer of this length. */
void clients_reads(struct clients *clients, struct client *c, uint64_t bytes,
                   double now);
/* Has it a slot now? It gets one if there is one again. */
bool clients_has_slot(struct clients *clients, struct client *c);
/* Disconnect those that are late. */
void clients_expire(struct clients *clients, double now);

/* Wait until no client waits for an answer or reads one, at most so many seconds. */
void clients_settle(struct clients *clients, double seconds);

struct clients_state {
    size_t now;      /* connected */
    uint64_t all;    /* connections so far */
    uint64_t late;   /* that were disconnected since they were late */
    uint64_t pushed; /* to make room for another one, or since there was none */
    uint64_t unread; /* since too many answers were not read */
};

void clients_look(struct clients *clients, struct clients_state *state);

#endif
