/*
 * surroundings.h - how this process was started, according to its environment: as one
 * of several copies, inside a Slurm step, in a heterogeneous allocation.
 */
#ifndef RAYTRAIN_SLURM_SURROUNDINGS_H
#define RAYTRAIN_SLURM_SURROUNDINGS_H

#include <stdbool.h>

#include "util/error.h"

struct surroundings {
    int copies;          /* copies of this command started together; else 1 */
    const char *starter; /* the command that started them, such as mpiexec */
    int rank;            /* of this copy */
    const char
        *says[2];   /* the variables that have the number of copies, and the rank */
    bool in_step;   /* another step must share the resources of this one */
    int components; /* of a heterogeneous allocation; else 1 */
};

void surroundings_look(struct surroundings *s);

/* May a run start here? RAYTRAIN_EUSAGE if this is one of several copies, each of which
 * would start all workers; the first one's message is long, the others' are short.
 * RAYTRAIN_ENOTSUP in a heterogeneous allocation. */
int surroundings_check(const struct surroundings *s, struct error *err);

/* Slots of launcher.h. */
int slurm_check_start(struct error *err);
bool slurm_in_step(void);

#endif
