/* listening.c - parse an address, and open a socket for it. */
#include "http/listening.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG  1024
#define PORT_MAX 65535
#define LOOPBACK "127.0.0.1" /* if only a port is given */

/* ---- A Unix socket ---- */

static int directory_check(const char *path, struct error *err)
{
    const char *slash = strrchr(path, '/');
    char dir[PATH_MAX] = ".";
    struct stat st;

    if (slash)
        snprintf(dir, sizeof dir, "%.*s", slash == path ? 1 : (int)(slash - path),
                 path);
    if (stat(dir, &st) < 0)
        return error_set(err, RAYTRAIN_EINVAL, "cannot listen on %s: %s: %s", path, dir,
                         strerror(errno));
    if ((st.st_uid != geteuid() && st.st_uid != 0) ||
        ((st.st_mode & 022) != 0 && !(st.st_mode & S_ISVTX)))
        return error_set(err, RAYTRAIN_EINVAL,
                         "cannot listen on %s: others may write to its directory, and "
                         "replace the socket; type: chmod go-w %s",
                         path, dir);
    return 0;
}

/* 0: no process listens on the socket. EAGAIN: one does, but has not accepted those
 * that wait. */
static int listener_look(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), why = 0;

    if (fd < 0)
        return errno;
    if (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0)
        why = EADDRINUSE;
    else if (errno != ECONNREFUSED && errno != ENOENT)
        why = errno;
    close(fd);
    return why;
}

/* Remove a socket of a service that has ended. 0: the path is free. */
static int old_remove(const struct sockaddr_un *address, struct error *err)
{
    struct stat st;
    int why;

    if (lstat(address->sun_path, &st) < 0)
        return 0;
    if (!S_ISSOCK(st.st_mode))
        return error_set(err, RAYTRAIN_EINVAL,
                         "cannot listen on %s: it is not a socket", address->sun_path);
    why = listener_look(address);
    if (why == EADDRINUSE || why == EAGAIN)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "another service listens on %s; end it, or choose another path",
            address->sun_path);
    if (why)
        return error_set(err, RAYTRAIN_EINVAL,
                         "cannot listen on %s, a socket that is there already: %s; "
                         "remove it, or choose another path",
                         address->sun_path, strerror(why));
    unlink(address->sun_path);
    return 0;
}

static int unix_bind(struct listening *a, const struct sockaddr_un *address,
                     struct error *err)
{
    mode_t before = umask(0177);
    int rc = bind(a->fd, (const struct sockaddr *)address, sizeof *address);

    umask(before);
    if (rc < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot listen on %s: %s", a->path,
                         strerror(errno));
    a->is_unix = true;
    return 0;
}

static int unix_open(const char *path, struct listening *a, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (path[0] == '\0') /* a bind() to it would make an abstract socket, open to all */
        return error_set(err, RAYTRAIN_EINVAL,
                         "\"unix:\" has no path of a socket: write unix:PATH, as in "
                         "unix:./socket");
    if (strlen(path) >= sizeof address.sun_path)
        return error_set(err, RAYTRAIN_EINVAL,
                         "cannot listen on %s: a path of a socket has at most %zu "
                         "characters",
                         path, sizeof address.sun_path - 1);
    strcpy(address.sun_path, path);
    strcpy(a->path, path);
    if (directory_check(path, err) < 0 || old_remove(&address, err) < 0)
        return -1;
    a->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (a->fd < 0)
        return error_set(err, RAYTRAIN_EFAILED, "cannot make a socket: %s",
                         strerror(errno));
    a->is_local = true;
    snprintf(a->text, sizeof a->text, "unix:%s", path);
    return unix_bind(a, &address, err);
}

/* ---- A port ---- */

