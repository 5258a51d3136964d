/* plain_mpi.c - an MPI program that knows nothing of raytrain. It ends by _exit, so that a
 * build with sanitizers does not look for leaks in MPI. */
#include <mpi.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
    _exit(MPI_Init(&argc, &argv) || MPI_Barrier(MPI_COMM_WORLD) || MPI_Finalize());
}
