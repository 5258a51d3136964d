/*
 * clients.h - the connections of clients. Each has a slot and, whenever something is
 * expected of the client, a time until which it must have come: a whole header, a whole
 * body, the end of reading an answer. A client that is late is disconnected. When all
 * slots are taken, the one that has been idle longest makes room, or else the one that has
 * been sending a body longest.
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

/* So many at once, and so many seconds for each state. RAYTRAIN_ENOMEM. */
int clients_create(size_t most, double seconds, struct clients **out,
                   struct error *err);
void clients_destroy(struct clients *clients); /* all have been removed; NULL is fine */

/* Its socket stays the caller's. NULL: there is no slot, or no memory, and its socket is
 * shut down. */
struct client *clients_add(struct clients *clients, int fd, double now);
/* Before its socket is closed. NULL is fine, as in the next. */
void clients_remove(struct clients *clients, struct client *c);
void clients_set(struct clients *clients, struct client *c, enum client_state state,
                 double now);
/* Disconnect those that are late. */
void clients_expire(struct clients *clients, double now);

/* Wait until no client waits for an answer or reads one, at most so many seconds. */
void clients_settle(struct clients *clients, double seconds);

struct clients_state {
    size_t now;      /* connected */
    uint64_t all;    /* connections so far */
    uint64_t late;   /* that were disconnected since they were late */
    uint64_t pushed; /* to make room for another one, or since there was none */
};

void clients_look(struct clients *clients, struct clients_state *state);

#endif
