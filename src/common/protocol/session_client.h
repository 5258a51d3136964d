/*
 * session_client.h - a client of the session in C (session_wire.h): for raytrain-report.
 */
#ifndef RAYTRAIN_PROTOCOL_SESSION_CLIENT_H
#define RAYTRAIN_PROTOCOL_SESSION_CLIENT_H

#include "protocol/session_wire.h"

struct session_client {
    int socket;
};

/* Connect to the worker whose socket this is, and say hello: *info is its reply, for
 * json_decref(). On failure there is nothing to close. */
int session_client_open(struct session_client *c, const char *path, json_t **info,
                        struct error *err);
void session_client_close(struct session_client *c);

/* Answer a question of the worker; the descriptors stay the message's. -1: err is the
 * answer. */
typedef int (*session_client_answer)(void *arg, const struct wire_message *question,
                                     struct error *err);

/*
 * Make a request, which is consumed (NULL: no memory), and wait for its reply, for
 * wire_clear(). -1: the worker is gone, or has replied with an error, which err then
 * is. A question in between is answered by `answer` (NULL: an error).
 */
int session_client_call(struct session_client *c, json_t *request,
                        session_client_answer answer, void *arg,
                        struct wire_message *reply, struct error *err);

#endif
