/*
 * restore.c - checkpoints saved and restored by the ranks of one MPI job, beside read()
 * of the same bytes by the same processes.
 *
 *     restore save FILE BYTES PIECES     one replicated checkpoint in so many tensors;
 *                                        prints "SECONDS FILE_BYTES PAYLOAD_BYTES"
 *     restore read FILE PIECES           restore it and read it, in turn, into memory
 * that is new and into memory that was touched; prints "fresh OURS THEIRS" and "warm
 * OURS THEIRS" restore verify FILE                one process verifies it with all
 * cores, and reads it with one; prints "OURS THEIRS"
 *
 * Seconds are those of the slowest rank, from a barrier on.
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/mpi.h"
#include "store/checkpoint.h"
#include "util/clock.h"
#include "util/fs.h"

static struct error err;
static struct comm *comm;

static void check(int rc, const char *what)
{
    if (rc == 0)
        return;
    fprintf(stderr, "restore: %s: %s\n", what, err.text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static double start(void)
{
    check(comm->ops->barrier(comm, &err), "barrier");
    return clock_now();
}

static double stop(double since)
{
    double took = clock_now() - since;

    check(comm->ops->allreduce(comm, &took, 1, COMM_FLOAT64, COMM_MAX, &err), "max");
    return took;
}

static void *memory(size_t n)
{
    void *data =
        mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    check(data == MAP_FAILED ? -1 : 0, "mmap");
    return data;
}

static const char *piece_name(int i, char name[64])
{
    snprintf(name, 64, "layer/%d/w%d", i / 100, i);
    return name;
}

static raytrain_tensor piece(char *data, uint64_t bytes, int i)
{
    return (raytrain_tensor){
        data + (uint64_t)i * bytes, RAYTRAIN_FLOAT32, 1, {bytes / 4}};
}

/* ---- What is measured -------------------------------------------------------------
 */

static void save(const char *path, uint64_t bytes, int pieces)
{
    const struct checkpoint_meta meta = {.run_name = "bench", .world_size = comm->size};
    raytrain_checkpoint *ck = checkpoint_create(&err);
    char *data = memory(bytes), name[64];
    struct stat st;
    double began, took;

    memset(data, 7, bytes);
    began = start();
    for (int i = 0; i < pieces; i++) {
        raytrain_tensor t = piece(data, bytes / pieces, i);

        check(checkpoint_put(ck, piece_name(i, name), &t, NULL, &err), "put");
    }
    check(checkpoint_save(ck, comm, &meta, path, &err), "save");
    took = stop(began);
    checkpoint_destroy(ck);
    munmap(data, bytes);
    if (comm->rank == 0 && stat(path, &st) == 0)
        printf("%.4f %lld %llu\n", took, (long long)st.st_size,
               (unsigned long long)bytes);
}

static double restore(const char *path, char *data, uint64_t bytes, int pieces)
{
    raytrain_checkpoint *ck = NULL;
    double began = start();
    char name[64];

    check(checkpoint_open(comm, path, &ck, &err), "open");
    for (int i = 0; i < pieces; i++) {
        raytrain_tensor t = piece(data, bytes / pieces, i);

        check(checkpoint_get(ck, piece_name(i, name), &t, NULL, &err), "get");
    }
    checkpoint_destroy(ck);
    return stop(began);
}

static double plain_read(const char *path, char *data, uint64_t bytes, int pieces)
{
    double began = start();
    int fd = open(path, O_RDONLY);

    check(fd < 0 ? -1 : 0, "open");
    for (int i = 0; i < pieces; i++)
        check(fs_pread_full(fd, data + (uint64_t)i * (bytes / pieces), bytes / pieces,
                            4096 + (uint64_t)i * (bytes / pieces)),
              "read");
    close(fd);
    return stop(began);
}

static uint64_t payload(const char *path)
{
    raytrain_checkpoint *ck = NULL;
    struct checkpoint_item item;
    uint64_t bytes = 0;

    check(checkpoint_open(comm, path, &ck, &err), "open");
    for (size_t i = 0; checkpoint_item(ck, i, &item); i++)
        bytes += item.bytes;
    checkpoint_destroy(ck);
    return bytes;
}

static void fresh(const char *path, uint64_t bytes, int pieces)
{
    char *data = memory(bytes);
    double ours = restore(path, data, bytes, pieces), theirs;

    munmap(data, bytes);
    data = memory(bytes);
    theirs = plain_read(path, data, bytes, pieces);
    munmap(data, bytes);
    if (comm->rank == 0)
        printf("fresh %.4f %.4f\n", ours, theirs);
}

static void warm(const char *path, uint64_t bytes, int pieces)
{
    char *data = memory(bytes);
    double ours, theirs;

    memset(data, 1, bytes);
    theirs = plain_read(path, data, bytes, pieces);
    ours = restore(path, data, bytes, pieces);
    munmap(data, bytes);
    if (comm->rank == 0)
        printf("warm %.4f %.4f\n", ours, theirs);
}

static void verify(const char *path)
{
    uint64_t bytes = payload(path);
    char *data = memory(bytes);
    raytrain_checkpoint *ck = NULL;
    double ours, theirs, began;

    memset(data, 1, bytes);
    theirs = plain_read(path, data, bytes, 1);
    began = clock_now();
    check(checkpoint_open_index(path, &ck, &err), "open");
    check(checkpoint_verify(ck, &err), "verify");
    ours = clock_now() - began;
    checkpoint_destroy(ck);
    munmap(data, bytes);
    printf("%.4f %.4f\n", ours, theirs);
}

int main(int argc, char *argv[])
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    comm = mpi_comm_create(MPI_COMM_WORLD, &err);
    check(comm ? 0 : -1, "communicator");
    if (argc == 5 && strcmp(argv[1], "save") == 0) {
        save(argv[2], strtoull(argv[3], NULL, 10), atoi(argv[4]));
    } else if (argc == 4 && strcmp(argv[1], "read") == 0) {
        uint64_t bytes = payload(argv[2]);

        fresh(argv[2], bytes, atoi(argv[3]));
        warm(argv[2], bytes, atoi(argv[3]));
    } else if (argc == 3 && strcmp(argv[1], "verify") == 0) {
        verify(argv[2]);
    } else {
        fprintf(stderr, "usage: see the head of restore.c\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    comm_free(comm);
    MPI_Finalize();
    return 0;
}
