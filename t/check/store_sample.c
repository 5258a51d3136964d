/*
 * store_sample.c - creates samples for the tests of raytrain-inspect.
 *
 *     store_sample RUN          a run directory: three checkpoints with every element
 *                               type, six reports over two attempts, a result
 *     store_sample --pair A B   two checkpoints that differ in every possible way
 *     store_sample --named FILE NAME...
 *                               a checkpoint with an empty tensor under each name
 *     store_sample --large FILE BYTES PIECES
 *                               a checkpoint of BYTES in PIECES tensors; prints the
 *                               seconds that saving and restoring it took
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "run/metrics.h"
#include "run/run_dir.h"
#include "util/clock.h"
#include "util/fs.h"

static struct error err;

static void check(int rc)
{
    if (rc < 0) {
        fprintf(stderr, "store_sample: %s\n", err.text);
        exit(1);
    }
}

static void tensors_put(raytrain_checkpoint *ck)
{
    static float weight[4][3];
    static unsigned char bytes[RAYTRAIN_BYTES + 1][16];
    static double scalar = 2.5;
    raytrain_tensor t = {
        .data = weight, .dtype = RAYTRAIN_FLOAT32, .ndim = 2, .shape = {4, 3}};
    char name[64];

    for (int i = 0; i < 12; i++)
        weight[i / 3][i % 3] = (float)i / 4;
    check(checkpoint_put(ck, "model/fc1/weight", &t, NULL, &err));
    /* 1.0 and 2.0 in each type that has these numbers, otherwise the bytes 1 and 2 */
    for (int d = RAYTRAIN_FLOAT32; d <= RAYTRAIN_BYTES; d++) {
        unsigned char *at = bytes[d]; /* used until the checkpoint is saved */
        size_t size = raytrain_dtype_size(d);

        for (int i = 0; i < 2; i++) {
            float f = (float)(i + 1);
            double g = i + 1;
            uint16_t half = (uint16_t[]){0x3c00, 0x4000}[i];

            at[(size_t)i * size] = (unsigned char)(i + 1);
            if (d == RAYTRAIN_FLOAT32)
                memcpy(at + 4 * i, &f, 4);
            else if (d == RAYTRAIN_FLOAT64)
                memcpy(at + 8 * i, &g, 8);
            else if (d == RAYTRAIN_FLOAT16)
                memcpy(at + 2 * i, &half, 2);
            else if (d == RAYTRAIN_BFLOAT16)
                memcpy(at + 2 * i, (char *)&f + 2, 2);
        }
        snprintf(name, sizeof name, "types/%s", raytrain_dtype_name(d));
        t = (raytrain_tensor){.data = at, .dtype = d, .ndim = 1, .shape = {2}};
        check(checkpoint_put(ck, name, &t, NULL, &err));
    }
    t = (raytrain_tensor){
        .data = &scalar, .dtype = RAYTRAIN_FLOAT64, .ndim = 0, .shape = {0}};
    check(checkpoint_put(ck, "scalar", &t, NULL, &err));
    t = (raytrain_tensor){
        .data = NULL, .dtype = RAYTRAIN_INT32, .ndim = 2, .shape = {0, 5}};
    check(checkpoint_put(ck, "empty", &t, NULL, &err));
    check(checkpoint_put_string(ck, "note", "na\xc3\xafve", &err));
    check(checkpoint_put_string(ck, "raytrain/session/seed", "7", &err));
}

static void checkpoint_make(const char *run, int iteration, double accuracy)
{
    const struct checkpoint_metric metrics[] = {{"accuracy", accuracy}, {"loss", 0.5}};
    const struct checkpoint_meta meta = {.run_name = "sample",
                                         .training_iteration = iteration,
                                         .world_size = 2,
                                         .attempt = iteration > 2,
                                         .time_total_s = iteration * 1.5,
                                         .timestamp = 1700000000 + iteration,
                                         .metrics = metrics,
                                         .n_metrics = 2};
    char *path = run_dir_checkpoint(run, iteration);
    raytrain_checkpoint *ck = checkpoint_create(&err);
    struct comm *self = comm_self_create(&err);

    tensors_put(ck);
    check(checkpoint_save(ck, self, &meta, path, &err));
    checkpoint_destroy(ck);
    comm_free(self);
    free(path);
}

