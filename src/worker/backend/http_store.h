/*
 * http_store.h - the key-value store over HTTP through which the processes of Horovod
 * find each other: PUT, GET and DELETE of /SCOPE/KEY. GET of a key that does not exist
 * yet is answered 404, and the client asks again. DELETE means that a member of the
 * scope has found all others; after the last member's, the scope is empty, ready for a
 * new group.
 */
#ifndef RAYTRAIN_BACKEND_HTTP_STORE_H
#define RAYTRAIN_BACKEND_HTTP_STORE_H

#include <stdbool.h>
#include <sys/socket.h>

#include "util/error.h"

struct http_store;

/* The number of members of the scope; 0: not known, and DELETE removes only the key.
 * Called by the store's thread. */
typedef int (*http_store_members)(const void *arg, const char *scope);

/* May a client at this address connect? Called by the store's thread. */
typedef bool (*http_store_admits)(const void *arg, const struct sockaddr *peer);

/* Serve, in a thread, at a socket that listens. The store owns the socket, also on
 * failure. */
int http_store_start(int listening, http_store_members members,
                     http_store_admits admits, const void *arg, struct http_store **out,
                     struct error *err);
void http_store_stop(struct http_store *s); /* accepts NULL */

#endif
