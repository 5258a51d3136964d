/*
 * session_socket.h - the socket by which a command finds its session: in a private
 * directory on the node, whose path is short, independent of the run's directory.
 */
#ifndef RAYTRAIN_COMMAND_SESSION_SOCKET_H
#define RAYTRAIN_COMMAND_SESSION_SOCKET_H

#include <jansson.h>
#include <limits.h>

#include "util/error.h"
#include "wireup/node_dir.h"

#define SESSION_FACTS "facts.json"

struct session_socket {
    int listener; /* -1: none */
    struct node_dir dir;
    char path[PATH_MAX];
};

/* Directory 0700, socket 0600. */
int session_socket_open(struct session_socket *s, struct error *err);
/* Write the facts of the worker to the file SESSION_FACTS beside the socket, for
 * processes of the command that do not have the session. */
int session_socket_facts(const struct session_socket *s, const json_t *facts,
                         struct error *err);
/* Also after session_socket_open() has failed. */
void session_socket_close(struct session_socket *s);

#endif
