/* test_part_reader.c - the tables of a checkpoint stay in its file: a walk visits the chunks that
 * its writers planned, with their hashes, in little memory, and fails if the tables have
 * changed; images whose tables are long. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "checkpoint/checksum.h"
#include "checkpoint/chunks.h"
#include "checkpoint/plan.h"
#include "replica/image_tier.h"
#include "scratch.h"
#include "thread_comm.h"
#include "util/fs.h"

#define FILE_NAME "checkpoint_000001.h5"
#define ID        "0123456789abcdef0123456789abcdef"

static const struct checkpoint_meta META = {.run_name = "walk",
                                            .training_iteration = 1};

/* ---- A checkpoint of several ranks ---- */

#define ROWS 600
#define COLS 1100
#define MANY 100 /* more tensors, so that the tables have several blocks */

static int data[ROWS * COLS];

static void cut(raytrain_slab *slab, int axis, const struct comm *comm)
{
    uint64_t n = slab->count[axis], r = (uint64_t)comm->rank, of = (uint64_t)comm->size;

    slab->start[axis] = n * r / of;
    slab->count[axis] = n * (r + 1) / of - slab->start[axis];
}

/* Sharded by rows and by columns (by parts), replicated, empty, a scalar, a string. */
static int all_put(raytrain_checkpoint *ck, const struct comm *comm)
{
    raytrain_tensor t = {
        .data = data, .dtype = RAYTRAIN_INT32, .ndim = 2, .shape = {ROWS, COLS}};
    raytrain_tensor empty = {
        .data = data, .dtype = RAYTRAIN_INT32, .ndim = 1, .shape = {0}};
    raytrain_tensor scalar = {.data = data, .dtype = RAYTRAIN_INT32};
    raytrain_slab rows = {.count = {ROWS, COLS}}, columns = rows;
    int rc = checkpoint_put(ck, "whole", &t, NULL, NULL);

    cut(&rows, 0, comm);
    cut(&columns, 1, comm);
    rc |= checkpoint_put(ck, "rows", &t, &rows, NULL);
    rc |= checkpoint_put(ck, "empty", &empty, NULL, NULL);
    rc |= checkpoint_put(ck, "columns", &t, &columns, NULL);
    rc |= checkpoint_put(ck, "scalar", &scalar, NULL, NULL);
    rc |= checkpoint_put_string(ck, "string", "hello", NULL);
    for (int i = 0; i < MANY; i++) {
        char name[32];

        snprintf(name, sizeof name, "many/%d", i);
        rc |= checkpoint_put(ck, name, &t, i % 2 ? &columns : &rows, NULL);
        t.shape[1] = columns.count[1] = 20;
        columns.start[1] = 0;
        cut(&columns, 1, comm);
        rows.count[1] = 20;
    }
    return rc;
}

/* The chunks in the memory of rank 0, as they are planned. */
struct planned {
    raytrain_checkpoint *ck;
    struct chunk *chunks;
    size_t n;
};

static void planned_clear(struct planned *planned)
{
    checkpoint_destroy(planned->ck);
    free(planned->chunks);
}

static int chunks_plan(raytrain_checkpoint *ck, struct comm *comm, struct planned *out)
{
    struct plan plan = {0};
    struct chunk_walk walk;
    struct chunk c;
    int rc = plan_make(ck, comm, &plan, NULL);

    if (rc == 0 && comm->rank == 0) {
        out->chunks = calloc(plan.n_hashes, sizeof *out->chunks);
        chunk_walk_plan(&walk, ck, &plan, comm->size);
        while (chunk_walk_next(&walk, &c))
            out->chunks[out->n++] = c;
        rc = chunk_walk_end(&walk, NULL);
    }
    plan_clear(&plan);
    return rc;
}

static int rank_save(struct comm *comm, void *arg)
{
    struct planned *planned = arg;
    raytrain_checkpoint *ck = checkpoint_create(NULL), *again = checkpoint_create(NULL);
    int rc = all_put(ck, comm) | all_put(again, comm);

    if (rc == 0)
        rc = checkpoint_save(ck, comm, &META, FILE_NAME, NULL);
    if (rc == 0)
        rc = chunks_plan(again, comm, planned);
    checkpoint_destroy(ck);
    if (comm->rank == 0)
        planned->ck = again;
    else
        checkpoint_destroy(again);
    return rc;
}

