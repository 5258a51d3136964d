/*
 * comm.c - a worker that tests all of comm/comm.h with real PMIx, PMI bridge and MPI.
 * Started by a launcher as N ranks; prints one line per rank, and exits with 0 if all
 * results were correct.
 */
#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backend/mpi_backend.h"

static int failures;

#define CHECK(expr)                                                                    \
    do {                                                                               \
        if (!(expr)) {                                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #expr);                 \
            failures++;                                                                \
        }                                                                              \
    } while (0)

/* Many sizes around those at which algorithms change; integers, so that sums are
 * exact. */
static void check_sums(struct comm *c)
{
    static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 255, 1024, 4097, 65536, 300001};
    struct error err;

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        size_t n = sizes[s], wrong = 0;
        float *f = malloc((n + 1) * sizeof *f);
        double *d = malloc((n + 1) * sizeof *d);
        int64_t *k = malloc((n + 1) * sizeof *k);

        for (size_t i = 0; i <= n; i++) {
            f[i] = (float)(i % 1000) + (float)c->rank;
            d[i] = (double)(i % 1000) * c->rank;
            k[i] = (int64_t)i - 10 * c->rank;
        }
        CHECK(c->ops->allreduce(c, f, n, COMM_FLOAT32, COMM_SUM, &err) == 0);
        CHECK(c->ops->allreduce(c, d, n, COMM_FLOAT64, COMM_MAX, &err) == 0);
        CHECK(c->ops->allreduce(c, k, n, COMM_INT64, COMM_MIN, &err) == 0);
        for (size_t i = 0; i < n; i++) {
            float sum = (float)c->size * (float)(i % 1000) +
                        (float)(c->size * (c->size - 1)) / 2;

            wrong += f[i] != sum;
            wrong += d[i] != (double)(i % 1000) * (c->size - 1);
            wrong += k[i] != (int64_t)i - 10 * (c->size - 1);
        }
        CHECK(wrong == 0);
        /* the element after the end is unchanged */
        CHECK(f[n] == (float)(n % 1000) + (float)c->rank);
        free(f);
        free(d);
        free(k);
    }
}

/* Results must be bit-identical on all ranks, whatever the operands. */
static void check_same_bits(struct comm *c, const void *data, size_t n_bytes)
{
    char *all = malloc(n_bytes * (size_t)c->size);
    struct error err;

    CHECK(c->ops->allgather(c, data, n_bytes, all, &err) == 0);
    for (int r = 0; r < c->size; r++)
        CHECK(memcmp(all + (size_t)r * n_bytes, data, n_bytes) == 0);
    free(all);
}

static void check_bits(struct comm *c)
{
    static const float special[] = {0.0F,     -0.0F,     NAN,   -NAN,
                                    INFINITY, -INFINITY, 1e-40F};
    enum { N = 4096 };
    float *x = malloc(N * sizeof *x);
    struct error err;

    for (int op = COMM_SUM; op <= COMM_MEAN; op++) {
        srand((unsigned)(c->rank * 7919 + op));
        for (int i = 0; i < N; i++)
            x[i] = op == COMM_SUM || op == COMM_MEAN
                       ? (float)rand() / 1e3F * (rand() % 2 ? 1 : -1)
                       : special[rand() % 7];
        CHECK(c->ops->allreduce(c, x, N, COMM_FLOAT32, (enum comm_op)op, &err) == 0);
        check_same_bits(c, x, N * sizeof *x);
    }
    free(x);
}

static void check_nan(struct comm *c)
{
    struct comm_stat s[3];
    double max = c->rank == 0 ? NAN : c->rank;
    struct error err;
    int last = c->size - 1;

    s[0] = (struct comm_stat){c->rank, c->rank, c->rank};
    s[1] = s[0];
    s[2] = (struct comm_stat){NAN, NAN, NAN};
    if (c->rank == 0)
        s[1] = s[2];
    CHECK(c->ops->allreduce(c, s, 3, COMM_STAT, COMM_SUM, &err) == 0);
    CHECK(s[0].sum == last * c->size / 2.0 && s[0].min == 0 && s[0].max == last);
    CHECK(isnan(s[1].sum));
    if (c->size > 1)
        CHECK(s[1].min == 1 && s[1].max == last);
    CHECK(isnan(s[2].sum) && isnan(s[2].min) && isnan(s[2].max));
    CHECK(c->ops->allreduce(c, &max, 1, COMM_FLOAT64, COMM_MAX, &err) == 0);
    CHECK(c->size == 1 ? isnan(max) : max == last);
    CHECK(c->ops->allreduce(c, s, 1, COMM_STAT, COMM_MAX, &err) == -1);
    CHECK(err.code == RAYTRAIN_EINVAL);
}

