/*
 * mpi_places.c - asks the MPI library by its extensions, which are looked up at run
 * time: MPIX_GPU_query_support() of MPICH 4.0 or later and of libraries made from it,
 * and MPIX_Query_cuda_support() and MPIX_Query_rocm_support() of Open MPI.
 */
#include "config.h"

#include "mpi/mpi_places.h"

#include <dlfcn.h>
#include <mpi.h>
#include <string.h>

/* MPIX_GPU_SUPPORT_CUDA, MPIX_GPU_SUPPORT_HIP */
enum { GPU_CUDA = 0, GPU_HIP = 2 };

static bool mpich_says(int gpu)
{
    int (*query)(int gpu_type, int *is_supported);
    void *symbol = dlsym(RTLD_DEFAULT, "MPIX_GPU_query_support");
    int supported = 0;

    if (!symbol)
        return false;
    memcpy(&query, &symbol, sizeof symbol);
    return query(gpu, &supported) == MPI_SUCCESS && supported;
}

static bool open_mpi_says(const char *function)
{
    int (*query)(void);
    void *symbol = dlsym(RTLD_DEFAULT, function);

    if (!symbol)
        return false;
    memcpy(&query, &symbol, sizeof symbol);
    return query() == 1;
}

bool mpi_reaches(enum comm_place place)
{
    switch (place) {
    case COMM_HOST:
        return true;
    case COMM_CUDA:
        return mpich_says(GPU_CUDA) || open_mpi_says("MPIX_Query_cuda_support");
    case COMM_HIP:
        return mpich_says(GPU_HIP) || open_mpi_says("MPIX_Query_rocm_support");
    case COMM_PLACES:
        break;
    }
    return false;
}
