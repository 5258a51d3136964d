/*
 * tcp_peer.h - find the user of the process at the other end of a TCP connection within
 * this machine. The kernel has no SO_PEERCRED for TCP, but its table of sockets,
 * /proc/net/tcp, has the user of each socket, and all users may read it.
 */
#ifndef RAYTRAIN_UTIL_TCP_PEER_H
#define RAYTRAIN_UTIL_TCP_PEER_H

#include <sys/socket.h>
#include <sys/types.h>

enum tcp_peer {
    TCP_PEER_FOUND, /* *uid is the user who made the socket */
    /* Not on this machine or not in this network namespace, or gone. */
    TCP_PEER_ELSEWHERE,
    TCP_PEER_UNKNOWN /* there is no such table, or this is not TCP */
};

/* The two ends of a connection that this process has accepted, as returned by
 * getpeername() and getsockname(). */
enum tcp_peer tcp_peer_find(const struct sockaddr *peer, const struct sockaddr *here,
                            uid_t *uid);

#endif
