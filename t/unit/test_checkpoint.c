#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <hdf5.h>

#include "checkpoint/checkpoint.h"
#include "scratch.h"
#include "thread_comm.h"
#include "util/fs.h"

/* An initialiser of a raytrain_tensor: its memory, type, number of dimensions, shape. */
#define VIEW(memory, type, n, ...)                                                     \
    {                                                                                  \
        .data = memory, .dtype = type, .ndim = n, .shape = { __VA_ARGS__ }             \
    }

#define FILE_NAME "checkpoint_000007.h5"

static const struct checkpoint_metric METRICS[] = {{"accuracy", 0.875}, {"loss", -0.5}};
static const struct checkpoint_meta META = {.run_name = "fashion",
                                            .training_iteration = 7,
                                            .world_size = 2,
                                            .attempt = 1,
                                            .time_total_s = 12.5,
                                            .timestamp = 1700000000,
                                            .metrics = METRICS,
                                            .n_metrics = 2};

static raytrain_checkpoint *ck_new(void)
{
    raytrain_checkpoint *ck = checkpoint_create(NULL);

    assert_non_null(ck);
    return ck;
}

/* One process saves ck as FILE_NAME, and destroys it. */
static void save_alone(raytrain_checkpoint *ck)
{
    struct comm *self = comm_self_create(NULL);
    struct error err;

    if (checkpoint_save(ck, self, &META, FILE_NAME, &err) < 0)
        fail_msg("%s", err.text);
    checkpoint_destroy(ck);
    comm_free(self);
}

static raytrain_checkpoint *open_alone(struct error *err)
{
    struct comm *self = comm_self_create(NULL);
    raytrain_checkpoint *ck = NULL;

    checkpoint_open(self, FILE_NAME, &ck, err);
    comm_free(self);
    return ck;
}

/* ---- Everything comes back ---- */

static void every_type_comes_back(void **state)
{
    unsigned char in[13][48], out[48];
    raytrain_checkpoint *ck = ck_new();
    raytrain_tensor t = {.ndim = 2, .shape = {2, 3}}, info;
    struct error err;
    char name[64];

    (void)state;
    for (int d = RAYTRAIN_FLOAT32; d <= RAYTRAIN_BYTES; d++) {
        for (int i = 0; i < 48; i++)
            in[d - 1][i] = (unsigned char)(31 * d + 7 * i);
        snprintf(name, sizeof name, "types/%s", raytrain_dtype_name(d));
        t.dtype = d;
        t.data = in[d - 1];
        assert_int_equal(checkpoint_put(ck, name, &t, NULL, &err), 0);
    }
    save_alone(ck);
    ck = open_alone(&err);
    assert_non_null(ck);
    t.data = out;
    for (int d = RAYTRAIN_FLOAT32; d <= RAYTRAIN_BYTES; d++) {
        snprintf(name, sizeof name, "types/%s", raytrain_dtype_name(d));
        assert_int_equal(checkpoint_info(ck, name, &info, &err), 0);
        assert_int_equal(info.dtype, d);
        assert_int_equal(info.ndim, 2);
        assert_int_equal(info.shape[1], 3);
        t.dtype = d;
        assert_int_equal(checkpoint_get(ck, name, &t, NULL, &err), 0);
        assert_memory_equal(out, in[d - 1], 6 * raytrain_dtype_size(d));
    }
    checkpoint_destroy(ck);
}

