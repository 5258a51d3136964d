/*
 * header_fault.c - in order: what is in the memory of a header; headers that come
 * twice; where a body ends.
 */
#include "http/header_fault.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

/* Headers of which the service, or a proxy, only uses one. */
static const char *const singles[] = {
    "Host",
    "Content-Length",
    "Transfer-Encoding",
    "Content-Type",
    "Authorization",
    "Origin",
    "Content-Encoding",
    "Inference-Header-Content-Length",
};

#define SINGLES (sizeof singles / sizeof *singles)

struct header_look {
    unsigned times[SINGLES];
    /* The memory of the header: libmicrohttpd parses it where it has been received. */
    const char *begin, *end; /* NULL: it is not known */
    const char *at;          /* the end of what has been looked at */
    bool has_rest;           /* there are bytes that belong to neither a name nor a
                              * value */
};

/* ---- The memory of a header ---- */

static bool is_within(const struct header_look *look, const char *at)
{
    return look->begin && (uintptr_t)at >= (uintptr_t)look->begin &&
           (uintptr_t)at < (uintptr_t)look->end;
}

/* Line ends, which have become NULs, and spaces are all that may be between a value and
 * the next name. */
static bool is_gap(const char *at, const char *end)
{
    for (; at < end; at++)
        if (*at != '\0' && !strchr("\r\n \t", *at))
            return false;
    return true;
}

/* The name of a value that continues in a second line is in other memory. */
static void memory_look(struct header_look *look, const char *name, const char *value,
                        size_t n)
{
    if (!look->at)
        return;
    if (!is_within(look, name) || !is_within(look, value) || name < look->at ||
        !is_gap(look->at, name))
        look->has_rest = true;
    else
        look->at = value + n;
}

static enum MHD_Result argument_look(void *arg, enum MHD_ValueKind kind,
                                     const char *name, const char *value)
{
    (void)kind;
    (void)value;
    *(const char **)arg = name;
    return MHD_NO;
}

/* A NUL, and then the first argument or the version, follow the path. */
static bool is_path_whole(struct MHD_Connection *connection,
                          const struct header_look *look,
                          const struct request_line *line)
{
    const char *end = line->url + strlen(line->url), *argument = NULL;

    MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, argument_look,
                              &argument);
    if (!argument)
        return is_gap(end, line->version);
    return !is_within(look, argument) || argument == end + 1;
}

static void memory_begin(struct header_look *look, struct MHD_Connection *connection,
                         const struct request_line *line)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);

    if (!info || info->header_size == 0)
        return;
    look->begin = line->method;
    look->end = line->method + info->header_size;
    if (is_within(look, line->url) && is_within(look, line->version)) {
        look->at = line->version + strlen(line->version);
        look->has_rest = !is_path_whole(connection, look, line);
    } else {
        look->begin = NULL;
    }
}

/* ---- Headers that come twice ---- */

static enum MHD_Result header_look(void *arg, enum MHD_ValueKind kind, const char *name,
                                   size_t n_name, const char *value, size_t n_value)
{
    struct header_look *look = arg;

    (void)kind;
    for (size_t i = 0; i < SINGLES; i++)
        look->times[i] +=
            strlen(singles[i]) == n_name && strcasecmp(singles[i], name) == 0;
    memory_look(look, name, value ? value : name + n_name, n_value);
    return MHD_YES;
}

static bool is_twice(const struct header_look *look, const char **why)
{
    static const char *const sentences[SINGLES] = {
        "the header Host is there twice; send it once",
        "the header Content-Length is there twice; send it once",
        "the header Transfer-Encoding is there twice; send it once",
        "the header Content-Type is there twice; send it once",
        "the header Authorization is there twice; send it once",
        "the header Origin is there twice; send it once",
        "the header Content-Encoding is there twice; send it once",
        "the header Inference-Header-Content-Length is there twice; send it once",
    };

    for (size_t i = 0; i < SINGLES; i++)
        if (look->times[i] > 1) {
            *why = sentences[i];
            return true;
        }
    return false;
}

/* ---- Where a body ends ---- */

static const char *header_of(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* libmicrohttpd would take everything up to the end of the connection as the body.
 */
static int length_fault(struct MHD_Connection *connection,
                        const struct request_line *line, const char **why)
{
    const char *encoding = header_of(connection, "Transfer-Encoding");

    if (!encoding)
        return 0;
    if (header_of(connection, "Content-Length")) {
        *why =
            "there are both a Content-Length and a Transfer-Encoding; send one of them";
        return 400;
    }
    if (strcmp(line->version, "HTTP/1.0") == 0) {
        *why = "a request of HTTP/1.0 cannot have a Transfer-Encoding; send a "
               "Content-Length";
        return 400;
    }
    if (strcasecmp(encoding, "chunked") == 0)
        return 0;
    *why = "the only Transfer-Encoding that is known here is chunked; send a "
           "Content-Length";
    return 501;
}

int header_fault(struct MHD_Connection *connection, const struct request_line *line,
                 const char **why)
{
    struct header_look look = {0};

    memory_begin(&look, connection, line);
    MHD_get_connection_values_n(connection, MHD_HEADER_KIND, header_look, &look);
    if (look.at && !look.has_rest)
        look.has_rest = !is_gap(look.at, look.end);
    if (look.has_rest) {
        *why = "a NUL is in the header, or a value in it continues in a second line; "
               "send each header in one line of text";
        return 400;
    }
    if (is_twice(&look, why))
        return 400;
    return length_fault(connection, line, why);
}