static json_t *report_make(int iteration, int attempt, double accuracy)
{
    return json_pack(
        "{s:i, s:i, s:i, s:f, s:f, s:o, s:f, s:{s:{s:f, s:f, s:f}, s:{s:f, s:f, s:f}}, "
        "s:s?}",
        "training_iteration", iteration, "attempt", attempt, "timestamp",
        1700000000 + iteration, "time_total_s", iteration * 1.5, "time_this_iter_s",
        1.5, "accuracy", isnan(accuracy) ? json_null() : json_real(accuracy), "loss",
        1.0 / iteration, "by_rank", "accuracy", "rank0", 0.25, "min", 0.125, "max",
        0.75, "loss", "rank0", 1.0, "min", 0.5, "max", 2.0, "checkpoint",
        iteration % 2 ? NULL : "checkpoint");
}

static void reports_make(const char *run)
{
    static const struct {
        int iteration, attempt;
        double accuracy;
    } rows[] = {{1, 0, 0.25}, {2, 0, 0.5},  {3, 0, 0.0},
                {3, 1, NAN},  {4, 1, 0.75}, {5, 1, 0.625}};
    char *path = run_dir_file(run, "result.json");
    FILE *log = fopen(path, "w");

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_t *line =
            report_make(rows[i].iteration, rows[i].attempt, rows[i].accuracy);

        json_dumpf(line, log, JSON_COMPACT);
        putc('\n', log);
        json_decref(line);
    }
    check(fclose(log));
    free(path);
}

/* Write attempt.json of each attempt, as the launcher does; return all of them. */
static json_t *attempts_make(const char *run)
{
    json_t *all = json_pack(
        "[{s:i, s:i, s:s, s:[{s:s, s:i}], s:f, s:f, s:s, s:s},"
        " {s:i, s:i, s:s, s:[{s:s, s:i}], s:f, s:f, s:s}]",
        "attempt", 0, "workers", 2, "launcher", "local", "nodes", "name", "n1", "tasks",
        2, "start", 1700000000.0, "end", 1700000004.5, "outcome", "failed", "message",
        "rank 1 was \033[31mkilled", "attempt", 1, "workers", 2, "launcher", "local",
        "nodes", "name", "n1", "tasks", 2, "start", 1700000005.0, "end", 1700000009.5,
        "outcome", "finished");

    for (int k = 0; k < 2; k++) {
        char *dir, *path, *text = json_dumps(json_array_get(all, (size_t)k), 0);

        check(run_dir_make_log_dir(run, k, &dir, &err));
        path = run_dir_file(dir, "attempt.json");
        check(fs_write_atomic(path, text, strlen(text), 0644, &err));
        free(text);
        free(path);
        free(dir);
    }
    return all;
}

static void result_make(const char *run, const json_t *attempts)
{
    struct metrics_table reports = {0};
    json_t *result =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:n}", "status", "finished", "path", run,
                  "checkpoint", "checkpoint_000004.h5", "best_checkpoint",
                  "checkpoint_000002.h5", "attempts", 2, "error");
    char *path = run_dir_file(run, "result.h5");

    check(metrics_load_table(run, &reports, &err));
    check(metrics_write_h5(path, &reports, result, attempts, &err));
    metrics_table_clear(&reports);
    json_decref(result);
    free(path);
}

static int run_make(const char *run)
{
    static const char CONFIG[] =
        "run_config = { name = \"sample\"; checkpoint_config = {\n"
        "  checkpoint_score_attribute = \"accuracy\"; }; };\n";
    char *path = run_dir_file(run, "run.cfg");
    json_t *attempts;

    check(fs_mkdirs(run, 0777, &err));
    check(fs_write_atomic(path, CONFIG, sizeof CONFIG - 1, 0644, &err));
    checkpoint_make(run, 1, 0.25);
    checkpoint_make(run, 2, 0.75);
    checkpoint_make(run, 4, 0.5);
    reports_make(run);
    attempts = attempts_make(run);
    result_make(run, attempts);
    json_decref(attempts);
    free(path);
    return 0;
}

/* ---- Others ---- */

static void saved(raytrain_checkpoint *ck, const char *path)
{
    const struct checkpoint_meta meta = {.run_name = "sample", .world_size = 1};
    struct comm *self = comm_self_create(&err);

    check(checkpoint_save(ck, self, &meta, path, &err));
    checkpoint_destroy(ck);
    comm_free(self);
}

static void line_put(raytrain_checkpoint *ck, const char *name, raytrain_dtype dtype,
                     const void *data, uint64_t n)
{
    raytrain_tensor t = {.data = (void *)data, .dtype = dtype, .ndim = 1, .shape = {n}};

    check(checkpoint_put(ck, name, &t, NULL, &err));
}