static void check_pending(struct comm *c)
{
    enum { N = 9 };
    struct comm_request *req[N];
    int64_t x[N][1000];
    struct error err;

    for (int k = 0; k < N; k++) {
        for (int i = 0; i < 1000; i++)
            x[k][i] = k * i + c->rank;
        CHECK(c->ops->iallreduce(c, COMM_HOST, x[k], 1000, COMM_INT64, COMM_SUM,
                                 &req[k], &err) == 0);
        CHECK(req[k] != NULL);
    }
    for (int k = N - 1; k >= 0; k--) {
        bool done = false;

        while (!done && c->ops->test(c, &req[k], &done, &err) == 0)
            usleep(10);
        CHECK(done && req[k] == NULL);
        for (int i = 0; i < 1000; i++)
            CHECK(x[k][i] == (int64_t)c->size * k * i + c->size * (c->size - 1) / 2);
    }
}

/* What check_alloc() reduces: many places of one block, all pending at the same time,
 * and separate memory that is reduced by messages. */
struct place {
    size_t at, n; /* of floats */
};

static void place_fill(const struct comm *c, float *x, const struct place *p)
{
    for (size_t i = p->at; i < p->at + p->n; i++)
        x[i] = (float)(i % 1000) * 0.37F + (float)(c->rank * c->rank) / 3;
}

/* The mean as a single rank would compute it, except for rounding. */
static void place_check(const struct comm *c, const float *x, const struct place *p)
{
    double more = 0;
    size_t wrong = 0;

    for (int r = 0; r < c->size; r++)
        more += r * r / 3.0 / c->size;
    for (size_t i = p->at; i < p->at + p->n; i++)
        wrong += !(fabs(x[i] - ((double)(i % 1000) * 0.37 + more)) < 1e-3);
    CHECK(wrong == 0);
}

static void reduce_in_place(struct comm *c, float *x)
{
    static const struct place places[] = {{0, 1},        {1, 0},       {1, 3},
                                          {5, 16},       {21, 31},     {60, 40000},
                                          {50001, 7001}, {60000, 100}, {99999, 1}};
    enum { N = sizeof places / sizeof places[0] };
    struct comm_request *req[N + 1];
    int64_t apart[5000];
    struct error err;

    for (int k = 0; k < 5000; k++)
        apart[k] = k + c->rank;
    for (int k = 0; k < N; k++) {
        place_fill(c, x, &places[k]);
        CHECK(c->ops->iallreduce(c, COMM_HOST, x + places[k].at, places[k].n,
                                 COMM_FLOAT32, COMM_MEAN, &req[k], &err) == 0);
        if (k == 2)
            CHECK(c->ops->iallreduce(c, COMM_HOST, apart, 5000, COMM_INT64, COMM_SUM,
                                     &req[N], &err) == 0);
    }
    for (int k = N; k >= 0; k--) {
        bool done = false;

        while (!done && c->ops->test(c, &req[k], &done, &err) == 0)
            usleep(10);
        CHECK(done && req[k] == NULL);
    }
    for (int k = 0; k < N; k++)
        place_check(c, x, &places[k]);
    for (int k = 0; k < 5000; k++)
        CHECK(apart[k] == (int64_t)c->size * k + c->size * (c->size - 1) / 2);
    CHECK(x[4] == 0 && x[52] == 0 && x[50000] == 0); /* between the places */
}

/* Without sockets, because MPI connects to a peer when it first sends to it. */
static int open_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    struct dirent *entry;
    struct stat st;
    int n = 0;

    CHECK(dir != NULL);
    while (dir && (entry = readdir(dir)))
        n += fstatat(dirfd(dir), entry->d_name, &st, 0) == 0 && !S_ISSOCK(st.st_mode);
    if (dir)
        closedir(dir);
    return n;
}

