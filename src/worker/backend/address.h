/*
 * address.h - addresses of this node, as text, and TCP ports that are held for another
 * process.
 */
#ifndef RAYTRAIN_BACKEND_ADDRESS_H
#define RAYTRAIN_BACKEND_ADDRESS_H

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "util/error.h"

#define ADDRESSES_MAX 16
/* "[IPv6]:65535" and a NUL. */
#define HOST_PORT_MAX (INET6_ADDRSTRLEN + 8)

/* An IPv4 or IPv6 address with a port, which is 0 if there is none yet. */
union address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct local_address {
    union address address;
    char interface[IF_NAMESIZE];
};

socklen_t address_length(const union address *a);
int address_port(const union address *a);
void address_set_port(union address *a, int port);
/* Without the port. */
void address_text(const union address *a, char text[INET6_ADDRSTRLEN]);
/* "10.0.0.1:29500", "[fd00::1]:29500": what URLs and gRPC understand. */
void address_host_port(const char *host, int port, char text[HOST_PORT_MAX]);

/*
 * Choose from a list of getifaddrs(3) the addresses at which other nodes may reach this
 * one, at most ADDRESSES_MAX, the best first; returns their number. Interfaces that are
 * down, loopback, and addresses that are valid on their link only (fe80::/10) are left
 * out. `preferred`, "eth1,ib0" or NULL, are interfaces that come first; then IPv4
 * before IPv6, and self-assigned addresses (169.254/16) last.
 */
int addresses_choose(const struct ifaddrs *list, const char *preferred,
                     struct local_address out[ADDRESSES_MAX]);

/* The interface with this address, from such a list; "" if there is none. */
void address_interface(const struct ifaddrs *list, const union address *a,
                       char name[IF_NAMESIZE]);

/* The address of this node in packets to `to`, without a port. -1 and errno without a
 * route. Sends nothing. */
int address_towards(const union address *to, union address *mine);

/*
 * Bind a free TCP port of all addresses of this node, without listening. While the
 * descriptor is open, the kernel does not give the port to other processes, except to
 * one that asks for this number with SO_REUSEADDR, as frameworks do. -1 and errno.
 */
int port_hold(int *port);

/* Listen at an address; for port 0, choose a free port, and set it in *a. -1 and
 * errno. */
int address_listen(union address *a);

#endif
