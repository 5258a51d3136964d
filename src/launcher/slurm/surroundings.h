/*
 * surroundings.h - what this process was started in, as its environment tells:
 * beside copies of itself, inside a step or in a heterogeneous allocation of Slurm's.
 */
#ifndef RAYTRAIN_SLURM_SURROUNDINGS_H
#define RAYTRAIN_SLURM_SURROUNDINGS_H

#include <stdbool.h>

#include "util/error.h"

struct surroundings {
    int copies;          /* how often this command was started at once, by ... */
    const char *starter; /* its name, such as mpiexec */
    int rank;            /* of this copy */
    bool in_step;        /* what a step of Slurm's holds is not free for another one */
    int components;      /* of a heterogeneous allocation; else 1 */
};

void surroundings_look(struct surroundings *s);

/* May a run start here? RAYTRAIN_EUSAGE: not beside copies of itself, each of which
 * would start all workers; RAYTRAIN_ENOTSUP: not in a heterogeneous allocation. With
 * the launcher "local" both are what the user has asked for. */
int surroundings_check(const struct surroundings *s, const char *launcher,
                       struct error *err);

#endif
