/* test_attachments.c - what single ranks add to a checkpoint: bytes of their own,
 * memory that they hand over, and slabs that several of them have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "checkpoint/checkpoint_impl.h"
#include "scratch.h"
#include "thread_comm.h"

#define FILE_NAME "checkpoint_000001.h5"
#define LARGE     (3u << 20)
#define ROWS      8

static const struct checkpoint_meta META = {.run_name = "attached",
                                            .training_iteration = 1};

/* ---- Attachments: N ranks write, M read ---- */

static uint64_t size_of(int rank, int i)
{
    return i == 0 ? 0 : i == 1 ? LARGE + (uint64_t)rank : (uint64_t)(100 * rank + i);
}

static unsigned char byte_of(int rank, int i, uint64_t at)
{
    return (unsigned char)(at * 7 + (unsigned)rank * 31 + (unsigned)i);
}

static atomic_int released;

static void release(void *data, void *arg)
{
    if (arg == &released)
        released++;
    free(data);
}

/* Rank r attaches r of them, half of them handed over; rank 0 none. */
static int attach_save(struct comm *comm, void *arg)
{
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    raytrain_tensor t = {
        .data = arg, .dtype = RAYTRAIN_INT32, .ndim = 1, .shape = {ROWS}};
    unsigned char *kept[THREAD_COMM_MAX] = {NULL};
    struct error err = {0};
    char name[64];
    int rc = checkpoint_put(ck, "model", &t, NULL, &err);

    for (int i = 0; rc == 0 && i < comm->rank; i++) {
        uint64_t n = size_of(comm->rank, i);
        unsigned char *data = malloc(n + 1);

        for (uint64_t at = 0; at < n; at++)
            data[at] = byte_of(comm->rank, i, at);
        snprintf(name, sizeof name, "rank-%d/%d.bin", comm->rank, i);
        rc = checkpoint_attach(ck, name, data, n, i % 2 ? release : NULL, &released,
                               &err);
        if (i % 2 == 0)
            kept[i] = data;
    }
    if (rc == 0)
        rc = checkpoint_save(ck, comm, &META, FILE_NAME, &err);
    checkpoint_destroy(ck);
    for (int i = 0; i < THREAD_COMM_MAX; i++)
        free(kept[i]);
    if (rc < 0)
        fprintf(stderr, "# %s\n", err.text);
    return rc;
}

static int attached_compare(raytrain_checkpoint *ck, int rank, int i)
{
    raytrain_tensor t;
    unsigned char *got;
    struct error err;
    char name[64];
    int rc;

    snprintf(name, sizeof name, "files/rank-%d/%d.bin", rank, i);
    if (checkpoint_info(ck, name, &t, &err) < 0 || t.dtype != RAYTRAIN_BYTES ||
        t.ndim != 1 || t.shape[0] != size_of(rank, i))
        return -1;
    t.data = got = malloc(t.shape[0] + 1);
    rc = checkpoint_get(ck, name, &t, NULL, &err);
    for (uint64_t at = 0; rc == 0 && at < t.shape[0]; at++)
        rc = got[at] == byte_of(rank, i, at) ? 0 : -1;
    free(got);
    return rc;
}

static int attach_open(struct comm *comm, void *arg)
{
    int writers = *(int *)arg, rc;
    raytrain_checkpoint *ck = NULL;
    struct checkpoint_item item;
    struct error err;
    size_t n = 1;

    rc = checkpoint_open(comm, FILE_NAME, &ck, &err);
    for (int r = 0; rc == 0 && r < writers; r++) {
        for (int i = 0; rc == 0 && i < r; i++, n++)
            rc = attached_compare(ck, r, i);
    }
    if (rc == 0 &&
        (checkpoint_item(ck, n, &item) || !checkpoint_item(ck, n - 1, &item)))
        rc = -1;
    checkpoint_destroy(ck);
    return rc;
}

