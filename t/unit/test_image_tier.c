#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "replica/image_tier.h"
#include "scratch.h"
#include "thread_comm.h"
#include "util/fs.h"

#define ID_A      "0123456789abcdef0123456789abcdef"
#define ID_B      "fedcba9876543210fedcba9876543210"
#define ITERATION 7

static const struct checkpoint_metric METRICS[] = {{"accuracy", 0.875}};
static const struct checkpoint_meta META = {.run_name = "fashion",
                                            .training_iteration = ITERATION,
                                            .world_size = 4,
                                            .time_total_s = 12.5,
                                            .timestamp = 1700000000,
                                            .metrics = METRICS,
                                            .n_metrics = 1};

/* ---- What is saved ---- */

#define ROWS   517 /* not divisible by any number of ranks here */
#define COLS   1031
#define SMALLS 40

static float value_at(uint64_t i)
{
    return (float)(i * 2654435761u % 100003u);
}

/* This rank's share of n. */
static void share_fill(int rank, int size, uint64_t n, uint64_t *start, uint64_t *count)
{
    *start = n * (uint64_t)rank / (uint64_t)size;
    *count = n * (uint64_t)(rank + 1) / (uint64_t)size - *start;
}

struct model {
    float *whole;   /* replicated, ROWS x COLS */
    float *rows;    /* this rank's rows of the same */
    float *columns; /* its columns */
    raytrain_slab row_slab, column_slab;
    int smalls;
};

static void model_make(struct model *m, int rank, int size)
{
    uint64_t i = 0;

    *m = (struct model){
        .row_slab.count = {0, COLS}, .column_slab.count = {ROWS, 0}, .smalls = SMALLS};
    share_fill(rank, size, ROWS, &m->row_slab.start[0], &m->row_slab.count[0]);
    share_fill(rank, size, COLS, &m->column_slab.start[1], &m->column_slab.count[1]);
    m->whole = calloc(ROWS * COLS, sizeof(float));
    m->columns = calloc(ROWS * COLS, sizeof(float));
    if (!m->whole || !m->columns)
        abort();
    m->rows = m->whole + m->row_slab.start[0] * COLS;
    for (uint64_t r = 0; r < ROWS; r++)
        for (uint64_t c = 0; c < COLS; c++) {
            m->whole[r * COLS + c] = value_at(r * COLS + c);
            if (c >= m->column_slab.start[1] &&
                c < m->column_slab.start[1] + m->column_slab.count[1])
                m->columns[i++] = value_at(r * COLS + c);
        }
}

static void model_free(struct model *m)
{
    free(m->whole);
    free(m->columns);
}

static int model_put(raytrain_checkpoint *ck, const struct model *m, struct error *err)
{
    raytrain_tensor t = {.dtype = RAYTRAIN_FLOAT32, .ndim = 2, .shape = {ROWS, COLS}};
    raytrain_tensor small = {.dtype = RAYTRAIN_FLOAT32, .ndim = 1, .shape = {3}};
    int rc;

    t.data = m->whole;
    rc = checkpoint_put(ck, "model/whole", &t, NULL, err);
    t.data = m->rows;
    rc |= checkpoint_put(ck, "model/rows", &t, &m->row_slab, err);
    t.data = m->columns;
    rc |= checkpoint_put(ck, "model/columns", &t, &m->column_slab, err);
    for (int i = 0; i < m->smalls; i++) {
        char name[32];

        snprintf(name, sizeof name, "small/%d", i);
        small.data = m->whole + i;
        rc |= checkpoint_put(ck, name, &small, NULL, err);
    }
    small.shape[0] = 0;
    rc |= checkpoint_put(ck, "empty", &small, NULL, err);
    rc |= checkpoint_put_string(ck, "note", "hello", err);
    return rc;
}

