/* host.c - compare the headers Host and Origin with the names of this service. */
#include "http/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define NAME_MOST 256

/* The name in NAME:PORT or [IPV6]:PORT, without brackets. False: it does not have this
 * form. */
static bool name_of(const char *host, char name[NAME_MOST])
{
    bool is_v6 = *host == '[';
    size_t n;

    if (is_v6)
        host++;
    n = strcspn(host, is_v6 ? "]" : ":");
    if (n == 0 || n >= NAME_MOST || (is_v6 && host[n] != ']'))
        return false;
    snprintf(name, NAME_MOST, "%.*s", (int)n, host);
    return true;
}

static bool name_is_loopback(const char *name)
{
    struct in_addr v4;
    struct in6_addr v6;

    if (strcasecmp(name, "localhost") == 0)
        return true;
    if (inet_pton(AF_INET, name, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, name, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool host_is_ours(const char *host, const struct listening *at)
{
    char name[NAME_MOST], own[NAME_MOST];

    if (!host || at->is_unix)
        return true;
    if (!name_of(host, name))
        return false;
    return name_is_loopback(name) ||
           (name_of(at->asked, own) && strcasecmp(name, own) == 0) ||
           (name_of(at->text, own) && strcasecmp(name, own) == 0);
}

bool host_is_origin(const char *origin, const char *host)
{
    const char *slashes = origin ? strstr(origin, "://") : NULL;

    if (!origin)
        return true;
    return host && slashes && strcasecmp(slashes + 3, host) == 0;
}