static void strings_scalars_and_empty_tensors_come_back(void **state)
{
    raytrain_checkpoint *ck = ck_new();
    double pi = 3.25, back = 0;
    raytrain_tensor scalar = VIEW(&pi, RAYTRAIN_FLOAT64, 0, 0);
    raytrain_tensor empty = VIEW(NULL, RAYTRAIN_INT32, 3, 4, 0, 2), info;
    struct error err;
    char *text;

    (void)state;
    assert_int_equal(checkpoint_put(ck, "scalar", &scalar, NULL, &err), 0);
    assert_int_equal(checkpoint_put(ck, "empty", &empty, NULL, &err), 0);
    assert_int_equal(checkpoint_put_string(ck, "text/none", "", &err), 0);
    assert_int_equal(checkpoint_put_string(ck, "text/some", "na\xc3\xafve\n", &err), 0);
    assert_int_equal(checkpoint_put_string(ck, "raytrain/session/x", "y", &err), 0);
    save_alone(ck);
    ck = open_alone(&err);
    assert_non_null(ck);
    scalar.data = &back;
    assert_int_equal(checkpoint_get(ck, "scalar", &scalar, NULL, &err), 0);
    assert_true(back == 3.25);
    assert_int_equal(checkpoint_info(ck, "empty", &info, &err), 0);
    assert_int_equal(info.ndim, 3);
    assert_int_equal(checkpoint_get(ck, "empty", &empty, NULL, &err), 0);
    assert_int_equal(checkpoint_get_string(ck, "text/none", &text, &err), 0);
    assert_string_equal(text, "");
    free(text);
    assert_int_equal(checkpoint_get_string(ck, "text/some", &text, &err), 0);
    assert_string_equal(text, "na\xc3\xafve\n");
    free(text);
    assert_int_equal(checkpoint_get_string(ck, "raytrain/session/x", &text, &err), 0);
    free(text);
    checkpoint_destroy(ck);
}

static void a_checkpoint_may_have_no_tensors(void **state)
{
    struct error err;
    raytrain_checkpoint *ck;

    (void)state;
    save_alone(ck_new());
    ck = open_alone(&err);
    assert_non_null(ck);
    checkpoint_destroy(ck);
}

static void meta_comes_back(void **state)
{
    struct error err;
    raytrain_checkpoint *ck;
    const struct checkpoint_meta *meta;

    (void)state;
    save_alone(ck_new());
    ck = open_alone(&err);
    assert_non_null(ck);
    assert_string_equal(checkpoint_path(ck), FILE_NAME);
    meta = checkpoint_meta(ck);
    assert_string_equal(meta->run_name, "fashion");
    assert_int_equal(meta->training_iteration, 7);
    assert_int_equal(meta->world_size, 2);
    assert_int_equal(meta->attempt, 1);
    assert_true(meta->time_total_s == 12.5);
    assert_int_equal(meta->timestamp, 1700000000);
    assert_int_equal(meta->n_metrics, 2);
    assert_string_equal(meta->metrics[1].name, "loss");
    assert_true(meta->metrics[1].value == -0.5);
    checkpoint_destroy(ck);
}

