/* session_socket.c - makes the socket of a session and the file of facts beside it. */
#include "command/session_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/fs.h"

#define SOCKET_NAME "session"

static int session_socket_fail(const struct session_socket *s, const char *what,
                               struct error *err)
{
    return error_set(err, RAYTRAIN_ESTORAGE,
                     "cannot %s the socket of the session, %s: %s", what, s->path,
                     strerror(errno));
}

/* The path of a socket has at most 107 bytes. */
static const size_t dir_path_max =
    sizeof((struct sockaddr_un *)NULL)->sun_path - sizeof "/" SOCKET_NAME;

static void path_make(struct session_socket *s)
{
    snprintf(s->path, sizeof s->path, "%.*s/" SOCKET_NAME, (int)dir_path_max,
             s->dir.path);
}

int session_socket_open(struct session_socket *s, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    *s = (struct session_socket){.listener = -1, .dir = NODE_DIR_INIT};
    if (node_dir_make(&s->dir, dir_path_max, err) < 0)
        return -1;
    path_make(s);
    memcpy(address.sun_path, s->path, strlen(s->path) + 1);
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->listener < 0)
        return session_socket_fail(s, "make", err);
    if (bind(s->listener, (struct sockaddr *)&address, sizeof address) < 0 ||
        chmod(s->path, 0600) < 0 || listen(s->listener, 8) < 0)
        return session_socket_fail(s, "open", err);
    return 0;
}

int session_socket_facts(const struct session_socket *s, const json_t *facts,
                         struct error *err)
{
    char path[PATH_MAX + sizeof SESSION_FACTS];
    char *text = facts ? json_dumps(facts, JSON_COMPACT) : NULL;
    int rc;

    if (!text)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for the facts of a worker");
    snprintf(path, sizeof path, "%s/" SESSION_FACTS, s->dir.path);
    rc = fs_replace(path, text, strlen(text), 0600, err);
    free(text);
    return rc;
}

void session_socket_close(struct session_socket *s)
{
    if (s->listener >= 0)
        close(s->listener);
    s->listener = -1;
    node_dir_remove(&s->dir);
}
