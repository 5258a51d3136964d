/*
 * jax_backend.c - JAX: the variables by which jax.distributed.initialize() works
 * without arguments (JAX 0.4 to 0.11). JAX takes the coordinator's address from a
 * variable of its own, but the number of processes and its own number only from a
 * cluster that it detects. The first that it looks for is Open MPI, so that the child
 * finds the variables of that one, whatever Slurm has set. Rank 0's child is the
 * coordinator, on the port that is held for it, and listens at the address of the
 * rendezvous alone.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/framework.h"
#include "config/train_config.h"
#include "util/argv.h"

/* Where JAX expects mpiexec of Open MPI; it looks for the variable, and nothing
 * connects there. */
static int daemon_variable(const struct seat *first, char ***v, struct error *err)
{
    const char *form = strchr(first->address, ':') ? "tcp6://[%s]:%d" : "tcp://%s:%d";
    char uri[HOST_PORT_MAX + 16];

    snprintf(uri, sizeof uri, form, first->address, first->port);
    return argv_appendf(v, err, "OMPI_MCA_orte_hnp_uri=4096.0;%s", uri);
}

static int place_variables(const struct seat *mine, int size, int rank, char ***v,
                           struct error *err)
{
    if (argv_appendf(v, err, "OMPI_COMM_WORLD_SIZE=%d", size) < 0 ||
        argv_appendf(v, err, "OMPI_COMM_WORLD_RANK=%d", rank) < 0 ||
        argv_appendf(v, err, "OMPI_COMM_WORLD_LOCAL_RANK=%d", mine->local_rank) < 0 ||
        argv_appendf(v, err, "JAX_NUM_PROCESSES=%d", size) < 0)
        return -1;
    return argv_appendf(v, err, "JAX_PROCESS_ID=%d", rank);
}

/* A child sees the GPUs of its rank alone, as numbers 0, 1 and so on. By default JAX
 * would take the one with the number of the local rank. */
static int devices_variable(int gpus, char ***v, struct error *err)
{
    char *list = NULL;
    size_t length;
    FILE *out;
    int rc;

    if (gpus <= 0)
        return 0;
    out = open_memstream(&list, &length);
    if (!out)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for the list of GPUs");
    for (int i = 0; i < gpus; i++)
        fprintf(out, "%s%d", i ? "," : "", i);
    if (fclose(out) == 0)
        rc = framework_default(v, err, "JAX_LOCAL_DEVICE_IDS", list);
    else
        rc = error_set(err, RAYTRAIN_ENOMEM, "no memory for the list of GPUs");
    free(list);
    return rc;
}

int jax_variables(const struct seat *seats, int size, int rank, int gpus,
                  char ***variables, struct error *err)
{
    char coordinator[HOST_PORT_MAX];

    address_host_port(seats[0].address, seats[0].port, coordinator);
    if (argv_appendf(variables, err, "JAX_COORDINATOR_ADDRESS=%s", coordinator) < 0 ||
        argv_appendf(variables, err, "JAX_COORDINATOR_BIND_ADDRESS=%s", coordinator) <
            0 ||
        daemon_variable(&seats[0], variables, err) < 0 ||
        place_variables(&seats[rank], size, rank, variables, err) < 0)
        return -1;
    return devices_variable(gpus, variables, err);
}

static int jax_fill(struct framework *f, const struct backend *b, struct error *err)
{
    const struct rendezvous *r = &f->rendezvous;

    return jax_variables(r->seats, r->size, b->world->rank,
                         b->config->scaling_config.gpus_per_worker, &f->variables, err);
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