static void save(int size, struct planned *planned)
{
    int rc[THREAD_COMM_MAX];

    for (int i = 0; i < ROWS * COLS; i++)
        data[i] = i % 7919;
    *planned = (struct planned){0};
    thread_comm_run(size, rank_save, planned, rc);
    for (int r = 0; r < size; r++)
        assert_int_equal(rc[r], 0);
}

static raytrain_checkpoint *layout_open(void)
{
    raytrain_checkpoint *ck = NULL;
    struct error err;

    if (checkpoint_open_layout(FILE_NAME, &ck, &err) < 0)
        fail_msg("%s", err.text);
    return ck;
}

static uint64_t hash_in_file(const raytrain_checkpoint *ck, uint64_t i)
{
    uint64_t hash;

    assert_int_equal(
        fs_pread_full(ck->fd, &hash, sizeof hash, ck->head.hashes_at + i * sizeof hash),
        0);
    return hash;
}

static void walk_is_as_planned(const raytrain_checkpoint *ck,
                               const struct planned *planned)
{
    unsigned char *bytes = malloc(ck->head.chunk_bytes);
    struct chunk_walk walk;
    struct chunk c;
    size_t n = 0;

    chunk_walk_restored(&walk, ck);
    for (; chunk_walk_next(&walk, &c); n++) {
        const struct chunk *want = &planned->chunks[n];

        assert_true(n < planned->n);
        assert_int_equal(c.index, n);
        assert_int_equal(c.index, want->index);
        assert_int_equal(c.part, want->part);
        assert_int_equal(c.tensor - ck->tensors, want->tensor - planned->ck->tensors);
        assert_memory_equal(&c.stream, &want->stream, sizeof c.stream);
        assert_int_equal(c.from, want->from);
        assert_int_equal(c.to, want->to);
        assert_int_equal(c.owner, -1);
        assert_int_equal(c.hash, hash_in_file(ck, n));
        assert_int_equal(chunk_read(ck->fd, &c, bytes), 0);
        assert_int_equal(c.hash, XXH3_64bits(bytes, c.to - c.from));
    }
    assert_int_equal(chunk_walk_end(&walk, NULL), 0);
    assert_false(chunk_walk_next(&walk, &c));
    assert_int_equal(n, planned->n);
    free(bytes);
}

static void a_walk_of_the_file_visits_the_planned_chunks(void **state)
{
    static const int SIZES[] = {1, 2, 5, THREAD_COMM_MAX};

    (void)state;
    for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++) {
        raytrain_checkpoint *ck;
        struct planned planned;

        save(SIZES[k], &planned);
        ck = layout_open();
        assert_int_equal(ck->n_parts, 0);
        if (SIZES[k] > 4) /* more than one block of each table */
            assert_true(ck->head.n_shapes > 2 * TABLE_BLOCK);
        walk_is_as_planned(ck, &planned);
        checkpoint_destroy(ck);
        planned_clear(&planned);
    }
}

/* ---- Damage between opening and walking ---- */

static void flip(uint64_t at)
{
    int fd = open(FILE_NAME, O_RDWR);
    unsigned char byte;

    assert_int_equal(fs_pread_full(fd, &byte, 1, at), 0);
    byte ^= 1;
    assert_int_equal(fs_pwrite_full(fd, &byte, 1, at), 0);
    close(fd);
}

/* The walk as a whole: how many chunks; it has to end, and in bounds. */
static int walk_all(const raytrain_checkpoint *ck, uint64_t *n, struct error *err)
{
    struct chunk_walk walk;
    struct chunk c;

    *n = 0;
    chunk_walk_restored(&walk, ck);
    for (; chunk_walk_next(&walk, &c); ++*n)
        assert_true(c.index < ck->head.n_hashes);
    return chunk_walk_end(&walk, err);
}

