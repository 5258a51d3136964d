/* jax_backend.c - JAX: the variables of jax.distributed.initialize(). Rank 0's child is
 * the coordinator, on the port that is held for it. */
#include "config.h"

#include "backend/framework.h"
#include "util/argv.h"

int jax_variables(const struct seat *seats, int size, int rank, char ***variables,
                  struct error *err)
{
    char coordinator[HOST_PORT_MAX];

    address_host_port(seats[0].address, seats[0].port, coordinator);
    if (argv_appendf(variables, err, "JAX_COORDINATOR_ADDRESS=%s", coordinator) < 0 ||
        argv_appendf(variables, err, "JAX_NUM_PROCESSES=%d", size) < 0)
        return -1;
    return argv_appendf(variables, err, "JAX_PROCESS_ID=%d", rank);
}

static int jax_fill(struct framework *f, const struct backend *b, struct error *err)
{
    const struct rendezvous *r = &f->rendezvous;

    return jax_variables(r->seats, r->size, b->world->rank, &f->variables, err);
}

static int jax_training_start(struct backend *b, struct error *err)
{
    return framework_training_start(b, PORT_OF_RANK_0, jax_fill, err);
}

const struct backend_ops backend_jax = {
    .on_start = framework_start,
    .on_training_start = jax_training_start,
    .on_call = framework_call,
    .environment = framework_environment,
    .on_shutdown = framework_shutdown,
};
