/*
 * inner.c - save and restore a tensor of 32 MB times the number of ranks, of which each
 * rank has some columns: 32 bytes of each row.
 *
 *     inner save FILE columns|rows   save it, cut into columns or into rows; prints the
 *                                    seconds of the slowest rank
 *     inner restore FILE             each rank reads its columns; prints the MiB that all
 *                                    have asked read() for, without the verification, which
 *                                    reads every byte once, and the MiB of the tensor
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "mpi/mpi_comm.h"
#include "util/clock.h"

#define ROWS    (1u << 20) /* times 32 bytes: what each rank has */
#define COLUMNS 8          /* float32 of each rank */

static struct error err;
static struct comm *comm;

static void check(int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "inner: %s: %s\n", what, err.text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static raytrain_tensor tensor(void *data)
{
    return (raytrain_tensor){.data = data,
                             .dtype = RAYTRAIN_FLOAT32,
                             .ndim = 2,
                             .shape = {ROWS, COLUMNS * (uint64_t)comm->size}};
}

static raytrain_slab columns(void)
{
    return (raytrain_slab){{0, COLUMNS * (uint64_t)comm->rank}, {ROWS, COLUMNS}};
}

static raytrain_slab rows(void)
{
    uint64_t n = ROWS / (uint64_t)comm->size;

    return (raytrain_slab){{n * (uint64_t)comm->rank, 0},
                           {n, COLUMNS * (uint64_t)comm->size}};
}

static char *memory(void)
{
    char *data = malloc((size_t)ROWS * COLUMNS * sizeof(float));

    check(data ? 0 : -1, "memory");
    memset(data, 1 + comm->rank, (size_t)ROWS * COLUMNS * sizeof(float));
    return data;
}

static void save(const char *path, const raytrain_slab *slab)
{
    const struct checkpoint_meta meta = {.run_name = "bench", .world_size = comm->size};
    raytrain_checkpoint *ck = checkpoint_create(&err);
    char *data = memory();
    raytrain_tensor t = tensor(data);
    double took;

    check(ck ? checkpoint_put(ck, "model", &t, slab, &err) : -1, "put");
    check(comm->ops->barrier(comm, &err), "barrier");
    took = clock_now();
    check(checkpoint_save(ck, comm, &meta, path, &err), "save");
    took = clock_now() - took;
    check(comm->ops->allreduce(comm, &took, 1, COMM_FLOAT64, COMM_MAX, &err), "max");
    checkpoint_destroy(ck);
    free(data);
    if (comm->rank == 0)
        printf("%.4f\n", took);
}

/* Bytes that this process has asked read() for. */
static double bytes_read(void)
{
    FILE *io = fopen("/proc/self/io", "r");
    double n = 0;

    check(io && fscanf(io, "rchar: %lf", &n) == 1 ? 0 : -1, "/proc/self/io");
    fclose(io);
    return n;
}

static void restore(const char *path)
{
    raytrain_checkpoint *ck = NULL;
    char *data = memory();
    raytrain_tensor t = tensor(data);
    raytrain_slab slab = columns();
    double n;

    check(checkpoint_open(comm, path, &ck, &err), "open");
    n = bytes_read();
    check(checkpoint_get(ck, "model", &t, &slab, &err), "get");
    n = bytes_read() - n;
    check(comm->ops->allreduce(comm, &n, 1, COMM_FLOAT64, COMM_SUM, &err), "sum");
    checkpoint_destroy(ck);
    free(data);
    if (comm->rank == 0)
        printf("%.3f %d\n", n / (1 << 20), 32 * comm->size);
}

int main(int argc, char *argv[])
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    comm = mpi_comm_create(MPI_COMM_WORLD, 0, &err);
    check(comm ? 0 : -1, "communicator");
    if (argc == 4 && strcmp(argv[1], "save") == 0) {
        raytrain_slab slab = strcmp(argv[3], "rows") == 0 ? rows() : columns();

        save(argv[2], &slab);
    } else if (argc == 3 && strcmp(argv[1], "restore") == 0) {
        restore(argv[2]);
    } else {
        fprintf(stderr, "usage: see the head of inner.c\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    comm_free(comm);
    MPI_Finalize();
    return 0;
}