/* Is this memory shared between the ranks? */
static bool is_shared(const void *data)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    uintptr_t begin, end;
    char line[512];
    bool found = false;

    CHECK(maps != NULL);
    while (maps && !found && fgets(line, sizeof line, maps))
        found = sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &begin, &end) == 2 &&
                begin <= (uintptr_t)data && (uintptr_t)data < end &&
                strstr(line, "memfd:raytrain");
    if (maps)
        fclose(maps);
    return found;
}

/* What another process that maps the file sees is what this one has written. */
static void check_memory_file(struct comm *c, float *x, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), in_page, room;
    struct error err;
    float other;
    char *map;
    struct comm_file file;

    CHECK(c->ops->memory_file(c, &other, &file, &err) == -1);
    CHECK(err.code == RAYTRAIN_EINVAL);
    CHECK(c->ops->memory_file(c, x, &file, &err) == 0);
    CHECK(file.offset % 64 == 0);
    in_page = file.offset % page;
    room = in_page + n * sizeof *x;
    map = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_SHARED, file.fd,
               (off_t)(file.offset - in_page));
    CHECK(map != MAP_FAILED);
    if (map == MAP_FAILED)
        return;
    x[n - 1] = 3.0f + (float)c->rank;
    memcpy(&other, map + in_page + (n - 1) * sizeof *x, sizeof other);
    CHECK(other == 3.0f + (float)c->rank);
    CHECK(ftruncate(file.fd, 0) < 0);
    munmap(map, room);
}

/* Two blocks, which must not be confused; and a third one that cannot be allocated
 * because the ranks ask for different sizes. */
static void check_alloc(struct comm *all, bool one_node)
{
    int files = open_files();
    struct comm *c = NULL;
    void *x, *y, *z;
    double *d;
    struct error err;

    CHECK(all->ops->dup(all, &c, &err) == 0);
    CHECK(c->ops->alloc(c, COMM_HOST, 100000 * sizeof(float), &x, &err) == 0);
    CHECK(c->ops->alloc(c, COMM_HOST, 4099 * sizeof(double), &y, &err) == 0);
    CHECK(c->ops->alloc(c, COMM_HOST, 0, &z, &err) == 0);
    CHECK((uintptr_t)x % 64 == 0 && (uintptr_t)y % 64 == 0);
    CHECK(!one_node || c->size == 1 || (is_shared(x) && is_shared(y)));
    for (int step = 0; step < 20; step++)
        reduce_in_place(c, x);
    check_same_bits(c, x, 100000 * sizeof(float));
    check_memory_file(c, x, 100000);
    d = y;
    for (int i = 0; i < 4099; i++) {
        CHECK(d[i] == 0);
        d[i] = i % 2 ? i + c->rank : -i;
    }
    CHECK(c->ops->allreduce(c, d, 4099, COMM_FLOAT64, COMM_MAX, &err) == 0);
    for (int i = 0; i < 4099; i++)
        CHECK(d[i] == (i % 2 ? i + c->size - 1 : -i));
    if (c->size > 1) {
        CHECK(c->ops->alloc(c, COMM_HOST, 1000 + (size_t)c->rank, &z, &err) == -1);
        CHECK(err.code == RAYTRAIN_EINVAL);
    }
    comm_free(c);
    CHECK(open_files() == files);
}

/* If one rank makes another call, all ranks learn of it, and later calls are
 * correct. */
static void check_meet(struct comm *c)
{
    int64_t x[2000];
    struct error err;
    bool same;

    for (int odd = -1; odd < c->size; odd++) {
        int other = c->rank == odd, call = other ? 7 : COMM_CALLS - 1;

        for (int way = 0; way < 4; way++) {
            size_t n = way == 1 && other ? 3 : way == 2 && other ? 2000 : 1000;

            for (size_t i = 0; i < n; i++)
                x[i] = c->rank;
            CHECK(c->ops->allreduce_matched(c, way == 0 ? call : 3, x, n, COMM_INT64,
                                            way == 3 && other ? COMM_MAX : COMM_SUM,
                                            &same, &err) == 0);
            CHECK(same == (odd < 0 || c->size == 1));
            CHECK(!same || c->size == 1 || x[n - 1] == c->size * (c->size - 1) / 2);
        }
    }
    CHECK(c->ops->allreduce_matched(c, 0, x, 0, COMM_INT64, COMM_SUM, &same, &err) ==
          -1);
}

