/* named_model.c - find and hold the model and the version that the path of a request names. */
#include "http/named_model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX 300 /* bytes of the names of models in a sentence */

/* "a, b, c": as many of the names as there is room for. */
static const char *names_join(const struct front_options *o, char *text, size_t room)
{
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < o->n_services && n < room; i++)
        n += (size_t)snprintf(text + n, room - n, "%s%s", i > 0 ? ", " : "",
                              service_name(o->services[i]));
    if (n >= room)
        strcpy(text + room - sizeof "...", "...");
    return text;
}

struct service *route_service(struct exchange *x)
{
    const struct front_options *o = &x->front->o;
    char names[NAMES_MAX];

    for (size_t i = 0; i < o->n_services; i++)
        if (strcmp(service_name(o->services[i]), x->args[0]) == 0)
            return x->service = o->services[i];
    exchange_refuse(x, 404, "there is no model \"%s\"; this service has: %s",
                    x->args[0], names_join(o, names, sizeof names));
    return NULL;
}

/* The number of a version; -1: it is not a number. */
static int64_t version_of(const char *text)
{
    char *end;
    long long version;

    errno = 0;
    version = strtoll(text, &end, 10);
    return *text < '0' || *text > '9' || *end || errno ? -1 : version;
}

bool route_names_version(const struct exchange *x)
{
    return x->args[1] != NULL;
}

bool route_version(struct exchange *x)
{
    if (!route_service(x))
        return false;
    if (x->args[1])
        x->held = service_hold_version(x->service, version_of(x->args[1]));
    else
        x->held = service_hold_current(x->service);
    if (!x->held && x->args[1])
        exchange_refuse(x, 404, "model \"%s\" has no version \"%s\"", x->args[0],
                        x->args[1]);
    else if (!x->held)
        exchange_refuse(x, 503, "model \"%s\" is not ready yet", x->args[0]);
    return x->held != NULL;
}