static void n_ranks_attach_and_m_read(void **state)
{
    static const int ranks[] = {1, 2, 3, 5};
    int model[ROWS] = {1, 2, 3}, rc[THREAD_COMM_MAX];

    (void)state;
    for (int n = 0; n < 4; n++) {
        int writers = ranks[n], handed_over = 0;

        for (int r = 0; r < writers; r++)
            handed_over += r / 2;
        released = 0;
        thread_comm_run(writers, attach_save, model, rc);
        for (int r = 0; r < writers; r++)
            assert_int_equal(rc[r], 0);
        assert_int_equal(released, handed_over);
        for (int m = 0; m < 4; m++) {
            thread_comm_run(ranks[m], attach_open, &writers, rc);
            for (int r = 0; r < ranks[m]; r++)
                assert_int_equal(rc[r], 0);
        }
    }
}

/* ---- Names that clash ---- */

struct clash {
    const char *names[2]; /* of rank 0 and of rank 1; NULL: none */
    const char *tensor;
    const char *says;
};

static int clash_save(struct comm *comm, void *arg)
{
    const struct clash *c = arg;
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    raytrain_tensor t = {.data = &t, .dtype = RAYTRAIN_UINT8, .ndim = 0};
    struct error err = {0};
    int rc = checkpoint_put(ck, c->tensor, &t, NULL, &err);

    if (rc == 0 && c->names[comm->rank])
        rc = checkpoint_attach(ck, c->names[comm->rank], strdup("x"), 1, release,
                               &released, &err);
    if (rc == 0)
        rc = checkpoint_save(ck, comm, &META, FILE_NAME, &err);
    checkpoint_destroy(ck);
    if (rc == 0 || err.code != RAYTRAIN_EINVAL || !strstr(err.text, c->says)) {
        fprintf(stderr, "# %s\n", err.text);
        return -1;
    }
    return 0;
}

static void names_that_clash_are_refused_on_every_rank(void **state)
{
    static const struct clash clashes[] = {
        {{"a", "a"}, "w", "ranks 0 and 1 both attach \"a\""},
        {{"a", "a/b"}, "w", "attached by rank 1: 'files/a/b' cannot be put"},
        {{NULL, "a"}, "files/a", "attached by rank 1: 'files/a' is in this checkpoint"},
        {{NULL, "a"}, "files", "attached by rank 1: 'files/a' cannot be put"},
    };
    int rc[2];

    (void)state;
    for (size_t i = 0; i < sizeof clashes / sizeof *clashes; i++) {
        released = 0;
        thread_comm_run(2, clash_save, (void *)&clashes[i], rc);
        assert_int_equal(rc[0], 0);
        assert_int_equal(rc[1], 0);
        assert_int_equal(released, clashes[i].names[0] ? 2 : 1);
        assert_int_equal(scratch_count("."), 0);
    }
}