/* More is sent than fits: the call returns MPI's error, and the rank continues. It is
 * the last rank, which forwards nothing: in Open MPI ranks after it would wait
 * forever. */
static void check_failure(struct comm *c)
{
    char data[4096] = "";
    bool last = c->rank == c->size - 1;
    size_t n = last ? 1 : sizeof data;
    struct error err = {0};
    struct comm *dup;
    int rc;

    if (c->size == 1)
        return;
    CHECK(c->ops->dup(c, &dup, &err) == 0);
    rc = dup->ops->bcast(dup, data, n, 0, &err);
    if (last)
        CHECK(rc == -1 && err.code == RAYTRAIN_ECOMM && strstr(err.text, "Ibcast: "));
    comm_free(dup); /* it may be out of sync */
    CHECK(c->ops->dup(c, &dup, &err) == 0);
    rc = dup->ops->sendrecv(dup, data, n, c->rank == 0 ? c->size - 1 : -1, data, n,
                            last ? 0 : -1, &err);
    if (last)
        CHECK(rc == -1 && err.code == RAYTRAIN_ECOMM &&
              strstr(err.text, "MPI_Irecv: "));
    comm_free(dup);
    CHECK(c->ops->barrier(c, &err) == 0);
}

/* In a ring, then back; only the first and last rank; no rank. */
static void check_sendrecv(struct comm *c)
{
    int left = (c->rank + c->size - 1) % c->size, right = (c->rank + 1) % c->size;
    int last = c->size - 1;
    int64_t got = -1, mine = c->rank;
    struct error err;

    CHECK(c->ops->sendrecv(c, &mine, sizeof mine, right, &got, sizeof got, left,
                           &err) == 0);
    CHECK(got == left);
    CHECK(c->ops->sendrecv(c, &mine, sizeof mine, left, &got, sizeof got, right,
                           &err) == 0);
    CHECK(got == right);
    if (last > 0 && (c->rank == 0 || c->rank == last)) {
        CHECK(c->ops->sendrecv(c, &mine, sizeof mine, c->rank == 0 ? last : -1, &got,
                               sizeof got, c->rank == 0 ? -1 : 0, &err) == 0);
        CHECK(got == (c->rank == 0 ? right : 0));
    }
    CHECK(c->ops->sendrecv(c, NULL, 0, -1, NULL, 0, -1, &err) == 0);
}

static void check_moves(struct comm *c)
{
    char text[100] = "", *all;
    size_t sizes[64];
    struct error err;
    int last = c->size - 1;

    if (c->rank == last)
        strcpy(text, "from the last");
    CHECK(c->ops->bcast(c, text, sizeof text, last, &err) == 0);
    CHECK(strcmp(text, "from the last") == 0);
    CHECK(c->ops->bcast(c, NULL, 0, 0, &err) == 0);
    CHECK(c->ops->bcast(c, text, 1, c->size, &err) == -1);

    memset(text, 'a' + c->rank, sizeof text);
    CHECK(c->ops->gatherv(c, text, (size_t)c->rank, (void **)&all, sizes, last, &err) ==
          0);
    CHECK((all != NULL) == (c->rank == last));
    for (int r = 0, at = 0; all && r < c->size; r++) {
        CHECK(sizes[r] == (size_t)r);
        for (int i = 0; i < r; i++)
            CHECK(all[at++] == 'a' + r);
    }
    free(all);
    CHECK(c->ops->gatherv(c, NULL, 0, (void **)&all, NULL, 0, &err) == 0);
    free(all);
    CHECK(c->ops->gatherv(c, text, 1, (void **)&all, NULL, -1, &err) == -1);
}

static void check_agree(struct comm *c)
{
    struct error err;
    int loser = c->size > 2 ? 2 : 0;
    int rc =
        c->rank >= loser ? error_set(&err, RAYTRAIN_ESTORAGE, "disk %d", c->rank) : 0;
    char expect[64];

    CHECK(comm_agree(c, 0, NULL) == 0);
    CHECK(comm_agree(c, rc, &err) == -1);
    snprintf(expect, sizeof expect, c->rank == loser ? "disk %d" : "rank %d: disk %d",
             loser, loser);
    CHECK(err.code == RAYTRAIN_ESTORAGE && strcmp(err.text, expect) == 0);
}