static void reading_as_another_type_or_shape_is_refused(void **state)
{
    raytrain_checkpoint *ck = ck_new();
    float data[6] = {0};
    raytrain_tensor t = VIEW(data, RAYTRAIN_FLOAT32, 2, 2, 3), other = t;
    struct error err;
    char *text;

    (void)state;
    assert_int_equal(checkpoint_put(ck, "model/weight", &t, NULL, &err), 0);
    assert_int_equal(checkpoint_put_string(ck, "note", "x", &err), 0);
    save_alone(ck);
    ck = open_alone(&err);
    assert_non_null(ck);
    assert_int_equal(checkpoint_get(ck, "model/wieght", &t, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_non_null(strstr(err.text, "model/weight"));
    assert_int_equal(checkpoint_get(ck, "model", &t, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_int_equal(checkpoint_get(ck, NULL, &t, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    other.dtype = RAYTRAIN_INT32;
    assert_int_equal(checkpoint_get(ck, "model/weight", &other, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ETYPE);
    assert_non_null(strstr(err.text, "float32 [2, 3]"));
    other = t;
    other.shape[1] = 4;
    assert_int_equal(checkpoint_get(ck, "model/weight", &other, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ETYPE);
    assert_int_equal(checkpoint_get(ck, "note", &t, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ETYPE);
    assert_int_equal(checkpoint_get_string(ck, "model/weight", &text, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ETYPE);
    assert_int_equal(
        checkpoint_get(ck, "model/weight", &t, &(raytrain_slab){{1, 0}, {2, 3}}, &err),
        -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_int_equal(checkpoint_put(ck, "more", &t, NULL, &err), -1);
    checkpoint_destroy(ck);
}

/* ---- N ranks write, M read ---- */

#define ROWS 7
#define COLS 13
/* Larger than a chunk, and not a multiple of one. */
#define LONG (3 * 1048576 / 4 + 1237)

struct exchange {
    int size; /* ranks of the writers */
    float *rep, *rows, *cols, *big;
};

static void part_of(uint64_t n, int rank, int size, uint64_t *start, uint64_t *count)
{
    uint64_t end = n * (uint64_t)(rank + 1) / (uint64_t)size;

    *start = n * (uint64_t)rank / (uint64_t)size;
    *count = end - *start;
}

/* The dense copy of a slab of a [ROWS, COLS] tensor. */
static void slab_copy(float *out, const float *from, const raytrain_slab *s)
{
    for (uint64_t i = 0; i < s->count[0]; i++)
        memcpy(out + i * s->count[1], from + (s->start[0] + i) * COLS + s->start[1],
               s->count[1] * sizeof *out);
}

static int exchange_save(struct comm *comm, void *arg)
{
    struct exchange *x = arg;
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    raytrain_tensor grid = VIEW(x->rep, RAYTRAIN_FLOAT32, 2, ROWS, COLS), t = grid;
    raytrain_tensor line = VIEW(x->big, RAYTRAIN_FLOAT32, 1, LONG);
    raytrain_slab rows = {{0, 0}, {0, COLS}}, cols = {{0, 0}, {ROWS, 0}},
                  big = {{0}, {0}};
    float by_rows[ROWS * COLS], by_cols[ROWS * COLS];
    struct error err;
    int rc = 0;

    part_of(ROWS, comm->rank, comm->size, &rows.start[0], &rows.count[0]);
    part_of(COLS, comm->rank, comm->size, &cols.start[1], &cols.count[1]);
    part_of(LONG, comm->size - 1 - comm->rank, comm->size, &big.start[0],
            &big.count[0]);
    slab_copy(by_rows, x->rows, &rows);
    slab_copy(by_cols, x->cols, &cols);
    rc |= checkpoint_put(ck, "replicated", &grid, NULL, &err);
    rc |= checkpoint_put(ck, "replicated_long", &line, NULL, &err);
    t.data = by_rows;
    rc |= checkpoint_put(ck, "by/rows", &t, &rows, &err);
    t.data = by_cols;
    rc |= checkpoint_put(ck, "by/columns", &t, &cols, &err);
    line.data = x->big + big.start[0];
    rc |= checkpoint_put(ck, "by/ranks_backwards", &line, &big, &err);
    if (rc == 0)
        rc = checkpoint_save(ck, comm, &META, FILE_NAME, &err);
    checkpoint_destroy(ck);
    return rc;
}

static int exchange_open(struct comm *comm, void *arg)
{
    struct exchange *x = arg;
    raytrain_checkpoint *ck = NULL;
    raytrain_tensor t = VIEW(NULL, RAYTRAIN_FLOAT32, 2, ROWS, COLS);
    raytrain_tensor line = VIEW(malloc(LONG * 4), RAYTRAIN_FLOAT32, 1, LONG);
    raytrain_slab s = {{0, 0}, {ROWS, 0}};
    float got[ROWS * COLS], want[ROWS * COLS];
    struct error err;
    int rc = checkpoint_open(comm, FILE_NAME, &ck, &err);

    if (rc == 0) {
        t.data = got;
        rc |= checkpoint_get(ck, "replicated", &t, NULL, &err);
        rc |= memcmp(got, x->rep, sizeof got) != 0;
        rc |= checkpoint_get(ck, "by/rows", &t, NULL, &err);
        rc |= memcmp(got, x->rows, sizeof got) != 0;
        part_of(COLS, comm->rank, comm->size, &s.start[1], &s.count[1]);
        rc |= checkpoint_get(ck, "by/columns", &t, &s, &err);
        slab_copy(want, x->cols, &s);
        rc |= memcmp(got, want, ROWS * s.count[1] * 4) != 0;
        rc |= checkpoint_get(ck, "by/ranks_backwards", &line, NULL, &err);
        rc |= memcmp(line.data, x->big, LONG * 4) != 0;
        rc |= checkpoint_get(ck, "replicated_long", &line, NULL, &err);
        rc |= memcmp(line.data, x->big, LONG * 4) != 0;
    }
    free(line.data);
    checkpoint_destroy(ck);
    return rc;
}

static float *noise(size_t n, unsigned seed)
{
    float *out = malloc(n * sizeof *out);

    for (size_t i = 0; i < n; i++)
        out[i] = (float)(seed = seed * 1664525u + 1013904223u);
    return out;
}

static void n_ranks_write_and_m_read(void **state)
{
    struct exchange x = {.rep = noise(ROWS * COLS, 1),
                         .rows = noise(ROWS * COLS, 2),
                         .cols = noise(ROWS * COLS, 3),
                         .big = noise(LONG, 4)};
    static const int ranks[] = {1, 2, 3, 4, 8};
    int rc[8];

    (void)state;
    for (int n = 0; n < 5; n++) {
        thread_comm_run(ranks[n], exchange_save, &x, rc);
        for (int r = 0; r < ranks[n]; r++)
            assert_int_equal(rc[r], 0);
        assert_int_equal(scratch_count("."), 1);
        for (int m = 0; m < 5; m++) {
            thread_comm_run(ranks[m], exchange_open, &x, rc);
            for (int r = 0; r < ranks[m]; r++)
                assert_int_equal(rc[r], 0);
        }
    }
    free(x.rep);
    free(x.rows);
    free(x.cols);
    free(x.big);
}

/* ---- What the ranks must agree on ---- */

struct quarrel {
    const char *name;
    const char *says;
    raytrain_status code;
};

/* Each rank does its part of a disagreement; the error of every rank must contain the
 * text. */
static int quarrel_save(struct comm *comm, void *arg)
{
    const struct quarrel *q = arg;
    float data[16] = {0};
    raytrain_tensor t = VIEW(data, RAYTRAIN_FLOAT32, 1, 8);
    raytrain_slab half = {{comm->rank ? 4 : 0}, {4}};
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    struct error err = {0};
    bool odd = comm->rank == 1;
    int rc;

    checkpoint_put(ck, "first", &t, NULL, NULL);
    if (strcmp(q->name, "overlap") == 0 && odd)
        half.start[0] = 3;
    else if (strcmp(q->name, "hole") == 0 && odd)
        half.start[0]++, half.count[0]--;
    else if (strcmp(q->name, "shape") == 0 && odd)
        t.shape[0] = 9;
    else if (strcmp(q->name, "type") == 0 && odd)
        t.dtype = RAYTRAIN_INT32;
    else if (strcmp(q->name, "missing") == 0 && odd)
        goto save;
    checkpoint_put(ck, strcmp(q->name, "name") == 0 && odd ? "w2" : "w", &t,
                   strcmp(q->name, "kind") == 0 && odd ? NULL : &half, NULL);
    if (strcmp(q->name, "string") == 0)
        checkpoint_put_string(ck, "s", odd ? "b" : "a", NULL);
save:
    rc = checkpoint_save(ck, comm, &META, FILE_NAME, &err);
    checkpoint_destroy(ck);
    if (rc == 0 || err.code != q->code || !strstr(err.text, q->says)) {
        fprintf(stderr, "# %s: %s\n", q->name, err.text);
        return -1;
    }
    return 0;
}

static void ranks_that_disagree_are_refused(void **state)
{
    static const struct quarrel quarrels[] = {
        {"overlap", "tensor 'w': the slabs of ranks 0 and 1 overlap", RAYTRAIN_EINVAL},
        {"hole", "tensor 'w': the ranks' slabs cover 7 of 8", RAYTRAIN_EINVAL},
        {"shape", "'w' (float32 [9], sharded)", RAYTRAIN_EINVAL},
        {"type", "'w' (int32 [8], sharded)", RAYTRAIN_EINVAL},
        {"name", "'w2'", RAYTRAIN_EINVAL},
        {"kind", "rank 1 puts 'w' (float32 [8])", RAYTRAIN_EINVAL},
        {"missing", "rank 1 puts nothing more", RAYTRAIN_EINVAL},
        {"string", "string", RAYTRAIN_EINVAL},
    };
    int rc[3];

    (void)state;
    for (size_t i = 0; i < sizeof quarrels / sizeof *quarrels; i++) {
        thread_comm_run(2, quarrel_save, (void *)&quarrels[i], rc);
        assert_int_equal(rc[0], 0);
        assert_int_equal(rc[1], 0);
        assert_int_equal(scratch_count("."), 0);
    }
}

static void tensor_names_are_checked(void **state)
{
    static const struct {
        const char *name;
        bool user, session;
    } rows[] = {
        {"w", true, true},
        {"model/fc1/weight", true, true},
        {"a b/\xc3\xa9", true, true},
        {"raytrained", true, true},
        {"raytrain/session/rng", false, true},
        {"raytrain/tensors", false, false},
        {"raytrain", false, false},
        {"", false, false},
        {"/w", false, false},
        {"w/", false, false},
        {"a//b", false, false},
        {"a/./b", false, false},
        {"..", false, false},
        {"...", true, true},
        {"a\nb", false, false},
        {"\xff", false, false},
    };
    static char part[300], name[1100];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        raytrain_checkpoint *ck = ck_new();
        struct error err;

        assert_int_equal(checkpoint_check_name(rows[i].name, &err),
                         rows[i].user ? 0 : -1);
        assert_int_equal(checkpoint_put_string(ck, rows[i].name, "", &err),
                         rows[i].session ? 0 : -1);
        if (!rows[i].session)
            assert_int_equal(err.code, RAYTRAIN_EINVAL);
        checkpoint_destroy(ck);
    }
    memset(part, 'x', 255);
    assert_int_equal(checkpoint_check_name(part, NULL), 0);
    part[255] = 'x';
    assert_int_equal(checkpoint_check_name(part, NULL), -1);
    for (int i = 0; i < 1023; i++)
        name[i] = i % 200 == 199 ? '/' : 'x';
    assert_int_equal(checkpoint_check_name(name, NULL), 0);
    strcat(name, "x");
    assert_int_equal(checkpoint_check_name(name, NULL), -1);
    assert_int_equal(checkpoint_check_name(NULL, NULL), -1);
}

static void names_do_not_clash(void **state)
{
    raytrain_checkpoint *ck = ck_new();
    struct error err;

    (void)state;
    assert_int_equal(checkpoint_put_string(ck, "a/b", "", &err), 0);
    assert_int_equal(checkpoint_put_string(ck, "a/b", "", &err), -1);
    assert_int_equal(checkpoint_put_string(ck, "a", "", &err), -1);
    assert_int_equal(checkpoint_put_string(ck, "a/b/c", "", &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    assert_non_null(strstr(err.text, "'a/b'"));
    assert_int_equal(checkpoint_put_string(ck, "a/c", "", &err), 0);
    checkpoint_destroy(ck);
}

static void bad_tensors_are_refused(void **state)
{
    raytrain_checkpoint *ck = ck_new();
    float x = 0;
    raytrain_tensor good = VIEW(&x, RAYTRAIN_FLOAT32, 1, 1), t;
    struct error err;

    (void)state;
    assert_int_equal(checkpoint_put(NULL, "w", &good, NULL, &err), -1);
    assert_int_equal(checkpoint_put(ck, NULL, &good, NULL, &err), -1);
    assert_int_equal(checkpoint_put(ck, "w", NULL, NULL, &err), -1);
    t = good;
    t.dtype = 99;
    assert_int_equal(checkpoint_put(ck, "w", &t, NULL, &err), -1);
    t = good;
    t.ndim = 9;
    assert_int_equal(checkpoint_put(ck, "w", &t, NULL, &err), -1);
    t = good;
    t.device = 7;
    t.data = (void *)1; /* not touched */
    assert_int_equal(checkpoint_put(ck, "w", &t, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTSUP);
    assert_non_null(strstr(err.text, "device 7"));
    t = good;
    t.reserved[1] = 1;
    assert_int_equal(checkpoint_put(ck, "w", &t, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    t = good;
    t.data = NULL;
    assert_int_equal(checkpoint_put(ck, "w", &t, NULL, &err), -1);
    assert_int_equal(checkpoint_put(ck, "w", &t, &(raytrain_slab){{0}, {0}}, &err), 0);
    t.shape[0] = UINT64_MAX;
    assert_int_equal(checkpoint_put(ck, "v", &t, NULL, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    checkpoint_destroy(ck);
}

/* ---- Damage ---- */

/* A small file with some of everything; returns its bytes. */
static char *small_file(size_t *n)
{
    raytrain_checkpoint *ck = ck_new();
    int64_t data[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    raytrain_tensor t = VIEW(data, RAYTRAIN_INT64, 2, 3, 3);
    char *bytes;

    assert_int_equal(checkpoint_put(ck, "model/w", &t, NULL, NULL), 0);
    assert_int_equal(checkpoint_put_string(ck, "note", "hello", NULL), 0);
    save_alone(ck);
    assert_int_equal(fs_read(FILE_NAME, &bytes, n, NULL), 0);
    return bytes;
}

static void every_flipped_byte_is_found(void **state)
{
    size_t n;
    char *bytes = small_file(&n);
    int fd = open(FILE_NAME, O_WRONLY | O_CLOEXEC), named = 0;
    struct error err;

    (void)state;
    assert_true(fd >= 0);
    for (size_t i = 0; i < n; i++) {
        char flipped = (char)(bytes[i] ^ (1 << i % 8));
        raytrain_checkpoint *ck;

        assert_int_equal(pwrite(fd, &flipped, 1, (off_t)i), 1);
        ck = open_alone(&err);
        if (ck)
            fail_msg("byte %zu of %zu can be flipped", i, n);
        assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
        assert_non_null(strstr(err.text, FILE_NAME));
        named += strstr(err.text, "dataset 'model/w' is damaged") != NULL;
        named += strstr(err.text, "dataset 'note' is damaged") != NULL;
        assert_int_equal(pwrite(fd, &bytes[i], 1, (off_t)i), 1);
    }
    /* Any damage to a byte of the two tensors was reported with their names. */
    assert_int_equal(named, 9 * 8 + 6);
    close(fd);
    free(bytes);
    checkpoint_destroy(open_alone(&err));
}

static void every_truncation_is_found(void **state)
{
    size_t n;
    char *bytes = small_file(&n);
    struct error err;

    (void)state;
    for (size_t keep = 0; keep < n; keep += 512) {
        assert_int_equal(fs_write_atomic(FILE_NAME, bytes, keep, 0600, NULL), 0);
        assert_null(open_alone(&err));
        assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
    }
    assert_int_equal(fs_write_atomic(FILE_NAME, bytes, n - 1, 0600, NULL), 0);
    assert_null(open_alone(&err));
    assert_non_null(strstr(err.text, "truncated"));
    free(bytes);
}

static void what_is_not_a_checkpoint_is_reported(void **state)
{
    static const char zeros[8192];
    struct error err;
    size_t n;
    char *bytes;
    hid_t file;

    (void)state;
    assert_null(open_alone(&err));
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_int_equal(fs_write_atomic(FILE_NAME, "", 0, 0600, NULL), 0);
    assert_null(open_alone(&err));
    assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
    assert_non_null(strstr(err.text, "the file is empty"));
    assert_int_equal(fs_write_atomic(FILE_NAME, "PK\3\4", 4, 0600, NULL), 0);
    assert_null(open_alone(&err));
    assert_non_null(strstr(err.text, "neither a checkpoint nor an HDF5 file"));
    assert_int_equal(fs_write_atomic(FILE_NAME, zeros, 8192, 0600, NULL), 0);
    assert_null(open_alone(&err));
    assert_non_null(strstr(err.text, "neither a checkpoint nor an HDF5 file"));
    file = H5Fcreate(FILE_NAME, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(file >= 0);
    H5Fclose(file);
    assert_null(open_alone(&err));
    assert_non_null(strstr(err.text, "an HDF5 file, but not a checkpoint"));
    bytes = small_file(&n);
    assert_memory_equal(bytes + 128, "complete", 8);
    memset(bytes + 128, 0, 8);
    assert_int_equal(fs_write_atomic(FILE_NAME, bytes, n, 0600, NULL), 0);
    assert_null(open_alone(&err));
    assert_non_null(strstr(err.text, "incomplete"));
    free(bytes);
    assert_int_equal(unlink(FILE_NAME), 0);
    assert_int_equal(mkdir(FILE_NAME, 0700), 0);
    assert_null(open_alone(&err));
    assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
}

/* ---- Failure ---- */

static int large_save(struct comm *comm, void *arg)
{
    raytrain_tensor t = VIEW(arg, RAYTRAIN_FLOAT32, 1, LONG);
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    struct error err = {0};
    int rc;

    checkpoint_put(ck, "big", &t, NULL, NULL);
    rc = checkpoint_save(ck, comm, &META, FILE_NAME, &err);
    checkpoint_destroy(ck);
    return rc < 0 ? (int)err.code : 0;
}

static void a_failed_save_changes_nothing(void **state)
{
    struct rlimit before, small;
    size_t n, n_after;
    char *bytes = small_file(&n), *after;
    float *big = noise(LONG, 5);
    int rc[2];

    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    for (int i = 0; i < 3; i++) {
        small = before;
        small.rlim_cur = (rlim_t[]){100, 65536, 2 * 1048576}[i];
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
        thread_comm_run(2, large_save, big, rc);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(rc[0], RAYTRAIN_ESTORAGE);
        assert_int_equal(rc[1], RAYTRAIN_ESTORAGE);
        assert_int_equal(scratch_count("."), 1);
        assert_int_equal(fs_read(FILE_NAME, &after, &n_after, NULL), 0);
        assert_int_equal(n_after, n);
        assert_memory_equal(after, bytes, n);
        free(after);
    }
    thread_comm_run(2, large_save, big, rc);
    assert_int_equal(rc[0], 0);
    free(big);
    free(bytes);
}

static int nowhere_save(struct comm *comm, void *arg)
{
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    struct error err = {0};

    checkpoint_put_string(ck, "s", "", NULL);
    checkpoint_save(ck, comm, &META, arg, &err);
    checkpoint_destroy(ck);
    return (int)err.code;
}

static void an_unusable_directory_is_an_error(void **state)
{
    int rc[3];

    (void)state;
    thread_comm_run(3, nowhere_save, (void *)"absent/checkpoint_000001.h5", rc);
    for (int r = 0; r < 3; r++)
        assert_int_equal(rc[r], RAYTRAIN_ENOTFOUND);
    thread_comm_run(2, nowhere_save, (void *)"/proc/checkpoint_000001.h5", rc);
    assert_int_not_equal(rc[0], 0);
    assert_int_equal(rc[0], rc[1]);
}

/* HDF5 finds a tensor of three int32 under this name; the second of them. */
static int32_t second_by_hdf5(const char *name)
{
    hid_t file = H5Fopen(FILE_NAME, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT);
    int32_t data[3] = {0};

    assert_true(H5Dread(set, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >=
                0);
    H5Dclose(set);
    H5Fclose(file);
    return data[1];
}

/* Groups of a hundred, and one of more than fit the header of a group. */
/* Also if it is expected again, or slab by slab. */
static void of_a_tensor_no_more_than_a_share_is_expected(void **state)
{
    unsigned char data[20] = {0};
    raytrain_tensor t = {
        .data = data, .dtype = RAYTRAIN_UINT8, .ndim = 1, .shape = {sizeof data}};
    raytrain_checkpoint *ck = checkpoint_create(NULL);

    (void)state;
    assert_int_equal(checkpoint_put(ck, "w", &t, NULL, NULL), 0);
    assert_int_equal(checkpoint_put(ck, "b", &t, NULL, NULL), 0);
    checkpoint_expect(ck, "w", &t, &(raytrain_slab){{0}, {3}}, 3);
    assert_int_equal(checkpoint_expected(ck, SNAPSHOT_ALL), 3);
    for (uint64_t at = 3; at < 20; at++)
        checkpoint_expect(ck, "w", &t, &(raytrain_slab){{at}, {1}}, 3);
    assert_int_equal(checkpoint_expected(ck, SNAPSHOT_ALL), 7);
    checkpoint_expect(ck, "w", &t, NULL, 3);
    assert_int_equal(checkpoint_expected(ck, SNAPSHOT_ALL), 7);
    assert_int_equal(checkpoint_expected(ck, SNAPSHOT_DEVICES), 0);
    t.device = RAYTRAIN_CUDA;
    checkpoint_expect(ck, "b", &t, NULL, 3);
    checkpoint_expect(ck, "b", &t, NULL, 3);
    assert_int_equal(checkpoint_expected(ck, SNAPSHOT_ALL), 14);
    assert_int_equal(checkpoint_expected(ck, SNAPSHOT_DEVICES), 7);
    checkpoint_destroy(ck);
}

static void thousands_of_tensors_come_back(void **state)
{
    raytrain_checkpoint *ck = ck_new();
    raytrain_tensor t = VIEW(NULL, RAYTRAIN_INT32, 1, 3);
    static int32_t data[2000][3];
    int32_t back[3];
    struct error err;
    char name[64];

    (void)state;
    for (int i = 0; i < 2000; i++) {
        data[i][1] = i;
        t.data = data[i];
        snprintf(name, sizeof name, i < 600 ? "layer/%d/w%d" : "layer/many/of/%d-%d",
                 i / 100, i);
        assert_int_equal(checkpoint_put(ck, name, &t, NULL, &err), 0);
    }
    save_alone(ck);
    ck = open_alone(&err);
    assert_non_null(ck);
    t.data = back;
    assert_int_equal(checkpoint_get(ck, "layer/many/of/13-1377", &t, NULL, &err), 0);
    assert_int_equal(back[1], 1377);
    checkpoint_destroy(ck);
    assert_int_equal(second_by_hdf5("layer/4/w477"), 477);
    assert_int_equal(second_by_hdf5("layer/many/of/19-1999"), 1999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(every_type_comes_back),
        SCRATCH(strings_scalars_and_empty_tensors_come_back),
        SCRATCH(a_checkpoint_may_have_no_tensors),
        SCRATCH(meta_comes_back),
        SCRATCH(reading_as_another_type_or_shape_is_refused),
        SCRATCH(n_ranks_write_and_m_read),
        SCRATCH(ranks_that_disagree_are_refused),
        SCRATCH(tensor_names_are_checked),
        SCRATCH(names_do_not_clash),
        SCRATCH(bad_tensors_are_refused),
        SCRATCH(every_flipped_byte_is_found),
        SCRATCH(every_truncation_is_found),
        SCRATCH(what_is_not_a_checkpoint_is_reported),
        SCRATCH(a_failed_save_changes_nothing),
        SCRATCH(an_unusable_directory_is_an_error),
        SCRATCH(of_a_tensor_no_more_than_a_share_is_expected),
        SCRATCH(thousands_of_tensors_come_back),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