static void a_walk_fails_if_shapes_have_changed(void **state)
{
    struct planned planned;
    raytrain_checkpoint *ck;
    struct error err;
    uint64_t n;

    (void)state;
    save(5, &planned);
    ck = layout_open();
    for (uint64_t i = 0; i < ck->head.n_shapes * sizeof(uint64_t); i += 9) {
        flip(ck->head.shapes_at + i);
        assert_int_equal(walk_all(ck, &n, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
        assert_true(n < planned.n);
        assert_int_equal(checkpoint_verify(ck, &err), -1);
        assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
        flip(ck->head.shapes_at + i);
    }
    assert_int_equal(walk_all(ck, &n, &err), 0);
    assert_int_equal(n, planned.n);
    checkpoint_destroy(ck);
    planned_clear(&planned);
}

static void a_walk_fails_if_the_file_was_truncated(void **state)
{
    struct planned planned;
    raytrain_checkpoint *ck;
    struct error err;
    uint64_t n;

    (void)state;
    save(5, &planned);
    ck = layout_open();
    assert_int_equal(truncate(FILE_NAME, (off_t)ck->head.hashes_at + 8), 0);
    assert_int_equal(walk_all(ck, &n, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
    assert_int_equal(truncate(FILE_NAME, (off_t)ck->head.shapes_at + 8), 0);
    assert_int_equal(walk_all(ck, &n, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ECORRUPT);
    assert_non_null(strstr(err.text, "truncated"));
    checkpoint_destroy(ck);
    planned_clear(&planned);
}

/* ---- Memory ---- */

#define TENSORS 100
#define PARTS   10000 /* of each, a byte each */

/* What a file of this many parts looks like, without HDF5. */
struct forged {
    struct file_head head;
    uint64_t bytes;
    unsigned char *tables; /* all that follows the head, up to the tensors */
};

static void put(struct forged *f, const void *from, size_t n)
{
    memcpy(f->tables + f->bytes, from, n);
    f->bytes += n;
}

static void number_put(struct forged *f, uint64_t number)
{
    put(f, &number, sizeof number);
}

static void rows_forge(struct forged *f, uint64_t n_parts, uint64_t data_at)
{
    f->head.tensors_at = HEAD_BYTES + f->bytes;
    for (uint64_t i = 0; i < TENSORS; i++) {
        struct tensor_record r = {.dtype = RAYTRAIN_UINT8,
                                  .ndim = 1,
                                  .by_parts = i % 2,
                                  .n_parts = (uint32_t)n_parts,
                                  .offset = data_at + i * n_parts};
        char name[16] = "";

        snprintf(name, sizeof name, "t%d", (int)i);
        put(f, name, sizeof name);
        put(f, &r, sizeof r);
    }
}

static void numbers_forge(struct forged *f, uint64_t n_parts)
{
    f->head.shapes_at = HEAD_BYTES + f->bytes;
    for (uint64_t i = 0; i < TENSORS; i++) {
        number_put(f, n_parts);
        for (uint64_t k = 0; k < n_parts; k++) {
            number_put(f, k);
            number_put(f, 1);
        }
    }
    f->head.hashes_at = HEAD_BYTES + f->bytes;
    for (uint64_t i = 0; i < f->head.n_hashes; i++)
        number_put(f, XXH3_64bits("", 1));
}

static void file_forge(const char *path, uint64_t n_parts)
{
    static const struct report_record report = {.world_size = 1};
    struct forged f = {.bytes = 0};
    uint64_t room = sizeof report + TENSORS * (16 + sizeof(struct tensor_record)) +
                    TENSORS * (1 + 3 * n_parts) * sizeof(uint64_t);
    int fd = open(path, FS_CREATE, 0600);

    f.tables = malloc(room);
    memcpy(f.head.magic, HEAD_MAGIC, sizeof f.head.magic);
    memcpy(f.head.mark, HEAD_COMPLETE, sizeof f.head.mark);
    f.head.version = FORMAT_VERSION;
    f.head.head_bytes = HEAD_BYTES;
    f.head.file_bytes = HEAD_BYTES + room + TENSORS * n_parts;
    f.head.chunk_bytes = CHUNK_BYTES;
    f.head.name_bytes = 16;
    f.head.n_tensors = TENSORS;
    f.head.n_shapes = TENSORS * (1 + 2 * n_parts);
    f.head.n_hashes = TENSORS * n_parts;
    f.head.report_at = HEAD_BYTES;
    put(&f, &report, sizeof report);
    rows_forge(&f, n_parts, HEAD_BYTES + room);
    numbers_forge(&f, n_parts);
    f.head.metadata_hash = XXH3_64bits(f.tables, f.bytes);
    f.head.head_hash = XXH3_64bits(&f.head, offsetof(struct file_head, head_hash));
    assert_int_equal(f.bytes, room);
    assert_int_equal(fs_pwrite_full(fd, &f.head, sizeof f.head, 0), 0);
    assert_int_equal(fs_pwrite_full(fd, f.tables, room, HEAD_BYTES), 0);
    assert_int_equal(ftruncate(fd, (off_t)f.head.file_bytes), 0);
    close(fd);
    free(f.tables);
}

/* An image of it with all chunks, in the directory `base`. */
static void image_forge(const char *base, uint64_t n_parts)
{
    struct held held = {.n_chunks = TENSORS * n_parts};
    struct image_dir dir;
    struct file_head head;
    char *path;
    int fd;

    assert_int_equal(image_dir_enter(base, ID, false, &dir, NULL), 0);
    path = image_path(&dir, 1);
    file_forge(path, n_parts);
    fd = open(path, O_RDONLY);
    assert_int_equal(fs_pread_full(fd, &head, sizeof head, 0), 0);
    close(fd);
    held.bits = malloc(held_bytes(held.n_chunks));
    memset(held.bits, 0xff, held_bytes(held.n_chunks));
    assert_int_equal(held_write(&dir, 1, &head, &held, NULL), 0);
    free(held.bits);
    free(path);
    image_dir_leave(&dir);
}

static int tier_enter(struct comm *comm, const char *base, struct node_map *map,
                      struct image_tier *tier)
{
    *tier = (struct image_tier){.nodes = map};
    if (node_map_make(comm, comm->rank, 0, map, NULL) < 0)
        return -1;
    return image_dir_enter(base, ID, false, &tier->dir, NULL);
}

/* Is all of the image there? */
static int image_survey(const char *base, uint64_t n_parts)
{
    struct comm *self = comm_self_create(NULL);
    struct image_tier tier;
    struct survey survey = {0};
    struct node_map map;
    struct chunk_walk walk;
    struct chunk c;
    struct error err;
    uint64_t n = 0;
    int rc = tier_enter(self, base, &map, &tier);

    if (rc == 0)
        rc = survey_make(self, &tier, 1, true, &survey, &err);
    if (rc == 0) {
        chunk_walk_restored(&walk, survey.index);
        while (chunk_walk_next(&walk, &c))
            n++;
        rc = chunk_walk_end(&walk, NULL);
    }
    rc = rc == 0 && survey.missing == 0 && n == TENSORS * n_parts ? 0 : -1;
    survey_clear(&survey);
    image_dir_leave(&tier.dir);
    node_map_clear(&map);
    comm_free(self);
    return rc;
}

/* The most memory that a process needs for this: KiB. */
static long survey_memory(const char *base, uint64_t n_parts)
{
    pid_t pid = fork();
    struct rusage usage;
    int status;

    if (pid == 0)
        _exit(image_survey(base, n_parts) == 0 ? 0 : 1);
    assert_int_equal(wait4(pid, &status, 0, &usage), pid);
    assert_int_equal(status, 0);
    return usage.ru_maxrss;
}

/* Kept in memory, the parts and hashes of a million parts would take 168 MB, and the tables
 * that they are made of 24 MB. */
static void a_survey_keeps_no_parts(void **state)
{
    long little, much;

    (void)state;
    image_forge("few", 1);
    image_forge("many", PARTS);
    little = survey_memory("few", 1);
    much = survey_memory("many", PARTS);
    print_message("# %ld KiB, %ld KiB\n", little, much);
    assert_true(much - little < 64 << 10);
}

/* Node 1 has nothing: it gets the metadata of node 0; then node 0 publishes. */
static int rank_publish(struct comm *comm, void *arg)
{
    const char *base = comm->rank == 0 ? "long" : "none";
    struct survey survey = {0};
    struct image_tier tier;
    struct node_map map;
    struct error err;
    int rc = tier_enter(comm, base, &map, &tier);

    (void)arg;
    if (rc == 0)
        rc = survey_make(comm, &tier, 1, false, &survey, &err);
    if (rc == 0)
        rc = image_publish(comm, &tier, &survey, "published.h5", &err);
    survey_clear(&survey);
    image_dir_leave(&tier.dir);
    node_map_clear(&map);
    return rc;
}

static void metadata_of_several_blocks_are_copied(void **state)
{
    raytrain_checkpoint *ck = NULL;
    struct error err;
    int rc[2];

    (void)state;
    image_forge("long", PARTS / 10);
    thread_comm_run(2, rank_publish, NULL, rc);
    assert_int_equal(rc[0], 0);
    assert_int_equal(rc[1], 0);
    assert_int_equal(checkpoint_open_index("published.h5", &ck, &err), 0);
    assert_true(ck->tensors[0].offset > HEAD_BYTES + 2 * METADATA_BLOCK);
    assert_int_equal(checkpoint_verify(ck, &err), 0);
    checkpoint_destroy(ck);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(a_walk_of_the_file_visits_the_planned_chunks),
        SCRATCH(a_walk_fails_if_shapes_have_changed),
        SCRATCH(a_walk_fails_if_the_file_was_truncated),
        SCRATCH(a_survey_keeps_no_parts),
        SCRATCH(metadata_of_several_blocks_are_copied),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
