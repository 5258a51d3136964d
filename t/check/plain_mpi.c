/* plain_mpi.c - an MPI program that does not use raytrain. It ends by _exit, so that a
 * build with sanitizers does not look for leaks in MPI. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION >= 50000000
    /* With these variables MPI would expect PMIx, which it does not support, and fail. */
    unsetenv("PMIX_NAMESPACE");
    unsetenv("PMIX_VERSION");
    unsetenv("PMIX_RANK");
#endif
    _exit(MPI_Init(&argc, &argv) || MPI_Barrier(MPI_COMM_WORLD) || MPI_Finalize());
}