static int pair_make(const char *paths[2])
{
    static const float values[2][4] = {{1, 2, NAN, 4}, {1, 2.5, NAN, NAN}};
    static const uint64_t bits[2][2] = {{0, 0x7ff8000000000000},
                                        {0x8000000000000000, 0x7ff8000000000001}};
    static const int64_t integers[2][2] = {{INT64_MAX, 1}, {INT64_MIN, 1}};
    static const uint16_t half[2] = {0x3c00, 0x4000}, brain[2] = {0x3f80, 0x4000};
    static const int32_t grid[6] = {1, 2, 3, 4, 5, 6};
    static char large[2][3 << 20]; /* several blocks, of which the last ones differ */

    large[1][sizeof large[1] - 1] = 5;
    for (int k = 0; k < 2; k++) {
        raytrain_checkpoint *ck = checkpoint_create(&err);
        raytrain_tensor t = {
            .data = (void *)grid, .dtype = RAYTRAIN_INT32, .ndim = 2, .shape = {2, 3}};

        line_put(ck, "same", RAYTRAIN_INT32, grid, 6);
        line_put(ck, "values", RAYTRAIN_FLOAT32, values[k], 4);
        line_put(ck, "bits", RAYTRAIN_FLOAT64, bits[k], 2);
        line_put(ck, "integers", RAYTRAIN_INT64, integers[k], 2);
        line_put(ck, "half", RAYTRAIN_FLOAT16, &half[k], 1);
        line_put(ck, "brain", RAYTRAIN_BFLOAT16, &brain[k], 1);
        line_put(ck, "raw", RAYTRAIN_BYTES, grid, k == 0 ? 4 : 3);
        line_put(ck, "large", RAYTRAIN_BYTES, large[k], sizeof large[k]);
        t.shape[0] = (uint64_t)(2 + k);
        t.shape[1] = (uint64_t)(3 - k);
        check(checkpoint_put(ck, "shape", &t, NULL, &err));
        line_put(ck, "type", k == 0 ? RAYTRAIN_INT32 : RAYTRAIN_UINT32, grid, 6);
        line_put(ck, k == 0 ? "first/alone" : "second/alone", RAYTRAIN_INT32, grid, 1);
        check(checkpoint_put_string(ck, "text", k == 0 ? "one" : "two", &err));
        check(checkpoint_put_string(ck, "longer", k == 0 ? "one" : "three", &err));
        check(checkpoint_put_string(ck, "raytrain/session/x", k ? "1" : "0", &err));
        saved(ck, paths[k]);
    }
    return 0;
}

static int named_make(const char *path, char *names[], int n)
{
    raytrain_checkpoint *ck = checkpoint_create(&err);

    for (int i = 0; i < n; i++)
        line_put(ck, names[i], RAYTRAIN_INT32, NULL, 0);
    saved(ck, path);
    return 0;
}

static int large_make(const char *path, size_t bytes, size_t pieces)
{
    const struct checkpoint_meta meta = {.run_name = "large", .world_size = 1};
    struct comm *self = comm_self_create(&err);
    raytrain_checkpoint *ck = checkpoint_create(&err);
    raytrain_tensor t = {.dtype = RAYTRAIN_UINT8, .ndim = 1, .shape = {bytes / pieces}};
    char *data = malloc(bytes), name[64];
    double start = clock_now(), saved;

    memset(data, 7, bytes);
    for (size_t i = 0; i < pieces; i++) {
        t.data = data + i * (bytes / pieces);
        snprintf(name, sizeof name, "layer/%zu/w%zu", i / 100, i);
        check(checkpoint_put(ck, name, &t, NULL, &err));
    }
    start = clock_now();
    check(checkpoint_save(ck, self, &meta, path, &err));
    saved = clock_now();
    checkpoint_destroy(ck);
    check(checkpoint_open(self, path, &ck, &err));
    printf("save %.3f s, restore with verification %.3f s\n", saved - start,
           clock_now() - saved);
    checkpoint_destroy(ck);
    comm_free(self);
    free(data);
    return 0;
}

int main(int argc, char *argv[])
{
    if (argc == 5 && strcmp(argv[1], "--large") == 0)
        return large_make(argv[2], strtoull(argv[3], NULL, 10),
                          strtoull(argv[4], NULL, 10));
    if (argc == 4 && strcmp(argv[1], "--pair") == 0)
        return pair_make((const char *[]){argv[2], argv[3]});
    if (argc > 3 && strcmp(argv[1], "--named") == 0)
        return named_make(argv[2], argv + 3, argc - 3);
    if (argc == 2)
        return run_make(argv[1]);
    fprintf(stderr, "usage: see the head of store_sample.c\n");
    return 2;
}
