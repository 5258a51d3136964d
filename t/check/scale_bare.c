/* scale_bare.c - an MPI program that does nothing; rank 0 prints the peak memory, in KiB,
 * of the largest rank. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
    unsigned long mine = 0, most = 0;
    char line[256];
    FILE *f;

    if (MPI_Init(&argc, &argv) || MPI_Barrier(MPI_COMM_WORLD))
        return 1;
    f = fopen("/proc/self/status", "r");
    while (f && mine == 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lu", &mine) != 1)
            mine = 0;
    if (!f || fclose(f) != 0)
        return 1;
    if (MPI_Reduce(&mine, &most, 1, MPI_UNSIGNED_LONG, MPI_MAX, 0, MPI_COMM_WORLD))
        return 1;
    if (most > 0)
        printf("%lu\n", most);
    fflush(stdout);
    _exit(MPI_Finalize());
}
