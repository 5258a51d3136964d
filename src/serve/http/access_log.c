/* access_log.c - compose and write the line of a request. */
#include "http/access_log.h"

#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

#include "util/clock.h"
#include "util/quote.h"

/* The address without the port; a Unix socket has none. */
static void client_name(struct exchange *x, char name[NI_MAXHOST])
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(x->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const struct sockaddr *address = info ? info->client_addr : NULL;
    socklen_t n = address && address->sa_family == AF_INET6
                      ? sizeof(struct sockaddr_in6)
                      : sizeof(struct sockaddr_in);

    if (!address || (address->sa_family != AF_INET && address->sa_family != AF_INET6) ||
        getnameinfo(address, n, name, NI_MAXHOST, NULL, 0, NI_NUMERICHOST) != 0)
        snprintf(name, NI_MAXHOST, "-");
}

void access_log_write(struct exchange *x, bool is_complete)
{
    char time[32], client[NI_MAXHOST], line[QUOTE_TEXT_MAX], request[QUOTE_TEXT_MAX];
    char status[16] = "-", more[96] = "";

    if (!x->front->log)
        return;
    clock_iso8601(clock_unix(), time);
    client_name(x, client);
    snprintf(request, sizeof request, "%s %s", x->method, x->path);
    if (is_complete)
        snprintf(status, sizeof status, "%d", x->status);
    if (x->rows > 0)
        snprintf(more, sizeof more,
                 " rows=%" PRIu64 " batch=%" PRIu64 " version=%" PRId64, x->rows,
                 x->q.batch_rows, x->version);
    outlet_print(x->front->log, "%s %s %s %s %.6f%s\n", time, client,
                 quote(request, line), status, clock_now() - x->since, more);
}
