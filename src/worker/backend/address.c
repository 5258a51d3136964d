/* address.c - the network interfaces of this node, and sockets that hold ports. */
#include "config.h"

#include "backend/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

socklen_t address_length(const union address *a)
{
    return a->any.sa_family == AF_INET6 ? sizeof a->v6 : sizeof a->v4;
}

int address_port(const union address *a)
{
    return ntohs(a->any.sa_family == AF_INET6 ? a->v6.sin6_port : a->v4.sin_port);
}

void address_set_port(union address *a, int port)
{
    if (a->any.sa_family == AF_INET6)
        a->v6.sin6_port = htons((uint16_t)port);
    else
        a->v4.sin_port = htons((uint16_t)port);
}

static const void *address_bytes(const union address *a, size_t *n)
{
    bool v6 = a->any.sa_family == AF_INET6;

    *n = v6 ? sizeof a->v6.sin6_addr : sizeof a->v4.sin_addr;
    return v6 ? (const void *)&a->v6.sin6_addr : &a->v4.sin_addr;
}

static bool address_equal(const union address *a, const union address *b)
{
    size_t n, m;
    const void *x = address_bytes(a, &n), *y = address_bytes(b, &m);

    return n == m && memcmp(x, y, n) == 0;
}

void address_text(const union address *a, char text[INET6_ADDRSTRLEN])
{
    size_t n;

    if (!inet_ntop(a->any.sa_family, address_bytes(a, &n), text, INET6_ADDRSTRLEN))
        text[0] = '\0';
}

void address_host_port(const char *host, int port, char text[HOST_PORT_MAX])
{
    snprintf(text, HOST_PORT_MAX, strchr(host, ':') ? "[%s]:%d" : "%s:%d", host, port);
}

/* ---- The addresses of this node ---- */

/* Copy without port and scope; false if it is neither IPv4 nor IPv6. */
static bool address_take(union address *out, const struct sockaddr *from)
{
    memset(out, 0, sizeof *out);
    if (!from || (from->sa_family != AF_INET && from->sa_family != AF_INET6))
        return false;
    out->any.sa_family = from->sa_family;
    if (from->sa_family == AF_INET)
        out->v4.sin_addr = ((const struct sockaddr_in *)(const void *)from)->sin_addr;
    else
        out->v6.sin6_addr =
            ((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
    return true;
}

/* Does the comma-separated list contain the name? */
static bool list_has(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (; list && *list; list += strspn(list, ",")) {
        if (strncmp(list, name, n) == 0 && (list[n] == ',' || list[n] == '\0'))
            return true;
        list += strcspn(list, ",");
    }
    return false;
}

static bool is_self_assigned(const union address *a)
{
    return a->any.sa_family == AF_INET &&
           (ntohl(a->v4.sin_addr.s_addr) & 0xffff0000u) == 0xa9fe0000u;
}

enum { CLASS_PREFERRED, CLASS_V4, CLASS_V6, CLASS_SELF_ASSIGNED, CLASSES };

/* The class of an address, by which it is sorted; -1: other nodes cannot use it. */
static int address_class(const struct ifaddrs *i, const char *preferred,
                         union address *a)
{
    if (!(i->ifa_flags & IFF_UP) || (i->ifa_flags & IFF_LOOPBACK) ||
        !address_take(a, i->ifa_addr))
        return -1;
    if (a->any.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&a->v6.sin6_addr))
        return -1;
    if (list_has(preferred, i->ifa_name))
        return CLASS_PREFERRED;
    if (a->any.sa_family == AF_INET6)
        return CLASS_V6;
    return is_self_assigned(a) ? CLASS_SELF_ASSIGNED : CLASS_V4;
}

int addresses_choose(const struct ifaddrs *list, const char *preferred,
                     struct local_address out[ADDRESSES_MAX])
{
    int n = 0;

    for (int class = 0; class < CLASSES; class ++) {
        for (const struct ifaddrs *i = list; i && n < ADDRESSES_MAX; i = i->ifa_next) {
            union address a;

            if (address_class(i, preferred, &a) != class)
                continue;
            out[n].address = a;
            snprintf(out[n].interface, sizeof out[n].interface, "%s", i->ifa_name);
            n++;
        }
    }
    return n;
}

void address_interface(const struct ifaddrs *list, const union address *a,
                       char name[IF_NAMESIZE])
{
    union address b;

    name[0] = '\0';
    for (; list; list = list->ifa_next) {
        if (!address_take(&b, list->ifa_addr) || !address_equal(a, &b))
            continue;
        snprintf(name, IF_NAMESIZE, "%s", list->ifa_name);
        return;
    }
}

/* A datagram socket that is connected has a local address, but sends nothing. */
int address_towards(const union address *to, union address *mine)
{
    socklen_t n = sizeof *mine;
    union address there = *to;
    int fd = socket(to->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc, saved;

    if (fd < 0)
        return -1;
    if (address_port(&there) == 0)
        address_set_port(&there, 9); /* discard */
    memset(mine, 0, sizeof *mine);
    rc = connect(fd, &there.any, address_length(&there));
    if (rc == 0)
        rc = getsockname(fd, &mine->any, &n);
    saved = errno;
    close(fd);
    errno = saved;
    if (rc == 0)
        address_set_port(mine, 0);
    return rc;
}

/* ---- Ports ---- */

/* Bind a TCP socket with SO_REUSEADDR to *a, and set its port there. -1 and errno. */
static int socket_bind(union address *a)
{
    static const int yes = 1, no = 0;
    socklen_t n = sizeof *a;
    int fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0), saved;

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0 &&
        (a->any.sa_family != AF_INET6 ||
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) == 0) &&
        bind(fd, &a->any, address_length(a)) == 0 && getsockname(fd, &a->any, &n) == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

/* For IPv6 and IPv4 at once; without IPv6 in the kernel, for IPv4. */
int port_hold(int *port)
{
    static const sa_family_t families[] = {AF_INET6, AF_INET};

    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        union address all = {.any.sa_family = families[i]};
        int fd = socket_bind(&all);

        if (fd < 0)
            continue;
        *port = address_port(&all);
        return fd;
    }
    return -1;
}

int address_listen(union address *a)
{
    int fd = socket_bind(a), saved;

    if (fd < 0 || listen(fd, SOMAXCONN) == 0)
        return fd;
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}