static void check_duplicates(struct comm *c, const struct world *world)
{
    struct comm *dup = NULL, *node = NULL;
    int64_t one = 1;
    struct error err;

    CHECK(c->ops->dup(c, &dup, &err) == 0);
    CHECK(dup->rank == c->rank && dup->size == c->size);
    CHECK(dup->ops->barrier(dup, &err) == 0);
    CHECK(c->ops->split_node(c, &node, &err) == 0);
    CHECK(node->rank == world->local_rank && node->size == world->local_size);
    CHECK(node->ops->allreduce(node, &one, 1, COMM_INT64, COMM_SUM, &err) == 0);
    CHECK(one == world->local_size);
    comm_free(node);
    comm_free(dup);
}

static void check_exchange(struct wireup *w)
{
    int n_ranks = wireup_world(w)->size, rank = wireup_world(w)->rank;
    struct error err;

    /* the same key twice, sizes 0 to large, not the same on every rank */
    for (int time = 0; time < 3; time++) {
        size_t n = (size_t)(rank * time) * 1000;
        char *mine = malloc(n + 1);

        memset(mine, 'A' + rank + time, n);
        CHECK(wireup_exchange(w, "blob", mine, n, &err) == 0);
        free(mine);
        for (int r = 0; r < n_ranks; r++) {
            void *data = NULL;
            size_t m = 0;

            CHECK(wireup_peer_get(w, r, "blob", &data, &m, &err) == 0);
            CHECK(m == (size_t)(r * time) * 1000);
            for (size_t i = 0; data && i < m; i++)
                CHECK(((char *)data)[i] == 'A' + r + time);
            free(data);
        }
    }
}

static void check_refusals(struct wireup *w)
{
    static const char big[64 * 1024 + 1];
    struct error err;
    void *data;
    size_t n;

    CHECK(wireup_exchange(w, "big", big, sizeof big, &err) == -1);
    CHECK(err.code == RAYTRAIN_EINVAL);
    CHECK(wireup_exchange(w, "big", big, sizeof big - 1, &err) == 0);
    CHECK(wireup_peer_get(w, wireup_world(w)->size, "big", &data, &n, &err) == -1);
    CHECK(wireup_peer_get(w, 0, "never", &data, &n, &err) == -1);
    CHECK(err.code == RAYTRAIN_ENOTFOUND);
}

static int fail(const struct error *err)
{
    fprintf(stderr, "%s\n", err->text);
    return 1;
}

int main(int argc, char *argv[])
{
    struct backend b = {.ops = &backend_mpi};
    const struct world *world;
    struct wireup *w;
    struct error err;
    bool exit_now = true;
    MPI_Comm user;

    if (argc != 2)
        return 2;
    if (wireup_init(atoi(argv[1]), &w, &err) < 0)
        return fail(&err);
    world = wireup_world(w);
    check_exchange(w);
    check_refusals(w);
    if (b.ops->on_start(&b, w, &err) < 0)
        return fail(&err);
    CHECK(b.comm->rank == world->rank && b.comm->size == world->size);
    CHECK(backend_mpi_user_comm(&b, &user, &err) == 0 && user != MPI_COMM_NULL);
    CHECK(getenv("PMI_FD") == NULL);
    CHECK(getenv("UCX_TLS") == NULL && getenv("HWLOC_COMPONENTS") == NULL);
    check_sums(b.comm);
    check_bits(b.comm);
    check_nan(b.comm);
    check_pending(b.comm);
    check_alloc(b.comm, world->n_nodes == 1);
    check_meet(b.comm);
    check_failure(b.comm);
    check_sendrecv(b.comm);
    check_moves(b.comm);
    check_agree(b.comm);
    check_duplicates(b.comm, world);
    printf("rank %d of %d, local %d of %d, node %d of %d on %s: %d failures\n",
           world->rank, world->size, world->local_rank, world->local_size,
           world->node_rank, world->n_nodes, world->host, failures);
    fflush(NULL);
    b.ops->on_shutdown(&b, true, &exit_now);
    wireup_finalize(w);
    if (exit_now)
        _exit(failures ? 1 : 0);
    return failures ? 1 : 0;
}
