/*
 * collectives.c - a training function that checks the results of the collectives of
 * raytrain.h, on any number of workers. Returns 1 and names the line of a wrong result.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <raytrain.h>
#include <raytrain_mpi.h>

#define CHECK(what)                                                                    \
    do {                                                                               \
        if (!(what)) {                                                                 \
            fprintf(stderr, "%s:%d: rank %d: not so: %s (%s)\n", __FILE__, __LINE__,   \
                    raytrain_rank(ctx), #what, raytrain_last_error(ctx));              \
            return 1;                                                                  \
        }                                                                              \
    } while (0)

static int check_allreduce(raytrain_context *ctx)
{
    int rank = raytrain_rank(ctx), size = raytrain_world_size(ctx);
    float f[3] = {(float)rank, 1, -1};
    double d = rank + 1;
    int64_t k[2] = {rank, -rank};

    CHECK(raytrain_allreduce_mean(ctx, f, 3) == 0);
    CHECK(fabsf(f[0] - (float)(size - 1) / 2) < 1e-6f && fabsf(f[1] - 1) < 1e-6f);
    CHECK(raytrain_allreduce(ctx, &d, 1, RAYTRAIN_FLOAT64, RAYTRAIN_SUM) == 0);
    CHECK(d == size * (size + 1) / 2.0);
    CHECK(raytrain_allreduce(ctx, k, 2, RAYTRAIN_INT64, RAYTRAIN_MAX) == 0);
    CHECK(k[0] == size - 1 && k[1] == 0);
    CHECK(raytrain_allreduce(ctx, NULL, 0, RAYTRAIN_FLOAT32, RAYTRAIN_SUM) == 0);
    k[0] = rank - 7;
    CHECK(raytrain_allreduce(ctx, k, 1, RAYTRAIN_INT64, RAYTRAIN_MIN) == 0);
    CHECK(k[0] == -7);
    f[0] = (float)(size - rank);
    CHECK(raytrain_allreduce(ctx, f, 1, RAYTRAIN_FLOAT32, RAYTRAIN_MIN) == 0);
    CHECK(f[0] == 1);
    return 0;
}

/* Those of tensors, in host memory. */
static int check_tensors(raytrain_context *ctx)
{
    int rank = raytrain_rank(ctx), size = raytrain_world_size(ctx);
    float f[2] = {(float)rank, 1}, all[64] = {0};
    raytrain_tensor t = {.data = f, .dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {2}};
    raytrain_tensor to = {.data = all,
                          .dtype = RAYTRAIN_FLOAT32,
                          .ndim = 2,
                          .shape = {(uint64_t)size, 2}};
    raytrain_tensor none = {.dtype = RAYTRAIN_FLOAT32, .ndim = 1}, far = t;

    CHECK(raytrain_allgather_tensor(ctx, &t, &to) == 0);
    for (int i = 0; i < size; i++)
        CHECK(all[2 * i] == (float)i && all[2 * i + 1] == 1);
    to.shape[1] = 1;
    CHECK(raytrain_allgather_tensor(ctx, &t, &to) == RAYTRAIN_ETYPE);
    to.shape[1] = 2;
    to.dtype = RAYTRAIN_INT32;
    CHECK(raytrain_allgather_tensor(ctx, &t, &to) == RAYTRAIN_ETYPE);
    CHECK(raytrain_allreduce_tensor(ctx, &t, RAYTRAIN_SUM) == 0);
    CHECK(f[0] == (float)(size * (size - 1) / 2) && f[1] == (float)size);
    f[0] = (float)rank;
    CHECK(raytrain_broadcast_tensor(ctx, &t, size - 1) == 0);
    CHECK(f[0] == (float)(size - 1));
    CHECK(raytrain_broadcast_tensor(ctx, &t, size) == RAYTRAIN_EINVAL);
    CHECK(raytrain_allreduce_tensor(ctx, &none, RAYTRAIN_SUM) == 0);
    CHECK(raytrain_allreduce_tensor(ctx, NULL, RAYTRAIN_SUM) == RAYTRAIN_EINVAL);
    CHECK(raytrain_allgather_tensor(ctx, &t, NULL) == RAYTRAIN_EINVAL);
    CHECK(raytrain_broadcast_tensor(NULL, &t, 0) == RAYTRAIN_EINVAL);
    far.device = 7;
    CHECK(raytrain_allreduce_tensor(ctx, &far, RAYTRAIN_SUM) == RAYTRAIN_ENOTSUP);
    far = t;
    far.data = NULL;
    CHECK(raytrain_allreduce_tensor(ctx, &far, RAYTRAIN_SUM) == RAYTRAIN_EINVAL);
    return 0;
}

