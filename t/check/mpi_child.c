/* mpi_child.c - an MPI program that knows nothing of raytrain: prints its rank when the
 * ranks have exchanged messages, also in groups of every other rank. Arguments:
 *
 *     sum          only a sum over all ranks, and an end without MPI_Finalize
 *     abort        the last rank calls MPI_Abort
 *     kill         the last rank kills itself
 *     wait FILE    prints "waiting", and waits until the file exists
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In a build with sanitizers: MPI leaks some bytes, which are not ours. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return 1;
}

static int rank, size;

/* Does the sum of rank + 1 over all ranks of this group come out? */
static int sum_is(MPI_Comm comm, double expected)
{
    double x = rank + 1, sum;

    return MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, comm) == MPI_SUCCESS &&
           sum == expected;
}

/* Around the ring. */
static int neighbour_is_there(void)
{
    static int mine[40000], theirs[40000];
    const int n = sizeof mine / sizeof mine[0], before = (rank + size - 1) % size;

    for (int i = 0; i < n; i++)
        mine[i] = rank + i;
    return MPI_Sendrecv(mine, n, MPI_INT, (rank + 1) % size, 3, theirs, n, MPI_INT,
                        before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS &&
           theirs[n - 1] == before + n - 1;
}

static int half_is_there(void)
{
    double expected = 0;
    MPI_Comm half;
    int well;

    for (int r = rank % 2; r < size; r += 2)
        expected += r + 1;
    if (MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half) != MPI_SUCCESS)
        return 0;
    well = sum_is(half, expected);
    MPI_Comm_free(&half);
    return well;
}

static void misbehave(const char *how, const char *file)
{
    if (strcmp(how, "abort") == 0 && rank == size - 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(how, "kill") == 0 && rank == size - 1)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "wait") != 0)
        return;
    puts("waiting");
    fflush(stdout);
    while (access(file, F_OK) < 0)
        usleep(10000);
}

/* MPI_Finalize of MPICH 4.0 over UCX hangs now and then if there are several nodes. */
static void leave(void)
{
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    _exit(0);
}

int main(int argc, char *argv[])
{
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS)
        return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1)
        misbehave(argv[1], argc > 2 ? argv[2] : "");
    if (!sum_is(MPI_COMM_WORLD, size * (size + 1) / 2.0))
        return 1;
    if ((argc < 2 || strcmp(argv[1], "sum") != 0) &&
        (!neighbour_is_there() || !half_is_there()))
        return 1;
    printf("met %d of %d\n", rank, size);
    if (argc > 1 && strcmp(argv[1], "sum") == 0)
        leave();
    return MPI_Finalize();
}
