/*
 * child_server.h - an embedded PMIx server for the programs that the workers of this
 * node run as children: a process of its own, raytrain-pmix, and a thread of this one,
 * which exchanges what the children contribute to a fence with the other nodes.
 */
#ifndef RAYTRAIN_WIREUP_CHILD_SERVER_H
#define RAYTRAIN_WIREUP_CHILD_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#include "util/error.h"

struct child_server_config {
    const char *nspace;
    const char *hosts, *ranks; /* see pmix/namespace.h */
    int node, local_size;
    /* Called by the thread: a wireup_exchange_nodes (wireup.h). */
    int (*exchange)(void *arg, const char *data, size_t n, char **all, size_t *n_all,
                    struct error *err);
    void *exchange_arg;
    /* The children cannot be served any longer. Their PMIx client finds that the server
     * is gone. */
    void (*failed)(void *arg, const char *why);
    void *failed_arg;
};

struct child_server;

/* For one process of the node. *variables is what the ranks of this node need in their
 * environment, for each in their order: strings "NAME=VALUE", and an empty one; the
 * caller frees it. */
int child_server_start(const struct child_server_config *config,
                       struct child_server **out, char **variables, size_t *n,
                       struct error *err);
/* Has a program of this node connected to it? */
bool child_server_used(const struct child_server *s);
/* End it, and remove its files. NULL is fine. False: its thread is still in
 * `exchange`. */
bool child_server_stop(struct child_server *s);

#endif