/* 16-bit numbers are summed as float32: 1 + 2^-8 + 2^-8 is 1 + 2^-7 in bfloat16, though
 * 1 + 2^-8 is 1. More of them than are widened at a time. */
static int check_halves(raytrain_context *ctx)
{
    enum { N = (1 << 20) + 5 };
    const uint16_t one = 0x3f80, small = 0x3b80, half_of_3 = 0x4200;
    int rank = raytrain_rank(ctx), size = raytrain_world_size(ctx);
    uint16_t *b = malloc(N * sizeof *b), expected = size == 3 ? 0x3f81 : one;
    uint16_t f16[3] = {half_of_3, half_of_3, 0x7bff}; /* 3, 3, the largest: 65504 */

    CHECK(b);
    for (int i = 0; i < N; i++)
        b[i] = rank == 0 ? one : small;
    CHECK(raytrain_allreduce(ctx, b, N, RAYTRAIN_BFLOAT16, RAYTRAIN_SUM) == 0);
    for (int i = 0; i < N; i++)
        CHECK(b[i] == (size <= 3 ? expected : b[0]));
    CHECK(raytrain_allreduce(ctx, f16, 3, RAYTRAIN_FLOAT16, RAYTRAIN_MEAN) == 0);
    CHECK(f16[0] == half_of_3 && f16[1] == half_of_3 && f16[2] == 0x7bff);
    f16[0] = rank == 0 ? 0xc200 : half_of_3;
    CHECK(raytrain_allreduce(ctx, f16, 1, RAYTRAIN_FLOAT16, RAYTRAIN_MIN) == 0);
    CHECK(f16[0] == 0xc200);
    free(b);
    return 0;
}

static int check_allgather(raytrain_context *ctx)
{
    int rank = raytrain_rank(ctx), size = raytrain_world_size(ctx);
    size_t n = 100000;
    int *mine = malloc(n * sizeof *mine), *all = malloc((size_t)size * n * sizeof *all);

    CHECK(mine && all);
    for (size_t i = 0; i < n; i++)
        mine[i] = rank * 1000 + (int)(i % 1000);
    CHECK(raytrain_allgather(ctx, mine, n * sizeof *mine, all) == 0);
    for (size_t i = 0; i < (size_t)size * n; i++)
        CHECK(all[i] == (int)(i / n) * 1000 + (int)(i % n % 1000));
    CHECK(raytrain_allgather(ctx, NULL, 0, NULL) == 0);
    CHECK(size == 1 || raytrain_allgather(ctx, mine, SIZE_MAX, all) == RAYTRAIN_EINVAL);
    free(mine);
    free(all);
    return 0;
}

static int check_broadcast(raytrain_context *ctx)
{
    int rank = raytrain_rank(ctx), size = raytrain_world_size(ctx);

    for (int root = 0; root < size; root++) {
        char text[32] = "";

        if (rank == root)
            snprintf(text, sizeof text, "from %d", root);
        CHECK(raytrain_broadcast(ctx, text, sizeof text, root) == 0);
        CHECK(atoi(text + 5) == root);
    }
    CHECK(raytrain_barrier(ctx) == 0);
    return 0;
}

/* Sizes that do and do not fill a bucket; adjacent, separate, in memory of the reducer,
 * and adjacent in another order on every second rank. */
enum lie { END_TO_END = 0, APART = 5, REDUCERS_OWN = -1, TURNED = -2 };
static int check_reducer(raytrain_context *ctx, enum lie lie, size_t bucket_bytes)
{
    static const size_t sizes[] = {1000, 3, 70000, 512, 300000, 1};
    enum { N = sizeof sizes / sizeof sizes[0] };
    int rank = raytrain_rank(ctx), size = raytrain_world_size(ctx);
    raytrain_tensor g[N];
    raytrain_reducer *reducer;
    size_t gap = lie == APART ? APART : 0, at = 0;
    float *memory = calloc(400000 + N * gap, sizeof *memory);

    CHECK(memory);
    for (int k = N - 1; k >= 0; k--, at += gap) {
        int i = lie == TURNED && rank % 2 ? N - 1 - k : k;

        g[i] = (raytrain_tensor){.data = lie == REDUCERS_OWN ? NULL : memory + at,
                                 .dtype = RAYTRAIN_FLOAT32,
                                 .ndim = 1,
                                 .shape = {sizes[i]}};
        at += sizes[i];
    }
    CHECK(raytrain_reducer_create(ctx, g, N, bucket_bytes, &reducer) == 0);
    for (int step = 0; step < 3; step++) {
        for (size_t i = 0; i < N; i++) {
            float *data = raytrain_reducer_data(reducer, i);

            for (size_t j = 0; j < sizes[i]; j++)
                data[j] = (float)(rank + step) + (float)i;
            CHECK(raytrain_reducer_ready(reducer, i) == 0);
        }
        CHECK(raytrain_reducer_wait(reducer) == 0);
        for (size_t i = 0; i < N; i++) {
            const float *data = raytrain_reducer_data(reducer, i);
            float mean = (float)(size - 1) / 2 + (float)step + (float)i;

            for (size_t j = 0; j < sizes[i]; j++)
                CHECK(fabsf(data[j] - mean) < 1e-4f);
        }
    }
    raytrain_reducer_destroy(reducer);
    free(memory);
    return 0;
}