/* Each rank checks all of it again. */
static int model_check(raytrain_checkpoint *ck, const struct model *m)
{
    raytrain_tensor t = {.dtype = RAYTRAIN_FLOAT32, .ndim = 2, .shape = {ROWS, COLS}};
    float *got = calloc(ROWS * COLS, sizeof(float));
    static const char *const names[] = {"model/whole", "model/rows", "model/columns"};
    int rc = got ? 0 : -1;

    t.data = got;
    for (int i = 0; rc == 0 && i < 3; i++) {
        memset(got, 0, ROWS * COLS * sizeof(float));
        rc = checkpoint_get(ck, names[i], &t, NULL, NULL);
        if (rc == 0 && memcmp(got, m->whole, ROWS * COLS * sizeof(float)) != 0)
            rc = -1;
    }
    free(got);
    return rc;
}

/* ---- A table that cannot be read ---- */

/* On this rank: which read of the table of shapes fails, from 1 on; 0: none. */
static _Thread_local int read_fails;
static uint64_t shapes_at;

/* In place of libc's. */
ssize_t pread(int fd, void *to, size_t n, off_t offset)
{
    if (read_fails > 0 && (uint64_t)offset == shapes_at && --read_fails == 0) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, fd, to, n, offset);
}

/* ---- Ranks on nodes ---- */

struct scene {
    const char *layout; /* the node of each rank: "0011"; its images are in nodeK */
    const char *id;
    bool copies;
    uint64_t (*available)(void);
    /* What to do: */
    bool save, assemble, publish, move;
    bool believing;           /* a survey without verification */
    bool spoil;               /* after it, the last rank's image gets other tables */
    int fails_on, read_fails; /* on this rank */
    int smalls;               /* tensors; 0: SMALLS */
    /* The result, on rank 0: */
    int rc;
    struct error err;
    uint64_t missing;
};

static int tier_open(struct comm *comm, const struct scene *scene, struct node_map *map,
                     struct image_tier *tier, struct error *err)
{
    int node = 0, local = 0;
    char base[16];

    for (int r = 0; r < comm->rank; r++) {
        local += scene->layout[r] == scene->layout[comm->rank];
        /* Nodes are numbered as they appear; the digits name the directories of their
         * images. */
        if (strchr(scene->layout, scene->layout[r]) == scene->layout + r &&
            strchr(scene->layout, scene->layout[comm->rank]) > scene->layout + r)
            node++;
    }
    snprintf(base, sizeof base, "node%c", scene->layout[comm->rank]);
    *tier = (struct image_tier){
        .nodes = map, .copies = scene->copies, .available = scene->available};
    if (node_map_make(comm, node, local, map, err) < 0)
        return -1;
    return image_dir_enter(base, scene->id, false, &tier->dir, err);
}

static int scene_save(struct comm *comm, const struct image_tier *tier,
                      const struct model *m, struct error *err)
{
    raytrain_checkpoint *ck = checkpoint_create(err);
    struct checkpoint_save *save = NULL;
    unsigned char *snapshot = NULL;
    int rc = model_put(ck, m, err);

    if (rc == 0)
        rc = checkpoint_save_begin(ck, comm, &META, "nowhere", NULL, &save, err);
    if (rc == 0 &&
        (snapshot = malloc(checkpoint_save_snapshot_bytes(save, SNAPSHOT_ALL) + 1)))
        rc = checkpoint_save_snapshot(save, SNAPSHOT_ALL, snapshot, NULL, err);
    if (rc == 0)
        rc = image_write(save, comm, tier, ITERATION, err);
    checkpoint_save_destroy(save);
    free(snapshot);
    checkpoint_destroy(ck);
    return rc;
}

static int scene_assemble(struct comm *comm, const struct image_tier *tier,
                          const struct survey *survey, const struct model *m,
                          struct error *err)
{
    raytrain_checkpoint *ck = NULL;
    char *path = image_path(&tier->dir, ITERATION);
    int rc = image_assemble(comm, tier, ITERATION, survey, err);

    if (rc == 0)
        rc = checkpoint_open(comm, path, &ck, err);
    if (rc == 0 && model_check(ck, m) < 0)
        rc = error_set(err, RAYTRAIN_EFAILED, "something else came back");
    rc = comm_agree(comm, rc, err);
    checkpoint_destroy(ck);
    free(path);
    return rc;
}

/* Flip a bit of the table of shapes. */
static int tables_spoil(const struct survey *survey, const struct image_tier *tier,
                        struct error *err)
{
    uint64_t at = survey->head.shapes_at + 16;
    int fd = image_open(&tier->dir, ITERATION, err), rc = -1;
    unsigned char byte;

