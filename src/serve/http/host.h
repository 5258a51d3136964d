/*
 * host.h - which host names clients may use for a service that needs no token.
 *
 * A page of any site can make a browser on this machine send requests to 127.0.0.1. If
 * the site's own name points to 127.0.0.1, the page could read the answers, too. Such
 * requests are recognised by the Host and Origin headers of the browser.
 */
#ifndef RAYTRAIN_HTTP_HOST_H
#define RAYTRAIN_HTTP_HOST_H

#include <stdbool.h>

#include "http/listening.h"

/* Is this header a name of this service: localhost, a loopback address, or the host that
 * it was asked to listen at? Its port is not looked at. NULL, no header: no browser. */
bool host_is_ours(const char *host, const struct listening *at);
/* Is the page that sends a request one of the service itself? NULL, no header: it may be. */
bool host_is_origin(const char *origin, const char *host);

#endif