static uint16_t brain_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)(bits >> 16);
}

/* Of a number that is normal in both types, and that 16 bits can hold. */
static uint16_t half_of(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    return (uint16_t)((bits >> 13) - (112u << 10));
}

/* Gradients of all types, of a size that does not fill the last cache line. Each rank
 * has 2, but the last one 2 + 2 * size: the mean is 4. */
static int check_types(raytrain_context *ctx, int reducers_own)
{
    enum { N = 1001, TYPES = 4 };
    static double d[N];
    static float f[N];
    static uint16_t half[N], brain[N];
    int size = raytrain_world_size(ctx), last = raytrain_rank(ctx) == size - 1;
    float mine = 2 + (float)(last * 2 * size);
    raytrain_tensor g[TYPES] = {{.data = d, .dtype = RAYTRAIN_FLOAT64},
                                {.data = half, .dtype = RAYTRAIN_FLOAT16},
                                {.data = brain, .dtype = RAYTRAIN_BFLOAT16},
                                {.data = f, .dtype = RAYTRAIN_FLOAT32}};
    raytrain_reducer *r;

    for (int i = 0; i < TYPES; i++) {
        g[i].ndim = 1;
        g[i].shape[0] = N;
        g[i].data = reducers_own ? NULL : g[i].data;
    }
    CHECK(raytrain_reducer_create(ctx, g, TYPES, 0, &r) == 0);
    for (size_t i = 0; i < TYPES; i++)
        g[i].data = raytrain_reducer_data(r, i);
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < N; i++) {
            ((double *)g[0].data)[i] = mine;
            ((uint16_t *)g[1].data)[i] = half_of(mine);
            ((uint16_t *)g[2].data)[i] = brain_of(mine);
            ((float *)g[3].data)[i] = mine;
        }
        for (size_t i = 0; i < TYPES; i++)
            CHECK(raytrain_reducer_ready(r, i) == 0);
        CHECK(raytrain_reducer_wait(r) == 0);
        for (int i = 0; i < N; i++)
            CHECK(fabs(((double *)g[0].data)[i] - 4) < 1e-14 &&
                  ((uint16_t *)g[1].data)[i] == half_of(4) &&
                  ((uint16_t *)g[2].data)[i] == brain_of(4) &&
                  fabsf(((float *)g[3].data)[i] - 4) < 1e-5f);
    }
    raytrain_reducer_destroy(r);
    return 0;
}

/* Weight-update sharding: each rank adds the mean to its part of the parameters; then
 * all ranks have all of them. The gradient without a parameter is averaged everywhere. */