static void
bad_names_are_refused_at_once_and_leave_the_memory_to_the_caller(void **state)
{
    static const char *const bad[] = {"",     "/a",  "a/", "../a",
                                      "a//b", "a\n", "x",  "x/y"};
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    char data[1] = {1};
    struct error err;

    (void)state;
    released = 0;
    assert_int_equal(checkpoint_attach(ck, "x", data, 1, NULL, NULL, &err), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(
            checkpoint_attach(ck, bad[i], data, 1, release, &released, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_EINVAL);
    }
    checkpoint_destroy(ck);
    assert_int_equal(released, 0);
}

/* ---- Memory that is handed over ---- */

static void memory_that_is_handed_over_is_not_copied_and_given_back_once(void **state)
{
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    struct comm *self = comm_self_create(NULL);
    int *model = calloc(ROWS, sizeof *model);
    raytrain_tensor t = {
        .data = model, .dtype = RAYTRAIN_INT32, .ndim = 1, .shape = {ROWS}};
    struct checkpoint_save *save;
    struct error err;

    (void)state;
    released = 0;
    assert_int_equal(checkpoint_give(ck, "a", &t, NULL, release, &released, &err), 0);
    assert_int_equal(checkpoint_give(ck, "a", &t, NULL, release, &released, &err), -1);
    assert_int_equal(released, 0);
    assert_int_equal(
        checkpoint_save_begin(ck, self, &META, FILE_NAME, NULL, &save, &err), 0);
    assert_int_equal(checkpoint_save_snapshot_bytes(save, SNAPSHOT_ALL), 0);
    assert_int_equal(checkpoint_save_snapshot(save, SNAPSHOT_ALL, NULL, NULL, &err), 0);
    model[3] = 5; /* it is still this memory that is written */
    assert_int_equal(checkpoint_save_publish(save, self, NULL, &err), 0);
    assert_int_equal(released, 0);
    checkpoint_save_destroy(save);
    checkpoint_destroy(ck);
    assert_int_equal(released, 1);
    assert_int_equal(checkpoint_open(self, FILE_NAME, &ck, &err), 0);
    t.data = calloc(ROWS, sizeof(int));
    assert_int_equal(checkpoint_get(ck, "a", &t, NULL, &err), 0);
    assert_int_equal(((int *)t.data)[3], 5);
    free(t.data);
    checkpoint_destroy(ck);
    comm_free(self);
}

/* ---- Tensors that one rank has ---- */

/* Every rank gives a row and a scalar; between them lies a tensor, and all ranks have
 * slabs of it. `odd`, unless -1: this rank takes itself for the one that gives all. */
static int ones_put(raytrain_checkpoint *ck, const struct comm *comm, int odd, int *row,
                    struct error *err)
{
    raytrain_tensor t = {.dtype = RAYTRAIN_INT32, .ndim = 1, .shape = {ROWS}};
    raytrain_tensor scalar = {.dtype = RAYTRAIN_INT32};
    char name[32];
    int rc = 0;

    for (int r = 0; rc == 0 && r < comm->size; r++) {
        const raytrain_slab part = {{0}, {r == comm->rank ? ROWS : 0}};
        int writer = odd == comm->rank ? odd : r;
        bool mine = writer == comm->rank;

        t.data = scalar.data = mine ? row : NULL;
        snprintf(name, sizeof name, "row-%d", r);
        rc = checkpoint_give_one(ck, name, &t, writer, mine, NULL, NULL, err);
        snprintf(name, sizeof name, "slab-%d", r);
        t.data = row;
        if (rc == 0)
            rc = checkpoint_put(ck, name, &t, &part, err);
        snprintf(name, sizeof name, "scalar-%d", r);
        if (rc == 0)
            rc = checkpoint_give_one(ck, name, &scalar, writer, mine, NULL, NULL, err);
    }
    return rc;
}

struct ones {
    int odd;
    char said[ERROR_TEXT_MAX]; /* by rank 0 */
};

static int ones_save(struct comm *comm, void *arg)
{
    struct ones *ones = arg;
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    int *row = calloc(ROWS, sizeof *row);
    struct error err = {0};
    int rc;

    for (int i = 0; i < ROWS; i++)
        row[i] = 100 * comm->rank + i;
    rc = ones_put(ck, comm, ones->odd, row, &err);
    if (rc == 0)
        rc = checkpoint_save(ck, comm, &META, FILE_NAME, &err);
    if (rc < 0 && comm->rank == 0)
        strcpy(ones->said, err.text);
    checkpoint_destroy(ck);
    free(row);
    return rc;
}

static void ones_compare(raytrain_checkpoint *ck, int r)
{
    static const char *const kinds[] = {"row", "slab", "scalar"};
    struct error err;
    char name[32];

    for (int k = 0; k < 3; k++) {
        int got[ROWS] = {0};
        raytrain_tensor t = {.data = got, .dtype = RAYTRAIN_INT32};

        t.ndim = k < 2;
        t.shape[0] = k < 2 ? ROWS : 0;
        snprintf(name, sizeof name, "%s-%d", kinds[k], r);
        assert_int_equal(checkpoint_get(ck, name, &t, NULL, &err), 0);
        for (int i = 0; i < (k < 2 ? ROWS : 1); i++)
            assert_int_equal(got[i], 100 * r + i);
    }
}

static void tensors_of_single_ranks_are_written_by_them_alone(void **state)
{
    struct comm *self = comm_self_create(NULL);
    struct ones ones = {.odd = -1};
    int rc[5];

    (void)state;
    for (int n = 1; n <= 5; n += 2) {
        raytrain_checkpoint *ck = NULL;
        struct error err;

        thread_comm_run(n, ones_save, &ones, rc);
        for (int r = 0; r < n; r++)
            assert_int_equal(rc[r], 0);
        assert_int_equal(checkpoint_open(self, FILE_NAME, &ck, &err), 0);
        for (int r = 0; r < n; r++)
            ones_compare(ck, r);
        checkpoint_destroy(ck);
    }
    comm_free(self);
}

static void ranks_that_disagree_about_the_rank_that_has_a_tensor_are_refused(void **s)
{
    struct ones ones = {.odd = 2};
    int rc[3];

    (void)s;
    thread_comm_run(3, ones_save, &ones, rc);
    for (int r = 0; r < 3; r++)
        assert_int_equal(rc[r], -1);
    assert_string_equal(ones.said,
                        "rank 0 puts 'row-0' (int32 [8] of rank 0) where rank 2 puts "
                        "'row-0' (int32 [8] of rank 2); all ranks must put the same "
                        "tensors in the same order");
}

/* ---- Slabs that several ranks have ---- */

#define TENSORS 6

/* Ranks 2g and 2g + 1 are replica g: each has one half of every tensor; all have the
 * scalar. Counts what this rank writes. */
static int replicas_save(struct comm *comm, void *arg)
{
    atomic_int *writes = arg;
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    int rows[ROWS], part = comm->rank % 2;
    raytrain_tensor t = {.data = rows + part * ROWS / 2,
                         .dtype = RAYTRAIN_INT32,
                         .ndim = 1,
                         .shape = {ROWS}};
    raytrain_tensor scalar = {.data = rows + 1, .dtype = RAYTRAIN_INT32};
    const raytrain_slab half = {{(uint64_t)part * ROWS / 2}, {ROWS / 2}},
                        all = {{0}, {0}};
    struct error err = {0};
    char name[32];
    int rc = checkpoint_put(ck, "scalar", &scalar, &all, &err);

    for (int i = 0; i < ROWS; i++)
        rows[i] = i;
    for (int k = 0; rc == 0 && k < TENSORS; k++) {
        snprintf(name, sizeof name, "w%d", k);
        rc = checkpoint_put(ck, name, &t, &half, &err);
    }
    if (rc == 0)
        rc = checkpoint_save(ck, comm, &META, FILE_NAME, &err);
    for (int k = 1; k <= TENSORS; k++)
        writes[comm->rank] += !ck->tensors[k].elsewhere;
    checkpoint_destroy(ck);
    return rc;
}

static void equal_slabs_are_stored_once_and_their_ranks_share_the_work(void **state)
{
    atomic_int writes[6] = {0};
    struct comm *self = comm_self_create(NULL);
    raytrain_checkpoint *ck;
    int rc[6], rows[ROWS], scalar = 0;
    raytrain_tensor t = {
        .data = rows, .dtype = RAYTRAIN_INT32, .ndim = 1, .shape = {ROWS}};
    raytrain_tensor s = {.data = &scalar, .dtype = RAYTRAIN_INT32};
    uint64_t n_parts = 0;
    struct error err;

    (void)state;
    thread_comm_run(6, replicas_save, writes, rc);
    for (int r = 0; r < 6; r++) {
        assert_int_equal(rc[r], 0);
        assert_int_equal(writes[r], TENSORS / 3);
    }
    assert_int_equal(checkpoint_open_index(FILE_NAME, &ck, &err), 0);
    for (size_t i = 0; i < ck->n_tensors; i++)
        n_parts += ck->tensors[i].n_parts;
    assert_int_equal(n_parts, 1 + 2 * TENSORS);
    checkpoint_destroy(ck);
    assert_int_equal(checkpoint_open(self, FILE_NAME, &ck, &err), 0);
    assert_int_equal(checkpoint_get(ck, "w3", &t, NULL, &err), 0);
    for (int i = 0; i < ROWS; i++)
        assert_int_equal(rows[i], i);
    assert_int_equal(checkpoint_get(ck, "scalar", &s, NULL, &err), 0);
    assert_int_equal(scalar, 1);
    checkpoint_destroy(ck);
    comm_free(self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(n_ranks_attach_and_m_read),
        SCRATCH(names_that_clash_are_refused_on_every_rank),
        SCRATCH(bad_names_are_refused_at_once_and_leave_the_memory_to_the_caller),
        SCRATCH(memory_that_is_handed_over_is_not_copied_and_given_back_once),
        SCRATCH(tensors_of_single_ranks_are_written_by_them_alone),
        SCRATCH(ranks_that_disagree_about_the_rank_that_has_a_tensor_are_refused),
        SCRATCH(equal_slabs_are_stored_once_and_their_ranks_share_the_work),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
