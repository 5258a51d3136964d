/*
 * restore.c - compare saving and restoring checkpoints by the ranks of an MPI job with
 * read() of the same bytes by the same processes.
 *
 *     restore save FILE BYTES PIECES     save a replicated checkpoint of PIECES tensors;
 *                                        prints "SECONDS FILE_BYTES PAYLOAD_BYTES"
 *     restore read FILE PIECES FIRST     restore it and read it, in turn, into new
 *                                        memory and into memory that was used before;
 *                                        prints "fresh OURS THEIRS", "warm OURS THEIRS"
 *     restore verify FILE FIRST          one process verifies it with all cores, and
 *                                        reads it with one; prints "OURS THEIRS"
 *
 * FIRST is "ours" or "theirs": which of the two is done first.
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

#include "mpi/mpi_comm.h"
#include "checkpoint/checkpoint.h"
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
    return (raytrain_tensor){.data = data + (uint64_t)i * bytes,
                             .dtype = RAYTRAIN_FLOAT32,
                             .ndim = 1,
                             .shape = {bytes / 4}};
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

typedef double timed(const char *path, char *data, uint64_t bytes, int pieces);

/* Two of them one after the other, number `first` first; s[i] is how long number i
 * took. Fresh: each into new memory. */
static void in_turn(timed *const of[2], int first, const char *path, uint64_t bytes,
                    int pieces, bool fresh, double s[2])
{
    char *data = memory(bytes);

    if (!fresh)
        memset(data, 1, bytes);
    for (int i = 0; i < 2; i++) {
        if (fresh && i > 0) {
            munmap(data, bytes);
            data = memory(bytes);
        }
        s[i ^ first] = of[i ^ first](path, data, bytes, pieces);
    }
    munmap(data, bytes);
}

static double verify_all(const char *path, char *data, uint64_t bytes, int pieces)
{
    double began = clock_now();
    raytrain_checkpoint *ck = NULL;

    (void)data;
    (void)bytes;
    (void)pieces;
    check(checkpoint_open_index(path, &ck, &err), "open");
    check(checkpoint_verify(ck, &err), "verify");
    checkpoint_destroy(ck);
    return clock_now() - began;
}

static void read_pairs(const char *path, int pieces, int first)
{
    timed *const of[] = {restore, plain_read};
    uint64_t bytes = payload(path);
    double fresh[2], warm[2];

    in_turn(of, first, path, bytes, pieces, true, fresh);
    in_turn(of, first, path, bytes, pieces, false, warm);
    if (comm->rank == 0)
        printf("fresh %.4f %.4f\nwarm %.4f %.4f\n", fresh[0], fresh[1], warm[0],
               warm[1]);
}

static void verify_pair(const char *path, int first)
{
    timed *const of[] = {verify_all, plain_read};
    double took[2];

    in_turn(of, first, path, payload(path), 1, false, took);
    printf("%.4f %.4f\n", took[0], took[1]);
}

int main(int argc, char *argv[])
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    comm = mpi_comm_create(MPI_COMM_WORLD, 0, &err);
    check(comm ? 0 : -1, "communicator");
    if (argc == 5 && strcmp(argv[1], "save") == 0) {
        save(argv[2], strtoull(argv[3], NULL, 10), atoi(argv[4]));
    } else if (argc == 5 && strcmp(argv[1], "read") == 0) {
        read_pairs(argv[2], atoi(argv[3]), strcmp(argv[4], "theirs") == 0);
    } else if (argc == 4 && strcmp(argv[1], "verify") == 0) {
        verify_pair(argv[2], strcmp(argv[3], "theirs") == 0);
    } else {
        fprintf(stderr, "usage: see the head of restore.c\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    comm_free(comm);
    MPI_Finalize();
    return 0;
}