static int check_sharded(raytrain_context *ctx, int reducers_own, size_t bucket_bytes)
{
    static const uint64_t shapes[][2] = {
        {100, 300}, {100, 1}, {7, 1}, {300, 64}, {1, 9}};
    enum { N = 5, MOST = 30000 };
    static float memory[2 * N + 1][MOST];
    int rank = raytrain_rank(ctx), size = raytrain_world_size(ctx);
    raytrain_tensor g[N + 1], p[N];
    double mine = 0, all = 0;
    raytrain_reducer *r;

    for (int i = 0; i <= N; i++) {
        g[i] = (raytrain_tensor){
            .data = reducers_own ? NULL : memory[i],
            .dtype = i == 2 ? RAYTRAIN_BFLOAT16 : RAYTRAIN_FLOAT32,
            .ndim = 2,
            .shape = {i < N ? shapes[i][0] : 1, i < N ? shapes[i][1] : 1}};
        if (i < N) {
            p[i] = g[i];
            p[i].dtype = RAYTRAIN_FLOAT32;
            p[i].data = reducers_own ? NULL : memory[N + 1 + i];
        }
    }
    memset(memory, 0, sizeof memory);
    CHECK(raytrain_reducer_create_sharded(ctx, g, N + 1, p, N, bucket_bytes, &r) == 0);
    for (int step = 1; step <= 3; step++) {
        for (size_t i = 0; i <= N; i++) {
            size_t n = (size_t)(g[i].shape[0] * g[i].shape[1]);
            void *data = raytrain_reducer_data(r, i);

            for (size_t j = 0; j < n; j++) {
                float value = (float)(rank + 1 + (int)(j % 3));

                if (i == 2)
                    ((uint16_t *)data)[j] = brain_of(value);
                else
                    ((float *)data)[j] = value;
            }
            CHECK(raytrain_reducer_ready(r, i) == 0);
        }
        CHECK(raytrain_reducer_wait(r) == 0);
        CHECK(fabsf(*(float *)raytrain_reducer_data(r, N) - (float)(size + 1) / 2) <
              1e-5f);
        for (size_t i = 0; i < N; i++) {
            const void *data = raytrain_reducer_data(r, i);
            float *param = raytrain_reducer_param(r, i);
            raytrain_slab slab;
            size_t first, n;

            CHECK(raytrain_reducer_shard(r, i, &slab, &first, &n) == 0);
            CHECK(slab.start[0] * shapes[i][1] == first && slab.start[1] == 0 &&
                  slab.count[0] * shapes[i][1] == n && slab.count[1] == shapes[i][1]);
            for (size_t j = first; j < first + n; j++) {
                uint32_t wide =
                    i == 2 ? (uint32_t)((const uint16_t *)data)[j] << 16 : 0;
                float mean;

                memcpy(&mean, i == 2 ? (const void *)&wide : (const float *)data + j,
                       sizeof mean);
                param[j] += mean;
            }
            mine += step == 1 ? (double)n : 0;
        }
        CHECK(raytrain_reducer_gather(r) == 0);
        for (size_t i = 0; i < N; i++) {
            const float *param = raytrain_reducer_param(r, i);

            for (size_t j = 0; j < shapes[i][0] * shapes[i][1]; j++)
                CHECK(fabsf(param[j] - (float)step * ((float)(size + 1) / 2 +
                                                      (float)(j % 3))) < 1e-4f);
        }
    }
    all = mine;
    CHECK(raytrain_allreduce(ctx, &all, 1, RAYTRAIN_FLOAT64, RAYTRAIN_SUM) == 0);
    CHECK(all == 100 * 300 + 100 + 7 + 300 * 64 + 9);
    raytrain_reducer_destroy(r);
    return 0;
}

static int check_random(raytrain_context *ctx)
{
    double shared = raytrain_random_uniform(ctx, RAYTRAIN_STREAM_SHARED);
    double sum = shared, own, most;

    CHECK(raytrain_allreduce(ctx, &sum, 1, RAYTRAIN_FLOAT64, RAYTRAIN_MAX) == 0);
    CHECK(sum == shared);
    own = most = raytrain_random_uniform(ctx, RAYTRAIN_STREAM_RANK);
    CHECK(raytrain_allreduce(ctx, &most, 1, RAYTRAIN_FLOAT64, RAYTRAIN_MAX) == 0);
    CHECK(own <= most);
    return 0;
}

static int check_mpi(raytrain_context *ctx)
{
    MPI_Comm comm;
    int rank, size, level;

    CHECK(raytrain_mpi_comm(ctx, &comm) == 0);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Query_thread(&level);
    CHECK(rank == raytrain_rank(ctx) && size == raytrain_world_size(ctx));
    CHECK(level == MPI_THREAD_MULTIPLE);
    return 0;
}

int train_func(raytrain_context *ctx);

int train_func(raytrain_context *ctx)
{
    raytrain_metric metric = {"rank", raytrain_rank(ctx)};

    if (check_allreduce(ctx) || check_halves(ctx) || check_allgather(ctx) ||
        check_tensors(ctx) || check_broadcast(ctx) ||
        check_reducer(ctx, END_TO_END, 0) || check_reducer(ctx, END_TO_END, 4096) ||
        check_reducer(ctx, APART, 0) || check_reducer(ctx, APART, 4096) ||
        check_reducer(ctx, REDUCERS_OWN, 0) || check_reducer(ctx, REDUCERS_OWN, 4096) ||
        check_reducer(ctx, TURNED, 1 << 30) || check_types(ctx, 0) ||
        check_types(ctx, 1) || check_sharded(ctx, 0, 0) || check_sharded(ctx, 1, 0) ||
        check_sharded(ctx, 1, 1000) || check_random(ctx) || check_mpi(ctx))
        return 1;
    return raytrain_report(ctx, &metric, 1, NULL);
}
