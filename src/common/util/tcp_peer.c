/*
 * tcp_peer.c - search the kernel's tables of TCP sockets, for IPv4 and IPv6, for the
 * two ends of a connection.
 */
#include "util/tcp_peer.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* While the kernel lists its sockets, others come and go, and the list may omit one
 * that stays. */
#define READS_MAX 3
/* The state of a row whose socket is closed already. Its user is 0. */
#define TIME_WAIT 6
/* "ADDRESS:PORT ADDRESS:PORT ", in hexadecimal digits. */
#define ENDS_MAX (2 * (32 + 1 + 4 + 1) + 1)

/* ---- The two ends, as the tables have them ---- */

/* An IPv4 address is mapped into IPv6. */
struct end {
    unsigned char address[16];
    unsigned port;
};

static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

static bool end_make(const struct sockaddr *at, struct end *e)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    switch (at->sa_family) {
    case AF_INET:
        memcpy(&v4, at, sizeof v4);
        memcpy(e->address, mapped, sizeof mapped);
        memcpy(e->address + sizeof mapped, &v4.sin_addr, sizeof v4.sin_addr);
        e->port = ntohs(v4.sin_port);
        return true;
    case AF_INET6:
        memcpy(&v6, at, sizeof v6);
        memcpy(e->address, &v6.sin6_addr, sizeof e->address);
        e->port = ntohs(v6.sin6_port);
        return true;
    default:
        return false;
    }
}

static bool end_is_v4(const struct end *e)
{
    return memcmp(e->address, mapped, sizeof mapped) == 0;
}

/* The kernel prints an address as 32-bit numbers of this machine's byte order. */
static char *end_print(const struct end *e, size_t from, char *text)
{
    for (size_t i = from; i < sizeof e->address; i += sizeof(uint32_t)) {
        uint32_t word;

        memcpy(&word, e->address + i, sizeof word);
        text += sprintf(text, "%08X", word);
    }
    return text + sprintf(text, ":%04X ", e->port);
}

/* ---- The tables ---- */

/* "  12: " and the ends, then STATE TX:RX TIMER:WHEN RETRANSMITS USER. */
static bool row_is(const char *line, const char *ends, uid_t *uid)
{
    const char *at = strchr(line, ':');
    unsigned state, user;

    if (!at || at[1] != ' ' || strncmp(at + 2, ends, strlen(ends)) != 0 ||
        sscanf(at + 2 + strlen(ends), "%x %*s %*s %*s %u", &state, &user) != 2 ||
        state == TIME_WAIT)
        return false;
    *uid = user;
    return true;
}

static enum tcp_peer table_search(const char *path, const char *ends, uid_t *uid)
{
    FILE *table = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    bool found = false;

    if (!table)
        return TCP_PEER_UNKNOWN;
    while (!found && getline(&line, &room, table) > 0)
        found = row_is(line, ends, uid);
    free(line);
    fclose(table);
    return found ? TCP_PEER_FOUND : TCP_PEER_ELSEWHERE;
}

/* A client may reach an IPv4 address with an IPv6 socket. */
static enum tcp_peer tables_search(const struct end *peer, const struct end *here,
                                   uid_t *uid)
{
    const bool v4 = end_is_v4(peer) && end_is_v4(here);
    enum tcp_peer got = TCP_PEER_UNKNOWN, also;
    char ends[ENDS_MAX];

    if (v4) {
        end_print(here, sizeof mapped, end_print(peer, sizeof mapped, ends));
        got = table_search("/proc/net/tcp", ends, uid);
        if (got == TCP_PEER_FOUND)
            return got;
    }
    end_print(here, 0, end_print(peer, 0, ends));
    also = table_search("/proc/net/tcp6", ends, uid);
    return v4 && also == TCP_PEER_UNKNOWN ? got : also;
}

enum tcp_peer tcp_peer_find(const struct sockaddr *peer, const struct sockaddr *here,
                            uid_t *uid)
{
    enum tcp_peer got = TCP_PEER_ELSEWHERE;
    struct end there, mine;

    if (!end_make(peer, &there) || !end_make(here, &mine))
        return TCP_PEER_UNKNOWN;
    for (int i = 0; i < READS_MAX && got == TCP_PEER_ELSEWHERE; i++)
        got = tables_search(&there, &mine, uid);
    return got;
}
