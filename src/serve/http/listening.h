/*
 * listening.h - where a service listens: a Unix socket, or an address and a port.
 */
#ifndef RAYTRAIN_HTTP_LISTENING_H
#define RAYTRAIN_HTTP_LISTENING_H

#include <limits.h>
#include <stdbool.h>

#include "util/error.h"

struct listening {
    int fd;                   /* it listens; -1: closed */
    bool is_unix, is_local;   /* is_local: only this machine reaches it */
    char path[PATH_MAX];      /* of a Unix socket */
    char asked[PATH_MAX + 8]; /* as the user has written it */
    char text[PATH_MAX + 8];  /* for a client: "unix:PATH", "127.0.0.1:8000" */
};

/*
 * Listen at `text`: HOST:PORT, [IPv6]:PORT, PORT or :PORT of this machine, or the path of a Unix socket, which has a
 * "/" in it or begins with "unix:". Port 0 is any free one. A Unix socket has mode
 * 0600, and others must not be able to write to its directory. If no process listens on
 * it any more, it is replaced.
 *
 * An address that other machines reach needs a token: has_token. RAYTRAIN_EINVAL: it is
 * not an address, or it is refused; RAYTRAIN_EFAILED: the system refuses it.
 */
int listening_open(const char *text, bool has_token, struct listening *a,
                   struct error *err);
/* Write to buf, of PATH_MAX + 8 bytes, the full address that `text` stands for: without
 * a host it is a port of 127.0.0.1. */
void listening_in_full(const char *text, char *buf);
/* Like a->text, but with the name that the user has written, if it is one, since
 * certificates contain names. Written to buf, of PATH_MAX + 8 bytes. */
void listening_name(const struct listening *a, char *buf);
/* Closes it, and removes a Unix socket. */
void listening_close(struct listening *a);

#endif
