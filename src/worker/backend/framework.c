/*
 * framework.c - starts and stops the backend of a framework over the MPI backend, and
 * keeps the variables of the child; at the end the backend of a command without a
 * framework.
 */
#include "config.h"

#include "backend/framework.h"

#include <stdlib.h>
#include <string.h>

#include "backend/mpi_backend.h"
#include "util/argv.h"

/* b->comm exists from here on, so that on_shutdown handles later failures. */
int framework_start(struct backend *b, struct wireup *w, struct error *err)
{
    struct framework *f = calloc(1, sizeof *f);

    if (!f)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for the backend");
    f->rendezvous.socket = -1;
    f->mpi.ops = &backend_mpi;
    if (f->mpi.ops->on_start(&f->mpi, w, err) < 0) {
        free(f);
        return -1;
    }
    b->impl = f;
    b->comm = f->mpi.comm;
    return 0;
}

int framework_training_start(struct backend *b, enum rendezvous_ports ports,
                             int (*fill)(struct framework *f, const struct backend *b,
                                         struct error *err),
                             struct error *err)
{
    struct framework *f = b->impl;

    if (rendezvous_make(b->comm, b->world, ports, &f->rendezvous, err) < 0)
        return error_prefix(err, "backend \"%s\"", backend_name(b->ops));
    return comm_agree(b->comm, fill(f, b, err), err);
}

int framework_call(const struct backend *b, struct error *err)
{
    const struct framework *f = b->impl;

    return f->mpi.ops->on_call(&f->mpi, err);
}

static int variable_set(const char *variable,
                        int (*set)(void *arg, const char *name, const char *value),
                        void *arg, struct error *err)
{
    const char *equals = strchr(variable, '=');
    char *name = strndup(variable, strcspn(variable, "="));
    int rc;

    if (!name)
        return error_no_memory(err);
    rc = set(arg, name, equals ? equals + 1 : NULL);
    free(name);
    return rc;
}

int framework_environment(const struct backend *b,
                          int (*set)(void *arg, const char *name, const char *value),
                          void *arg, struct error *err)
{
    const struct framework *f = b->impl;

    for (char **v = f->variables; v && *v; v++)
        if (variable_set(*v, set, arg, err) < 0)
            return -1;
    return 0;
}

void framework_shutdown(struct backend *b, bool clean, bool *exit_now)
{
    struct framework *f = b->impl;

    f->mpi.ops->on_shutdown(&f->mpi, clean, exit_now);
    if (f->server)
        f->server_free(f->server);
    rendezvous_clear(&f->rendezvous);
    argv_free(f->variables);
    free(f);
    b->impl = NULL;
    b->comm = NULL;
}

int framework_default(char ***variables, struct error *err, const char *name,
                      const char *value)
{
    if (getenv(name))
        return 0;
    return argv_appendf(variables, err, "%s=%s", name, value);
}

/* ---- "command": the rank variables, which every child gets, and no others ---- */

const struct backend_ops backend_command = {
    .on_start = framework_start,
    .on_call = framework_call,
    .environment = framework_environment,
    .on_shutdown = framework_shutdown,
};
