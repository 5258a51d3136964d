/* mpi_facts.h - which MPI library this process has, and how it transports messages, as far
 * as that can be seen from outside of it. */
#ifndef RAYTRAIN_MPI_MPI_FACTS_H
#define RAYTRAIN_MPI_MPI_FACTS_H

#include <jansson.h>

/*
 *   {"library": "MPICH 4.0.2", "standard": "4.0", "device": "ch4:ofi" or null,
 *    "transports": libraries for transport that are loaded, such as "libfabric.so.1",
 *    "settings": variables of the environment that choose one, "FI_PROVIDER=tcp"}
 *
 * Before and after MPI_Init. New; NULL without memory.
 */
json_t *mpi_facts(void);

#endif
