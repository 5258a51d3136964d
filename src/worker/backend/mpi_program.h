/*
 * mpi_program.h - a child of the worker that is an MPI program: it calls MPI_Init
 * itself, and forms a group with the children of the other ranks, whatever its MPI
 * library is. Some find their group through PMI-1 (MPICH and its relatives), others
 * through PMIx (Open MPI); a child gets what both need.
 */
#ifndef RAYTRAIN_BACKEND_MPI_PROGRAM_H
#define RAYTRAIN_BACKEND_MPI_PROGRAM_H

#include "backend/node_exchange.h"
#include "comm/comm.h"
#include "wireup/wireup.h"

/* Open MPI 4 speaks PMIx, but takes a process for a group of one unless Slurm or a
 * daemon of Open MPI has started it. The address of such a daemon, which is otherwise
 * used only to start other programs, makes it ask its PMIx server. CPUs are bound
 * already, so Open MPI must not bind them again. */
struct mpi_setting {
    const char *name, *value;
};
extern const struct mpi_setting settings_of_open_mpi[]; /* NULL at the end */

struct mpi_program {
    struct wireup *wireup;
    int fd; /* PMI_FD of the child; -1: none */
    struct node_exchange exchange;
};

/* COLLECTIVE: as backend_ops.environment; afterwards p->fd is as its `descriptor`. */
int mpi_program_environment(struct mpi_program *p, struct comm *c,
                            int (*set)(void *arg, const char *name, const char *value),
                            void *arg, struct error *err);
/* As backend_ops.remark. */
const char *mpi_program_remark(const struct mpi_program *p, bool well);
/* COLLECTIVE, when all programs have ended, or if none has been started. */
void mpi_program_stop(struct mpi_program *p);

#endif
