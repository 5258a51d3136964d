/*
 * own_accept.c - accept() and accept4() of the program raytrain-pmix: libpmix, which
 * calls them, gets connections of this user's processes only.
 *
 * What libpmix itself asks of a client, in versions 4.0 to 5.0 (ptl and psec there):
 * the name of a namespace and a rank that the server knows, and a credential of a kind
 * that the client chooses. Kind "native" over TCP is a user id that the client states,
 * and nothing checks; "munge" is real, but a client that avoids it gets in as well, and
 * one whose library lacks it cannot have it. A tool needs no more than the port: it
 * states a namespace of its own, and its calls reach the host. And a client that
 * connects and is silent holds up the thread that serves all others. So the kernel is
 * asked for the user before libpmix reads one byte.
 *
 * After EAGAIN the listener of all these versions continues; most other errors end it.
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/tcp_peer.h"

#define FOR_LIBRARIES __attribute__((visibility("default")))

/* If the kernel does not know the peer's user, the secret name of the namespace is the
 * only protection. */
static bool peer_is_own(int fd)
{
    struct sockaddr_storage peer, here;
    socklen_t n_peer = sizeof peer, n_here = sizeof here;
    uid_t uid;

    if (getpeername(fd, (struct sockaddr *)&peer, &n_peer) < 0 ||
        getsockname(fd, (struct sockaddr *)&here, &n_here) < 0)
        return false;
    switch (tcp_peer_find((struct sockaddr *)&peer, (struct sockaddr *)&here, &uid)) {
    case TCP_PEER_FOUND:
        return uid == geteuid();
    case TCP_PEER_ELSEWHERE:
        return false;
    case TCP_PEER_UNKNOWN:
        break;
    }
    return true;
}

FOR_LIBRARIES int accept4(int fd, struct sockaddr *restrict addr, socklen_t *restrict n,
                          int flags)
{
    int peer = (int)syscall(SYS_accept4, fd, addr, n, flags);

    if (peer < 0 || peer_is_own(peer))
        return peer;
    close(peer);
    errno = EAGAIN;
    return -1;
}

FOR_LIBRARIES int accept(int fd, struct sockaddr *restrict addr, socklen_t *restrict n)
{
    return accept4(fd, addr, n, 0);
}
