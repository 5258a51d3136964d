/* pmix_hello.c - a minimal program with PMIx and MPI: initialise both, fence, finalise
 * both. */
#include <mpi.h>
#include <pmix.h>

int main(int argc, char *argv[])
{
    pmix_proc_t self;

    if (PMIx_Init(&self, NULL, 0) != PMIX_SUCCESS)
        return 1;
    MPI_Init(&argc, &argv);
    PMIx_Fence(NULL, 0, NULL, 0);
    MPI_Finalize();
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 1;
}
