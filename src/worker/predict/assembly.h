/*
 * assembly.h - all ranks make the file of all predictions from the parts. Each writes a
 * range of it, and ranges meet at multiples of 1 MiB, so that two nodes never write to
 * the same page. The file is synced before it gets its name.
 */
#ifndef RAYTRAIN_PREDICT_ASSEMBLY_H
#define RAYTRAIN_PREDICT_ASSEMBLY_H

#include "comm/comm.h"
#include "predict/predict_plan.h"
#include "predict/predicted.h"

struct assembly {
    struct comm *comm;
    const char *parts; /* the directory */
    const char *output; /* the path of the file; an existing one is replaced */
    const struct predict_plan *plan;
    const struct predicted *predicted;
    const uint64_t *bytes;      /* of stream s of part i: [i * streams + s] */
    void (*goes_on)(void *arg); /* before each block; NULL: nothing is called */
    void *arg;
};

/* COLLECTIVE. Calls HDF5. */
int assembly_make(const struct assembly *a, struct error *err);

#endif
