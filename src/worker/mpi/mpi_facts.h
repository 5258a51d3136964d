/* mpi_facts.h - which MPI library this process uses, and how it transports messages, as
 * far as that can be seen from outside the library. */
#ifndef RAYTRAIN_MPI_MPI_FACTS_H
#define RAYTRAIN_MPI_MPI_FACTS_H

#include <jansson.h>

/*
 *   {"library": "MPICH 4.0.2", "standard": "4.0", "device": "ch4:ofi" or null,
 *    "transports": loaded libraries for transport, such as "libfabric.so.1",
 *    "settings": environment variables that choose one, "FI_PROVIDER=tcp"}
 *
 * Works before and after MPI_Init. A new reference; NULL without memory.
 */
json_t *mpi_facts(void);

#endif
