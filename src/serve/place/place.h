/*
 * place.h - where a run is served, for its clients: RUN/serve/HOST.PID, a directory
 * that only this user can read, with address.json and, if there is one, the token. A
 * service holds a lock on its directory (util/private_dir.h). A new service removes the
 * directories of services that have ended on this host: those that are not locked, and
 * whose process is not there.
 *
 *   {"host", "pid", "born", "model": NAME or null for several, "url",
 *    "socket": PATH or null, "address": IP or null, "token_file": PATH or null,
 *    "tls_cert": PATH or null}
 *
 * Its paths are absolute if they exist, and that of a socket if it is not too long for
 * one.
 *
 * What another user has written there is also found, but only shown: files that it
 * names are not read, and no token is sent to its URL.
 */
#ifndef RAYTRAIN_PLACE_PLACE_H
#define RAYTRAIN_PLACE_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

struct place_address {
    const char *model;      /* NULL: there are several */
    const char *url;        /* "http://127.0.0.1:8080" */
    const char *socket;     /* NULL: it listens at a port */
    const char *token_file; /* NULL: clients need none */
    /* The address in the URL as numbers, for clients that do not know its name; NULL:
     * none. */
    const char *address;
    const char *tls_cert; /* by which clients verify it; NULL: without TLS */
};

/* Other machines reach it at this host, by the name that it has for itself. `text` is where
 * it listens, "0.0.0.0:8080" or "[::]:8080": *name becomes HOST:PORT, and *address the
 * numbers of that host, NULL if there are none; malloc'ed. An address of one interface,
 * "10.0.0.1:8080", remains as it is. */
int place_name(const char *text, char **name, char **address, struct error *err);

/* A new directory below that of the run, of the checkpoint, or of the models.
 * malloc'ed. *lock is a descriptor, to be closed when it is no longer used. */
int place_make(const char *run_or_checkpoint, char **dir, int *lock, struct error *err);
/* Write the address for clients, atomically. */
int place_write(const char *dir, const struct place_address *address,
                struct error *err);
/* Remove the directory and its contents. NULL is fine. */
void place_remove(const char *dir);

/* A service that answers, or is on another host, where that cannot be checked. */
struct place_found {
    const char *host;
    bool here;           /* on this host */
    const char *foreign; /* why it is only shown, a sentence; NULL: it is this user's */
    struct place_address address;
};
/* Calls `found` for each service of a run; *n is how many. */
int place_each(const char *run_or_checkpoint,
               void (*found)(void *arg, const struct place_found *place), void *arg,
               size_t *n, struct error *err);
/* The shell command that asks a service for its model, or for the names of its models.
 * malloc'ed, NULL without memory. The address is added if this host does not know the
 * name in the URL. */
char *place_curl(const struct place_address *address);

#endif