    if (fd >= 0 && fs_pread_full(fd, &byte, 1, at) == 0) {
        byte ^= 1;
        rc = fs_pwrite_full(fd, &byte, 1, at);
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

static int scene_rank(struct comm *comm, void *arg)
{
    struct scene *scene = arg;
    struct image_tier tier;
    struct node_map map;
    struct survey survey = {0};
    struct error err = {0};
    struct model m;
    int rc = tier_open(comm, scene, &map, &tier, &err);

    if (comm_agree(comm, rc, &err) < 0)
        goto out;
    model_make(&m, comm->rank, comm->size);
    m.smalls = scene->smalls ? scene->smalls : SMALLS;
    read_fails = comm->rank == scene->fails_on ? scene->read_fails : 0;
    if (scene->save)
        rc = scene_save(comm, &tier, &m, &err);
    if (rc == 0 && (scene->assemble || scene->publish))
        rc = survey_make(comm, &tier, ITERATION, scene->assemble && !scene->believing,
                         &survey, &err);
    if (rc == 0 && survey.missing)
        rc = error_set(&err, RAYTRAIN_ENOTFOUND, "chunks are missing");
    if (rc == 0 && scene->spoil && comm->rank == comm->size - 1)
        rc = tables_spoil(&survey, &tier, &err);
    rc = comm_agree(comm, rc, &err);
    if (rc == 0 && scene->publish)
        rc = image_publish(comm, &tier, &survey, "published.h5", &err);
    if (rc == 0 && scene->move)
        rc = image_flush(comm, &tier, ITERATION, "published.h5", &err);
    if (rc == 0 && scene->assemble)
        rc = scene_assemble(comm, &tier, &survey, &m, &err);
    read_fails = 0;
    model_free(&m);
out:
    if (comm->rank == 0) {
        scene->rc = rc;
        scene->err = err;
        scene->missing = survey.missing;
    }
    survey_clear(&survey);
    image_dir_leave(&tier.dir);
    node_map_clear(&map);
    return rc;
}

static int scene_run(struct scene *scene)
{
    int rc[THREAD_COMM_MAX];

    if (!scene->id)
        scene->id = ID_A;
    thread_comm_run((int)strlen(scene->layout), scene_rank, scene, rc);
    for (size_t r = 1; r < strlen(scene->layout); r++)
        assert_int_equal(rc[r], rc[0]);
    return scene->rc;
}

static void expect(struct scene scene, int rc)
{
    if (scene_run(&scene) != rc)
        fail_msg("layout %s: %d, not %d: %s", scene.layout, scene.rc, rc,
                 scene.err.text);
}

/* The same checkpoint, saved straight to storage by a group of ranks. */
static int rank_save_plain(struct comm *comm, void *arg)
{
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    struct error err;
    struct model m;
    int rc;

    (void)arg;
    model_make(&m, comm->rank, comm->size);
    rc = model_put(ck, &m, &err);
    if (rc == 0)
        rc = checkpoint_save(ck, comm, &META, "plain.h5", &err);
    checkpoint_destroy(ck);
    model_free(&m);
    return rc;
}

/* The published file is complete and verified, and contains the model. */
static int rank_check_published(struct comm *comm, void *arg)
{
    raytrain_checkpoint *ck = NULL;
    struct error err;
    struct model m;
    int rc;

    (void)arg;
    model_make(&m, comm->rank, comm->size);
    rc = checkpoint_open(comm, "published.h5", &ck, &err);
    if (rc == 0)
        rc = model_check(ck, &m);
    checkpoint_destroy(ck);
    model_free(&m);
    return rc;
}

static void expect_published(void)
{
    int rc;

    thread_comm_run(1, rank_check_published, NULL, &rc);
    assert_int_equal(rc, 0);
}

static void expect_same_file(const char *a, const char *b)
{
    char *x = NULL, *y = NULL;
    size_t n, k;

    assert_int_equal(fs_read(a, &x, &n, NULL), 0);
    assert_int_equal(fs_read(b, &y, &k, NULL), 0);
    assert_int_equal(n, k);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

static void node_path(char *path, size_t n, char node, const char *name)
{
    snprintf(path, n, "node%c/raytrain-%ld-" ID_A "/%s", node, (long)geteuid(), name);
}

static void node_lose(char node)
{
    char base[16];

    snprintf(base, sizeof base, "node%c", node);
    assert_int_equal(fs_remove_tree(base, NULL), 0);
}

/* Flip a byte of a node's file. */
static void node_damage(char node, const char *name, off_t at)
{
    char path[256], byte;
    int fd;

    node_path(path, sizeof path, node, name);
    fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* ---- Tests ---- */

static void any_layout_to_any_other(void **state)
{
    static const char *const layouts[] = {"0",   "00",   "01",    "0011", "0001",
                                          "011", "0122", "00112", "0123"};
    size_t n = sizeof layouts / sizeof *layouts;

    (void)state;
    for (size_t i = 0; i < n; i++) {
        for (char k = '0'; k <= '3'; k++)
            node_lose(k);
        expect((struct scene){.layout = layouts[i], .copies = true, .save = true}, 0);
        /* Nodes that were not there before have nothing; those of "0123" have
         * everything else. */
        expect((struct scene){.layout = "0123", .copies = true, .assemble = true}, 0);
        expect((struct scene){.layout = "3012", .copies = true, .publish = true}, 0);
        expect_published();
    }
}

static void one_lost_node_loses_nothing(void **state)
{
    static const struct {
        const char *before, *after;
        char lost;
    } cases[] = {{"0011", "00", '1'},   {"0011", "1", '0'},   {"0122", "011", '2'},
                 {"0122", "2200", '1'}, {"0123", "321", '0'}, {"0001", "1", '0'}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (char k = '0'; k <= '3'; k++)
            node_lose(k);
        expect((struct scene){.layout = cases[i].before, .copies = true, .save = true},
               0);
        node_lose(cases[i].lost);
        expect(
            (struct scene){.layout = cases[i].after, .copies = true, .assemble = true},
            0);
    }
}

static void two_lost_neighbours_lose_the_checkpoint(void **state)
{
    struct scene after = {.layout = "23", .copies = true, .assemble = true};

    (void)state;
    expect((struct scene){.layout = "0123", .copies = true, .save = true}, 0);
    node_lose('0');
    node_lose('1');
    assert_int_equal(scene_run(&after), -1);
    assert_true(after.missing > 0);
}

static void without_copies_each_node_counts(void **state)
{
    struct scene after = {.layout = "0", .assemble = true};

    (void)state;
    expect((struct scene){.layout = "0011", .save = true}, 0);
    expect((struct scene){.layout = "10", .publish = true}, 0);
    node_lose('1');
    assert_int_equal(scene_run(&after), -1);
    assert_true(after.missing > 0);
}

/* Except for HDF5's times, which are of the second in which the file was laid out. */
static void a_published_image_equals_a_saved_checkpoint(void **state)
{
    struct stat plain, published;

    (void)state;
    thread_comm_run(4, rank_save_plain, NULL, NULL);
    expect((struct scene){.layout = "0011", .save = true, .publish = true}, 0);
    assert_int_equal(stat("plain.h5", &plain), 0);
    assert_int_equal(stat("published.h5", &published), 0);
    assert_int_equal(plain.st_size, published.st_size);
    expect_published();
    /* By other ranks, one of which has nothing; byte for byte. */
    assert_int_equal(rename("published.h5", "first.h5"), 0);
    expect((struct scene){.layout = "210", .publish = true}, 0);
    expect_same_file("first.h5", "published.h5");
    assert_int_equal(scratch_count("."),
                     6); /* three files, three nodes: no temporary files */
}

static void a_damaged_chunk_comes_from_the_copy(void **state)
{
    struct scene after = {.layout = "01", .assemble = true};

    (void)state;
    expect((struct scene){.layout = "01", .copies = true, .save = true}, 0);
    node_damage('0', "checkpoint_000007.h5", 2000000);
    expect((struct scene){.layout = "01", .copies = true, .assemble = true}, 0);
    node_damage('0', "checkpoint_000007.h5", 2000000);
    node_damage('1', "checkpoint_000007.h5", 2000000);
    assert_int_equal(scene_run(&after), -1);
    assert_int_equal(after.missing, 1);
}

static void a_damaged_chunk_is_moved_from_its_copy(void **state)
{
    struct scene move = {.layout = "01", .copies = true, .move = true};

    (void)state;
    expect((struct scene){.layout = "01", .copies = true, .save = true}, 0);
    node_damage('0', "checkpoint_000007.h5", 2000000);
    expect(move, 0);
    expect_published();
    assert_int_equal(unlink("published.h5"), 0);
    node_damage('1', "checkpoint_000007.h5", 2000000);
    assert_int_equal(scene_run(&move), -1);
    assert_int_equal(move.err.code, RAYTRAIN_ECORRUPT);
    assert_int_equal(access("published.h5", F_OK), -1);
}

/* A node that cannot look is not a node that has nothing. */
static void an_unreadable_image_is_an_error_and_stays(void **state)
{
    struct scene move = {.layout = "01", .move = true};
    char list[256], aside[256];

    (void)state;
    expect((struct scene){.layout = "01", .save = true}, 0);
    node_path(list, sizeof list, '1', "checkpoint_000007.held");
    node_path(aside, sizeof aside, '1', "aside");
    assert_int_equal(rename(list, aside), 0);
    assert_int_equal(symlink("checkpoint_000007.held", list), 0); /* ELOOP */
    assert_int_equal(scene_run(&move), -1);
    assert_int_equal(move.err.code, RAYTRAIN_ESTORAGE);
    assert_int_equal(rename(aside, list), 0);
    expect(move, 0);
    expect_published();
}

static void later_images_survive_a_clean_up(void **state)
{
    static const int64_t saved[] = {3, 7, 12};
    struct image_dir dir;
    struct file_head head = {.file_bytes = 4096};
    struct held held = {.bits = (unsigned char[]){0}};
    int64_t left[4];
    char path[256];

    (void)state;
    assert_int_equal(image_dir_enter("node0", ID_A, false, &dir, NULL), 0);
    for (size_t i = 0; i < 3; i++) {
        close(image_create(&dir, saved[i], 4096, NULL));
        assert_int_equal(held_write(&dir, saved[i], &head, &held, NULL), 0);
    }
    node_path(path, sizeof path, '0', ".left.tmp-1-2");
    assert_int_equal(fs_write_atomic(path, "", 0, 0600, NULL), 0);
    image_tidy(&dir, 7);
    assert_int_equal(image_list(&dir, left, 4), 1);
    assert_int_equal(left[0], 12);
    assert_int_equal(scratch_count(dir.path), 2);
    image_dir_leave(&dir);
}

/* Damage that is found only when chunks are read for the others. */
static void a_reader_that_fails_spoils_no_image(void **state)
{
    struct scene after = {
        .layout = "012", .copies = true, .assemble = true, .believing = true};
    char path[256], *before, *now;
    size_t n, k;

    (void)state;
    expect((struct scene){.layout = "012", .copies = true, .save = true}, 0);
    for (off_t at = 100000; at < 6000000; at += 500000)
        node_damage('0', "checkpoint_000007.h5", at);
    node_path(path, sizeof path, '1', "checkpoint_000007.h5");
    assert_int_equal(fs_read(path, &before, &n, NULL), 0);
    assert_int_equal(scene_run(&after), -1);
    assert_int_equal(after.err.code, RAYTRAIN_ECORRUPT);
    assert_int_equal(fs_read(path, &now, &k, NULL), 0);
    assert_int_equal(n, k);
    for (size_t i = 0; i < n; i++)
        if (before[i] && now[i] != before[i])
            fail_msg("byte %zu of what node 1 had has changed", i);
    free(before);
    free(now);
}

static void metadata_of_several_blocks_reach_every_image(void **state)
{
    struct extent *extents = NULL;
    raytrain_checkpoint *ck = NULL;
    struct error err;
    uint64_t bytes;
    size_t n = 0;

    (void)state;
    expect(
        (struct scene){.layout = "0122", .copies = true, .save = true, .smalls = 6000},
        0);
    for (char k = '0'; k <= '2'; k++) {
        char path[256];

        bytes = 0;
        node_path(path, sizeof path, k, "checkpoint_000007.h5");
        if (checkpoint_open_index(path, &ck, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(metadata_extents(ck, ck->head.file_bytes, &extents, &n, &err),
                         0);
        for (size_t i = 0; i < n; i++)
            bytes += extents[i].end - extents[i].start;
        assert_true(bytes > METADATA_BLOCK);
        free(extents);
        checkpoint_destroy(ck);
    }
    expect((struct scene){.layout = "0122", .copies = true, .publish = true}, 0);
    expect_published();
}

/* The walk through the chunks fails on one rank: all end, and nothing is published. */
static void tables_that_change_after_the_survey_are_noticed(void **state)
{
    static const char *const layouts[] = {"0", "01", "10", "0122"};

    (void)state;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        struct scene after = {.layout = layouts[i], .copies = true, .spoil = true};

        for (int publish = 0; publish <= 1; publish++) {
            expect((struct scene){.layout = "0122", .copies = true, .save = true}, 0);
            after.publish = publish;
            after.assemble = !publish;
            if (strlen(layouts[i]) == 1)
                expect(
                    (struct scene){.layout = "0122", .copies = true, .assemble = true},
                    0);
            assert_int_equal(scene_run(&after), -1);
            assert_int_equal(after.err.code, RAYTRAIN_ECORRUPT);
            assert_non_null(
                strstr(after.err.text, "its tables are not what they were"));
            assert_int_equal(access("published.h5", F_OK), -1);
        }
    }
}

static void shapes_find(void)
{
    struct file_head head;
    char path[256];
    int fd;

    node_path(path, sizeof path, '0', "checkpoint_000007.h5");
    fd = open(path, O_RDONLY);
    assert_int_equal(fs_pread_full(fd, &head, sizeof head, 0), 0);
    close(fd);
    shapes_at = head.shapes_at;
}

/* If any read of it fails, on any rank, all ranks get the error. There are
 * at least this many reads: to open it, and for each walk. */
static void expect_failures(struct scene scene, int reads)
{
    int n = 1;

    for (;; n++) {
        expect((struct scene){.layout = "0122", .copies = true, .save = true}, 0);
        shapes_find();
        scene.read_fails = n;
        if (scene_run(&scene) == 0)
            break;
        assert_int_equal(scene.err.code, RAYTRAIN_ESTORAGE);
        assert_int_equal(access("published.h5", F_OK), -1);
    }
    assert_true(n > reads);
}

static void all_ranks_fail_if_one_cannot_read_a_table(void **state)
{
    (void)state;
    for (int rank = 0; rank < 4; rank++) {
        struct scene scene = {.layout = "0122", .copies = true, .fails_on = rank};

        scene.assemble =
            true; /* survey; the room, by the leader of a node; the batches */
        expect_failures(scene, rank < 3 ? 4 : 3);
        scene.assemble = false;
        scene.publish = true; /* survey; the pages, by rank 0; copies; what is sent */
        expect_failures(scene, rank == 0 ? 5 : 4);
        assert_int_equal(unlink("published.h5"), 0);
    }
}

static int rank_node_gap(struct comm *comm, void *arg)
{
    struct node_map map;
    struct error err;

    (void)arg;
    return node_map_make(comm, comm->rank < 2 ? 0 : 2, comm->rank % 2, &map, &err);
}

static void a_node_without_ranks_does_not_count(void **state)
{
    int rc[4];

    (void)state;
    thread_comm_run(4, rank_node_gap, NULL, rc);
    for (int r = 0; r < 4; r++)
        assert_int_equal(rc[r], -1);
}

static void damage_is_not_published(void **state)
{
    struct scene after = {.layout = "01", .publish = true};

    (void)state;
    expect((struct scene){.layout = "01", .save = true}, 0);
    node_damage('0', "checkpoint_000007.h5", 2000000);
    node_damage('1', "checkpoint_000007.h5", 2000000);
    assert_int_equal(scene_run(&after), -1);
    assert_int_equal(after.err.code, RAYTRAIN_ECORRUPT);
    assert_int_equal(access("published.h5", F_OK), -1);
    assert_int_equal(scratch_count("."), 2);
}

static void a_damaged_head_or_list_counts_as_missing(void **state)
{
    static const char *const files[] = {"checkpoint_000007.h5",
                                        "checkpoint_000007.held"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct scene alone = {.layout = "0", .assemble = true};

        expect((struct scene){.layout = "01", .copies = true, .save = true}, 0);
        node_damage('0', files[i], 50);
        assert_int_equal(scene_run(&alone), -1);
        assert_int_equal(alone.err.code, RAYTRAIN_ENOTFOUND);
        expect((struct scene){.layout = "01", .copies = true, .assemble = true}, 0);
        /* And now it has one again. */
        expect((struct scene){.layout = "0", .copies = true, .assemble = true}, 0);
    }
}

static void every_byte_of_the_list_counts(void **state)
{
    struct scene alone = {.layout = "0", .assemble = true};
    char path[256], *data;
    size_t n;

    (void)state;
    expect((struct scene){.layout = "0", .save = true}, 0);
    node_path(path, sizeof path, '0', "checkpoint_000007.held");
    assert_int_equal(fs_read(path, &data, &n, NULL), 0);
    for (size_t at = 0; at < n; at++) {
        node_damage('0', "checkpoint_000007.held", (off_t)at);
        assert_int_equal(scene_run(&alone), -1);
        node_damage('0', "checkpoint_000007.held", (off_t)at);
    }
    for (size_t length = 0; length < n; length++) {
        assert_int_equal(fs_write_atomic(path, data, length, 0600, NULL), 0);
        assert_int_equal(scene_run(&alone), -1);
    }
    assert_int_equal(fs_write_atomic(path, data, n, 0600, NULL), 0);
    expect(alone, 0);
    free(data);
}

static void an_image_without_a_list_is_not_complete(void **state)
{
    struct scene alone = {.layout = "0", .assemble = true};
    char path[256];

    (void)state;
    expect((struct scene){.layout = "0", .save = true}, 0);
    node_path(path, sizeof path, '0', "checkpoint_000007.held");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(scene_run(&alone), -1);
    assert_int_equal(alone.err.code, RAYTRAIN_ENOTFOUND);
}

static void images_of_other_runs_are_ignored(void **state)
{
    struct scene other = {.layout = "0", .id = ID_B, .assemble = true};
    char from[256], to[256];

    (void)state;
    expect((struct scene){.layout = "0", .save = true}, 0);
    assert_int_equal(scene_run(&other), -1);
    assert_int_equal(other.err.code, RAYTRAIN_ENOTFOUND);
    /* Not even if its files are moved there. */
    snprintf(from, sizeof from, "node0/raytrain-%ld-" ID_A, (long)geteuid());
    snprintf(to, sizeof to, "node0/raytrain-%ld-" ID_B, (long)geteuid());
    assert_int_equal(fs_remove_tree(to, NULL), 0);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(scene_run(&other), -1);
    assert_int_equal(other.err.code, RAYTRAIN_ENOTFOUND);
}

static uint64_t little(void)
{
    return 4u << 20;
}

static void what_does_not_fit_is_refused_with_numbers(void **state)
{
    struct scene scene = {
        .layout = "01", .copies = true, .available = little, .save = true};

    (void)state;
    assert_int_equal(scene_run(&scene), -1);
    assert_int_equal(scene.err.code, RAYTRAIN_EFIT);
    assert_non_null(strstr(scene.err.text, "6.1M"));
    assert_non_null(strstr(scene.err.text, "4M left"));
}

static uint64_t enough_for_some(void)
{
    return 5u << 20;
}

static void what_does_not_fit_is_not_assembled(void **state)
{
    struct scene after = {.layout = "0123",
                          .copies = true,
                          .available = enough_for_some,
                          .assemble = true};

    (void)state;
    expect((struct scene){.layout = "0123", .copies = true, .save = true}, 0);
    expect(after, 0); /* every node has a half */
    expect((struct scene){.layout = "0123", .copies = true, .save = true}, 0);
    after.layout = "4123"; /* one has nothing */
    assert_int_equal(scene_run(&after), -1);
    assert_int_equal(after.err.code, RAYTRAIN_EFIT);
}

struct shared_dirs {
    const char *bases[3]; /* of each node's two ranks */
    char text[ERROR_TEXT_MAX];
};

static int rank_dirs_check(struct comm *comm, void *arg)
{
    struct shared_dirs *dirs = arg;
    struct image_tier tier = {0};
    struct node_map map;
    struct error err = {0};
    int rc = node_map_make(comm, comm->rank / 2, comm->rank % 2, &map, &err);

    tier.nodes = &map;
    if (rc == 0)
        rc = image_dir_enter(dirs->bases[comm->rank / 2], ID_A, false, &tier.dir, &err);
    if (rc == 0)
        rc = image_dirs_check(comm, &tier, &err);
    if (comm->rank == 0)
        strcpy(dirs->text, err.text);
    image_dir_leave(&tier.dir);
    node_map_clear(&map);
    return rc == 0 ? 0 : err.code;
}

static void nodes_that_share_a_directory_are_refused(void **state)
{
    struct shared_dirs apart = {.bases = {"one", "two", "three"}};
    struct shared_dirs shared = {.bases = {"one", "two", "two"}};
    char *path;
    int rc[THREAD_COMM_MAX];

    (void)state;
    thread_comm_run(6, rank_dirs_check, &apart, rc);
    for (int r = 0; r < 6; r++)
        assert_int_equal(rc[r], 0);
    thread_comm_run(6, rank_dirs_check, &shared, rc);
    for (int r = 0; r < 6; r++)
        assert_int_equal(rc[r], RAYTRAIN_EINVAL);
    assert_non_null(strstr(shared.text, "share the directory"));
    path = image_dir_path("two", ID_A);
    assert_int_equal(scratch_count(path), 0);
    free(path);
}

static void directories_of_others_are_refused(void **state)
{
    struct image_dir dir;
    struct error err;
    char path[128];

    (void)state;
    snprintf(path, sizeof path, "base/raytrain-%ld-" ID_A, (long)geteuid());
    assert_int_equal(mkdir("base", 0755), 0);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(image_dir_enter("base", ID_A, false, &dir, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ESTORAGE);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkdir("elsewhere", 0700), 0);
    assert_int_equal(symlink("../elsewhere", path), 0);
    assert_int_equal(image_dir_enter("base", ID_A, false, &dir, &err), -1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(image_dir_enter("base", "../../x", false, &dir, &err), -1);
    assert_int_equal(image_dir_enter("base", ID_A, false, &dir, &err), 0);
    image_dir_leave(&dir);
    assert_int_equal(image_dir_remove("base", ID_A, &err), 0);
    assert_int_equal(scratch_count("base"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(any_layout_to_any_other),
        SCRATCH(one_lost_node_loses_nothing),
        SCRATCH(two_lost_neighbours_lose_the_checkpoint),
        SCRATCH(without_copies_each_node_counts),
        SCRATCH(a_published_image_equals_a_saved_checkpoint),
        SCRATCH(a_damaged_chunk_comes_from_the_copy),
        SCRATCH(a_damaged_chunk_is_moved_from_its_copy),
        SCRATCH(an_unreadable_image_is_an_error_and_stays),
        SCRATCH(later_images_survive_a_clean_up),
        SCRATCH(a_reader_that_fails_spoils_no_image),
        SCRATCH(metadata_of_several_blocks_reach_every_image),
        SCRATCH(tables_that_change_after_the_survey_are_noticed),
        SCRATCH(all_ranks_fail_if_one_cannot_read_a_table),
        SCRATCH(a_node_without_ranks_does_not_count),
        SCRATCH(damage_is_not_published),
        SCRATCH(a_damaged_head_or_list_counts_as_missing),
        SCRATCH(every_byte_of_the_list_counts),
        SCRATCH(an_image_without_a_list_is_not_complete),
        SCRATCH(images_of_other_runs_are_ignored),
        SCRATCH(what_does_not_fit_is_refused_with_numbers),
        SCRATCH(what_does_not_fit_is_not_assembled),
        SCRATCH(directories_of_others_are_refused),
        SCRATCH(nodes_that_share_a_directory_are_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
