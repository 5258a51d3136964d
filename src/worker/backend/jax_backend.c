/*
 * jax_backend.c - JAX: the variables with which jax.distributed.initialize() works
 * without arguments (JAX 0.4 to 0.11). JAX takes the coordinator's address from a
 * variable of its own, but the number of processes and its own number only from a
 * cluster that it detects: Open MPI, or else Slurm. The child gets Slurm's variables,
 * which under Slurm describe the step. Those of Open MPI would also be read by its
 * library, which would look for the daemon that they name. Rank 0's child is the
 * coordinator, on the port that is held for it, and listens only at the address of the
 * rendezvous.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "backend/accelerators.h"
#include "backend/framework.h"
#include "config/train_config.h"
#include "util/argv.h"

/* JAX requires all five; it uses the first two only to form an address of its own. */
static int cluster_variables(const struct jax_place *p, char ***v, struct error *err)
{
    const char *nodes = getenv("SLURM_STEP_NODELIST");

    if (framework_default(v, err, "SLURM_JOB_ID", "0") < 0 ||
        argv_appendf(v, err, "SLURM_STEP_NODELIST=%s",
                     nodes ? nodes : p->seats[0].address) < 0 ||
        argv_appendf(v, err, "SLURM_NTASKS=%d", p->size) < 0 ||
        argv_appendf(v, err, "SLURM_PROCID=%d", p->rank) < 0)
        return -1;
    return argv_appendf(v, err, "SLURM_LOCALID=%d", p->seats[p->rank].local_rank);
}

/* A child sees only the GPUs of its rank, as numbers 0, 1 and so on. By default JAX
 * would use the GPU with the number of the local rank, even if it does not exist. */
static int devices_variable(const struct jax_place *p, char ***v, struct error *err)
{
    int local = p->seats[p->rank].local_rank;
    char *list = NULL;
    size_t length;
    FILE *out;
    int rc;

    out = open_memstream(&list, &length);
    if (!out)
        return error_set(err, RAYTRAIN_ENOMEM, "no memory for the list of GPUs");
    if (p->gpus <= 0)
        fprintf(out, "%d", p->devices > 0 ? local % p->devices : local);
    for (int i = 0; i < p->gpus; i++)
        fprintf(out, "%s%d", i ? "," : "", i);
    if (fclose(out) == 0)
        rc = framework_default(v, err, "JAX_LOCAL_DEVICE_IDS", list);
    else
        rc = error_set(err, RAYTRAIN_ENOMEM, "no memory for the list of GPUs");
    free(list);
    return rc;
}

int jax_variables(const struct jax_place *p, char ***v, struct error *err)
{
    char coordinator[HOST_PORT_MAX];

    address_host_port(p->seats[0].address, p->seats[0].port, coordinator);
    if (argv_appendf(v, err, "JAX_COORDINATOR_ADDRESS=%s", coordinator) < 0 ||
        argv_appendf(v, err, "JAX_COORDINATOR_BIND_ADDRESS=%s", coordinator) < 0 ||
        argv_append(v, "OMPI_MCA_orte_hnp_uri", err) < 0 ||
        cluster_variables(p, v, err) < 0 ||
        argv_appendf(v, err, "JAX_NUM_PROCESSES=%d", p->size) < 0 ||
        argv_appendf(v, err, "JAX_PROCESS_ID=%d", p->rank) < 0)
        return -1;
    return devices_variable(p, v, err);
}

static int jax_fill(struct framework *f, const struct backend *b, struct error *err)
{
    const struct jax_place place = {
        .seats = f->rendezvous.seats,
        .size = f->rendezvous.size,
        .rank = b->world->rank,
        .gpus = b->config->scaling_config.gpus_per_worker,
        .devices = accelerators_nvidia(getenv("CUDA_VISIBLE_DEVICES"), "/dev"),
    };

    return jax_variables(&place, &f->variables, err);
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
