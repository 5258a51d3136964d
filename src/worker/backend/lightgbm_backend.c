/*
 * lightgbm_backend.c - LightGBM's Python module: the variable from which
 * get_network_params() of raytrain.lightgbm makes the parameters machines and
 * local_listen_port. LightGBM has no variables of its own for them.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/framework.h"
#include "util/argv.h"

#define NAME "RAYTRAIN_LIGHTGBM_MACHINES"
/* The longest string, with its NUL, that Linux allows in an environment. */
#define VARIABLE_MAX ((size_t)128 * 1024)

static int seats_check(const struct seat *seats, int size, struct error *err)
{
    for (int r = 0; r < size; r++)
        if (strchr(seats[r].address, ':'))
            return error_set(err, RAYTRAIN_ENOTSUP,
                             "LightGBM connects by IPv4 only, and the node of rank %d "
                             "has the address %s; name an interface with an IPv4 "
                             "address in GLOO_SOCKET_IFNAME",
                             r, seats[r].address);
    return 0;
}

/* "HOST:PORT,HOST:PORT"; NULL without memory. */
static char *machines_text(const struct seat *seats, int size)
{
    char *text = size > 0 ? calloc((size_t)size, HOST_PORT_MAX + 1) : NULL, *at = text;

    for (int r = 0; text && r < size; r++) {
        if (r > 0)
            *at++ = ',';
        address_host_port(seats[r].address, seats[r].port, at);
        at += strlen(at);
    }
    return text;
}

int lightgbm_variables(const struct seat *seats, int size, int rank, char ***variables,
                       struct error *err)
{
    char *text;
    int rc;

    if (seats_check(seats, size, err) < 0)
        return -1;
    text = machines_text(seats, size);
    if (!text)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for " NAME);
    if (strlen(NAME "=") + strlen(text) >= VARIABLE_MAX)
        rc = error_set(err, RAYTRAIN_ENOTSUP,
                       "the addresses of all %d workers are longer than the %zu KiB "
                       "that Linux allows for a variable; start fewer workers, with "
                       "more CPUs each",
                       size, VARIABLE_MAX / 1024);
    else
        rc = argv_appendf(variables, err, NAME "=%s", text);
    free(text);
    if (rc < 0)
        return -1;
    return argv_appendf(variables, err, "RAYTRAIN_LIGHTGBM_PORT=%d", seats[rank].port);
}

/* The port is not held any longer: LightGBM binds it without SO_REUSEADDR, which the
 * kernel refuses while another socket has it. */
static int lightgbm_fill(struct framework *f, const struct backend *b,
                         struct error *err)
{
    struct rendezvous *r = &f->rendezvous;

    if (r->socket >= 0)
        close(r->socket);
    r->socket = -1;
    return lightgbm_variables(r->seats, r->size, b->world->rank, &f->variables, err);
}

static int lightgbm_training_start(struct backend *b, struct error *err)
{
    return framework_training_start(b, PORT_OF_EACH_RANK, lightgbm_fill, err);
}

const struct backend_ops backend_lightgbm = {
    .on_start = framework_start,
    .on_training_start = lightgbm_training_start,
    .on_call = framework_call,
    .environment = framework_environment,
    .on_shutdown = framework_shutdown,
};
