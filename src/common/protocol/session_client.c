/* session_client.c - connect to the socket of a session, and ask one question. */
#include "config.h"
#include "protocol/session_client.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int worker_gone(struct error *err)
{
    return error_set(err, RAYTRAIN_ECOMM,
                     "the worker that started this command is gone");
}

/* The reply is an error: it becomes ours. */
static int error_take(const json_t *error, struct error *err)
{
    const char *code = json_string_value(json_object_get(error, "code"));
    const char *text = json_string_value(json_object_get(error, "text"));

    return error_set(err, code ? wire_code(code) : RAYTRAIN_EFAILED, "%s",
                     text ? text : "the worker gives no reason");
}

static int question_answer(struct session_client *c,
                           const struct wire_message *question,
                           session_client_answer answer, void *arg, struct error *err)
{
    struct error why;
    json_t *text;
    int rc;

    if (!answer)
        rc = error_set(&why, RAYTRAIN_ENOTSUP, "this client answers no questions");
    else
        rc = answer(arg, question, &why);
    if (rc == 0)
        text = json_pack("{s:s}", "op", "answer");
    else
        text = json_pack("{s:s, s:{s:s, s:s}}", "op", "answer", "error", "code",
                         wire_code_name(why.code), "text", why.text);
    if (!text)
        return error_no_memory(err);
    rc = wire_send(c->socket, text, NULL, 0, NULL, 0, err);
    json_decref(text);
    return rc;
}

int session_client_call(struct session_client *c, json_t *request,
                        session_client_answer answer, void *arg,
                        struct wire_message *reply, struct error *err)
{
    int rc = request ? wire_send(c->socket, request, NULL, 0, NULL, 0, err)
                     : error_no_memory(err);

    json_decref(request);
    while (rc == 0) {
        const json_t *error;

        rc = wire_receive(c->socket, reply, err);
        if (rc <= 0)
            return rc < 0 ? -1 : worker_gone(err);
        if (json_object_get(reply->text, "ask")) {
            rc = question_answer(c, reply, answer, arg, err);
            wire_clear(reply);
            continue;
        }
        error = json_object_get(reply->text, "error");
        if (!error)
            return 0;
        rc = error_take(error, err);
        wire_clear(reply);
    }
    return -1;
}

/* ---- Open and close ---- */

static int path_connect(const char *path, struct error *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof at.sun_path)
        return error_set(err, RAYTRAIN_EINVAL,
                         WIRE_VARIABLE " is not the path of a socket");
    strcpy(at.sun_path, path);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(err, RAYTRAIN_EFAILED, "socket: %s", strerror(errno));
    if (connect(fd, (const struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    error_set(
        err, RAYTRAIN_ECOMM,
        "cannot connect to the worker at %s: %s. Has the worker that started this "
        "command ended?",
        path, strerror(errno));
    close(fd);
    return -1;
}

int session_client_open(struct session_client *c, const char *path, json_t **info,
                        struct error *err)
{
    struct wire_message reply;

    c->socket = path_connect(path, err);
    if (c->socket < 0)
        return -1;
    if (session_client_call(c,
                            json_pack("{s:s, s:i, s:i}", "op", "hello", "version",
                                      WIRE_VERSION, "pid", (int)getpid()),
                            NULL, NULL, &reply, err) < 0) {
        session_client_close(c);
        return -1;
    }
    *info = json_incref(reply.text);
    wire_clear(&reply);
    return 0;
}

void session_client_close(struct session_client *c)
{
    if (c->socket >= 0)
        close(c->socket);
    c->socket = -1;
}