static bool address_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)address)
                         ->sin_addr.s_addr) >>
                   24 ==
               127;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(
               &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static bool is_port(const char *text)
{
    return *text && strlen(text) < NI_MAXSERV &&
           text[strspn(text, "0123456789")] == '\0';
}

void listening_in_full(const char *text, char *buf)
{
    const char *port = text + (*text == ':');

    snprintf(buf, PATH_MAX + 8, "%s%s", is_port(port) ? LOOPBACK ":" : "",
             is_port(port) ? port : text);
}

/* HOST:PORT or [HOST]:PORT, in two buffers. */
static int text_split(const char *text, char host[NI_MAXHOST], char port[NI_MAXSERV])
{
    const char *colon;
    char full[PATH_MAX + 8];
    size_t n;

    listening_in_full(text, full);
    text = full;
    colon = strrchr(text, ':');
    if (!colon || colon == text || !is_port(colon + 1))
        return -1;
    n = (size_t)(colon - text);
    if (text[0] == '[' && colon[-1] == ']') {
        text++;
        n -= 2;
    } else if (memchr(text, ':', n)) {
        return -1;
    }
    if (n == 0 || n >= NI_MAXHOST)
        return -1;
    snprintf(host, NI_MAXHOST, "%.*s", (int)n, text);
    strcpy(port, colon + 1);
    return 0;
}

/* getaddrinfo() takes a larger number modulo 65536. */
static int port_check(const char *text, const char *port, struct error *err)
{
    if (strtoul(port, NULL, 10) <=
        PORT_MAX) /* ULONG_MAX if it is too large even for that */
        return 0;
    return error_set(
        err, RAYTRAIN_EINVAL,
        "cannot listen on %s: a port is a number from 1 to %d, or 0 for any "
        "that is free",
        text, PORT_MAX);
}

static void name_it(struct listening *a)
{
    struct sockaddr_storage address;
    socklen_t n = sizeof address;
    char host[NI_MAXHOST], port[NI_MAXSERV];

    if (getsockname(a->fd, (struct sockaddr *)&address, &n) == 0 &&
        getnameinfo((struct sockaddr *)&address, n, host, sizeof host, port,
                    sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(a->text, sizeof a->text, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host,
                 port);
}

static int port_bind(struct listening *a, const struct addrinfo *found,
                     const char *text, struct error *err)
{
    int on = 1;

    a->fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (a->fd < 0 || setsockopt(a->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(a->fd, found->ai_addr, found->ai_addrlen) < 0)
        return error_set(
            err, RAYTRAIN_EFAILED,
            "cannot listen on %s: %s; choose another port, or 0 for any that "
            "is free",
            text, strerror(errno));
    name_it(a);
    return 0;
}

static int port_open(const char *text, bool has_token, struct listening *a,
                     struct error *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    char host[NI_MAXHOST], port[NI_MAXSERV];
    struct addrinfo *found;
    int rc;

    if (text_split(text, host, port) < 0)
        return error_set(
            err, RAYTRAIN_EINVAL,
            "\"%s\" is not an address to listen on: write PORT (at " LOOPBACK
            "), HOST:PORT, [IPV6]:PORT or the path of a socket, with a \"/\"",
            text);
    if (port_check(text, port, err) < 0)
        return -1;
    rc = getaddrinfo(host, port, &hints, &found);
    if (rc != 0)
        return error_set(err, RAYTRAIN_EINVAL, "cannot listen on %s: %s", text,
                         gai_strerror(rc));
    a->is_local = address_is_loopback(found->ai_addr);
    if (!a->is_local && !has_token)
        rc = error_set(err, RAYTRAIN_EINVAL,
                       "other machines can reach %s, and without a token nothing would "
                       "keep strangers from using the model: leave out --no-token, or "
                       "listen on 127.0.0.1 or a socket",
                       text);
    else
        rc = port_bind(a, found, text, err);
    freeaddrinfo(found);
    return rc;
}

int listening_open(const char *text, bool has_token, struct listening *a,
                   struct error *err)
{
    bool named = strncmp(text, "unix:", 5) == 0;
    int rc;

    memset(a, 0, sizeof *a);
    a->fd = -1;
    snprintf(a->asked, sizeof a->asked, "%s", text);
    if (named || strchr(text, '/'))
        rc = unix_open(named ? text + 5 : text, a, err);
    else
        rc = port_open(text, has_token, a, err);
    if (rc == 0 && listen(a->fd, BACKLOG) < 0)
        rc = error_set(err, RAYTRAIN_EFAILED, "cannot listen on %s: %s", text,
                       strerror(errno));
    if (rc < 0)
        listening_close(a);
    return rc;
}

void listening_name(const struct listening *a, char *buf)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST};
    char host[NI_MAXHOST], port[NI_MAXSERV];
    struct addrinfo *found;

    strcpy(buf, a->text);
    if (a->is_unix || text_split(a->asked, host, port) < 0)
        return;
    if (getaddrinfo(host, NULL, &hints, &found) == 0)
        freeaddrinfo(found);
    else
        snprintf(buf, PATH_MAX + 8, "%s%s", host, strrchr(a->text, ':'));
}

void listening_close(struct listening *a)
{
    if (a->fd >= 0)
        close(a->fd);
    if (a->is_unix)
        unlink(a->path);
    a->fd = -1;
    a->is_unix = false;
}
