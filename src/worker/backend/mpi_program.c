/* mpi_program.c - the variables of PMI-1 and PMIx for MPI programs, and their PMIx
 * server (wireup/child_server.c). */
#include "backend/mpi_program.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "util/secret.h"

const struct mpi_setting settings_of_open_mpi[] = {
    {"OMPI_MCA_orte_local_daemon_uri", "0.0;tcp://127.0.0.1:1"},
    {"OMPI_MCA_orte_externally_bound", "1"},
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
    {NULL, NULL}};

/* Sets variables of a child. */
struct setter {
    int (*set)(void *arg, const char *name, const char *value);
    void *arg;
};

static int number_variable_set(const struct setter *s, const char *name, int value)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    return s->set(s->arg, name, text);
}

/* Set the variable unless the user has set it. */
static int default_set(const struct setter *s, const char *name, const char *value)
{
    return getenv(name) ? 0 : s->set(s->arg, name, value);
}

/* ---- PMI-1 ---- */

/* MPICH 5 finds PMIx beside PMI-1, and would refuse to choose. */
static int pmi1_set(struct mpi_program *p, const struct setter *s, struct error *err)
{
    const struct world *place = wireup_world(p->wireup);

    if (wireup_bridge_start_child(p->wireup, &p->fd, err) < 0)
        return -1;
    if (number_variable_set(s, "PMI_FD", p->fd) < 0 ||
        number_variable_set(s, "PMI_RANK", place->rank) < 0 ||
        number_variable_set(s, "PMI_SIZE", place->size) < 0 ||
        number_variable_set(s, "MPI_LOCALRANKID", place->local_rank) < 0 ||
        number_variable_set(s, "MPI_LOCALNRANKS", place->local_size) < 0)
        return -1;
    return default_set(s, "MPIR_CVAR_PMI_VERSION", "1");
}

/* ---- PMIx ---- */

/* Give the variables of all ranks of this node, which its first rank has, to all of
 * them. */
static int variables_share(struct comm *c, char **variables, size_t *n_variables,
                           struct error *err)
{
    uint64_t n = *n_variables;
    void *data = *variables;
    struct comm *node;
    int rc;

    if (c->ops->split_node(c, &node, err) < 0)
        return -1;
    rc = node->ops->bcast(node, &n, sizeof n, 0, err);
    if (rc == 0)
        rc = comm_bcast_alloc(node, &data, n, 0, err);
    comm_free(node);
    *variables = data;
    *n_variables = n;
    return rc;
}

/* Set the variables of the local rank `mine`. */
static int variables_set(const struct setter *s, char *variables, size_t n, int mine)
{
    int rank = 0;

    for (char *at = variables; at < variables + n; at += strlen(at) + 1) {
        char *value = strchr(at, '=');

        if (!*at)
            rank++;
        if (rank != mine || !value)
            continue;
        *value = '\0';
        if (s->set(s->arg, at, value + 1) < 0)
            return -1;
        *value = '=';
    }
    return 0;
}

/* A process that knows the secret can join the programs. It is random, since the
 * namespace of the workers can be guessed: under Slurm it has the number of the
 * step. */
static int secret_share(struct comm *c, char secret[SECRET_TEXT_MAX], struct error *err)
{
    int rc = 0;

    memset(secret, 0, SECRET_TEXT_MAX);
    if (c->rank == 0)
        rc = secret_make(secret, err);
    rc = comm_agree(c, rc, err);
    return rc == 0 ? c->ops->bcast(c, secret, SECRET_TEXT_MAX, 0, err) : -1;
}

static int program_server_start(struct mpi_program *p, struct comm *c, char **variables,
                                size_t *n, struct error *err)
{
    const struct world *world = wireup_world(p->wireup);
    char secret[SECRET_TEXT_MAX], nspace[sizeof "raytrain-" + SECRET_TEXT_MAX];
    int rc = 0;

    *variables = NULL;
    *n = 0;
    if (secret_share(c, secret, err) < 0)
        return -1;
    snprintf(nspace, sizeof nspace, "raytrain-%s", secret);
    if (world->n_nodes > 1 && node_exchange_make(c, world, &p->exchange, err) < 0)
        return -1;
    if (world->local_rank == 0)
        rc = wireup_server_start_child(p->wireup, nspace, node_exchange, &p->exchange,
                                       variables, n, err);
    return comm_agree(c, rc, err);
}

static int pmix_set(struct mpi_program *p, struct comm *c, const struct setter *s,
                    struct error *err)
{
    char *variables;
    size_t n;
    int rc = program_server_start(p, c, &variables, &n, err);

    if (rc == 0)
        rc = variables_share(c, &variables, &n, err);
    if (rc == 0)
        rc = variables_set(s, variables, n, wireup_world(p->wireup)->local_rank);
    free(variables);
    for (const struct mpi_setting *o = settings_of_open_mpi; rc == 0 && o->name; o++)
        rc = default_set(s, o->name, o->value);
    return rc;
}

/* ---- Both ---- */

int mpi_program_environment(struct mpi_program *p, struct comm *c,
                            int (*set)(void *arg, const char *name, const char *value),
                            void *arg, struct error *err)
{
    const struct setter s = {.set = set, .arg = arg};

    if (pmix_set(p, c, &s, err) < 0)
        return -1;
    return pmi1_set(p, &s, err);
}

const char *mpi_program_remark(const struct mpi_program *p, bool well)
{
    if (!well)
        return wireup_child_killed(p->wireup);
    if (wireup_child_used(p->wireup))
        return NULL;
    return "backend \"mpi\": the command has not joined an MPI group of all workers. "
           "If "
           "it has called MPI_Init, each rank was a group of its own: its MPI library "
           "speaks neither PMI-1, as MPICH and its relatives do, nor PMIx, as Open MPI "
           "does";
}

void mpi_program_stop(struct mpi_program *p)
{
    if (wireup_server_stop_child(p->wireup))
        node_exchange_clear(&p->exchange);
}
