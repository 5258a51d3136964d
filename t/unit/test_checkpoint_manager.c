#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include "checkpoint/file_format.h"
#include "run/checkpoint_manager.h"
#include "run/run_dir.h"
#include "scratch.h"
#include "thread_comm.h"
#include "util/fs.h"

/* Scores of entries 1, 2, 3 ...; NAN is NaN, NONE is a missing score. */
#define NONE 12345.0

static void retention_keeps_best_and_newest(void **state)
{
    static const struct {
        int keep;
        bool by_score, min;
        size_t n;
        double score[6];
        const char *kept; /* one letter each: k or - */
    } rows[] = {
        {0, false, false, 3, {0}, "kkk"},
        {1, false, false, 3, {0}, "--k"},
        {2, false, false, 4, {0}, "--kk"},
        {5, false, false, 2, {0}, "kk"},
        {2, false, false, 0, {0}, ""},
        {1, true, false, 3, {3, 9, 5}, "-kk"}, /* the best, and the newest */
        {1, true, false, 3, {3, 5, 9}, "--k"},
        {2, true, false, 4, {9, 1, 8, 2}, "k-kk"},
        {2, true, true, 4, {9, 1, 8, 2}, "-k-k"},
        {1, true, false, 3, {7, 7, 7}, "--k"}, /* ties: the newer */
        {1, true, false, 4, {7, 7, 1, 2}, "-k-k"},
        {1, true, false, 3, {NAN, 1, NAN}, "-kk"}, /* NaN is lowest, either order */
        {1, true, true, 3, {NAN, 1, NAN}, "-kk"},
        {2, true, false, 4, {NONE, 1, NAN, 2}, "-k-k"},
        {3, true, false, 4, {NONE, 1, NAN, 2}, "-kkk"},
        {2, true, false, 4, {NONE, NONE, NONE, NONE}, "--kk"},
        {1, true, false, 2, {-INFINITY, NAN}, "kk"},
        {1, true, true, 3, {NONE, 5, NONE}, "-kk"},
        {1, true, true, 4, {3, 3, INFINITY, 9}, "-k-k"}, /* ties: the newer */
        {1, true, true, 3, {-INFINITY, 1, 2}, "k-k"},
        {2, true, false, 5, {NONE, NAN, NONE, NAN, NONE}, "---kk"}, /* all lowest */
        {3, true, false, 6, {1, 9, 9, 2, 9, 0}, "-kk-kk"},          /* K + 1 */
        {1, true, false, 1, {NAN}, "k"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct checkpoint_config cfg = {.num_to_keep = rows[i].keep,
                                        .checkpoint_score_attribute =
                                            rows[i].by_score ? (char *)"s" : NULL,
                                        .checkpoint_score_min = rows[i].min};
        struct checkpoint_entry entries[6];
        bool drop[6] = {true, true, true, true, true, true};
        char kept[7] = "";

        for (size_t k = 0; k < rows[i].n; k++)
            entries[k] = (struct checkpoint_entry){(int64_t)k + 1, rows[i].score[k],
                                                   rows[i].score[k] != NONE};
        checkpoint_retention(entries, rows[i].n, &cfg, drop);
        for (size_t k = 0; k < rows[i].n; k++)
            kept[k] = drop[k] ? '-' : 'k';
        assert_string_equal(kept, rows[i].kept);
    }
}

static void save(int iteration, double score)
{
    struct checkpoint_metric metric = {"acc", score};
    struct checkpoint_meta meta = {.run_name = "r",
                                   .training_iteration = iteration,
                                   .world_size = 1,
                                   .metrics = &metric,
                                   .n_metrics = 1};
    struct comm *self = comm_self_create(NULL);
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    char *path = run_dir_checkpoint(".", iteration);
    struct error err;

    assert_int_equal(checkpoint_put_string(ck, "s", "value", &err), 0);
    assert_int_equal(checkpoint_save(ck, self, &meta, path, &err), 0);
    checkpoint_destroy(ck);
    comm_free(self);
    free(path);
}

static void touch(const char *name)
{
    assert_int_equal(fs_write_atomic(name, "x", 1, 0600, NULL), 0);
}

static void list_takes_final_names_only(void **state)
{
    int64_t *iterations;
    struct error err;
    size_t n;

    (void)state;
    assert_int_equal(checkpoint_manager_list(".", &iterations, &n, &err), 0);
    assert_int_equal(n, 0);
    free(iterations);
    touch("checkpoint_000010.h5");
    touch("checkpoint_000009.h5");
    touch("checkpoint_1234567.h5");
    touch("checkpoint_11.h5");
    touch("checkpoint_0000012.h5");
    touch("checkpoint_-00012.h5");
    touch("checkpoint_000013.h5.bak");
    touch("checkpoint_99999999999999999999.h5");
    touch(".checkpoint_000014.h5.tmp-1-00000000");
    assert_int_equal(checkpoint_manager_list(".", &iterations, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_int_equal(iterations[0], 9);
    assert_int_equal(iterations[1], 10);
    assert_int_equal(iterations[2], 1234567);
    free(iterations);
    assert_int_equal(checkpoint_manager_list("absent", &iterations, &n, &err), -1);
}

/* ---- Falling back ---- */

static void note_collect(void *arg, const char *text)
{
    char *all = arg;

    strncat(all, text, 4000 - strlen(all));
    strcat(all, "\n");
}

struct latest {
    char notes[4096];
    int64_t iteration[THREAD_COMM_MAX];
};

/* 0: opened one; else the status code. */
static int latest_find(struct comm *comm, void *arg)
{
    struct latest *l = arg;
    raytrain_checkpoint *ck = NULL;
    struct error err = {0};
    int rc = checkpoint_manager_latest(comm, ".", note_collect, l->notes, &ck, &err);

    l->iteration[comm->rank] = ck ? checkpoint_meta(ck)->training_iteration : -1;
    checkpoint_destroy(ck);
    return rc < 0 ? (int)err.code : 0;
}

static void damage(const char *path, off_t offset)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char c;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &c, 1, offset), 1);
    c ^= 1;
    assert_int_equal(pwrite(fd, &c, 1, offset), 1);
    close(fd);
}

/* Rank 1 has a directory of its own, whose checkpoint is damaged, like a node with an
 * outdated cache. */
static int latest_find_elsewhere(struct comm *comm, void *arg)
{
    if (comm->rank == 1 && (unshare(CLONE_FS) < 0 || chdir("other") < 0))
        return -1;
    return latest_find(comm, arg);
}

static void damage_that_rank_0_does_not_see_is_ignored(void **state)
{
    struct latest l = {0};
    int rc[3];

    (void)state;
    assert_int_equal(mkdir("other", 0700), 0);
    for (int i = 1; i <= 2; i++) {
        save(i, 0);
        assert_int_equal(system(i == 1 ? "cp checkpoint_000001.h5 other"
                                       : "cp checkpoint_000002.h5 other"),
                         0);
    }
    assert_int_equal(truncate("other/checkpoint_000002.h5", 4500), 0);
    thread_comm_run(3, latest_find_elsewhere, &l, rc);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(rc[r], 0);
        assert_int_equal(l.iteration[r], 1);
    }
    assert_int_equal(access("checkpoint_000002.h5", F_OK), 0);
    assert_int_equal(access("checkpoint_000002.h5.damaged", F_OK), -1);
    assert_non_null(strstr(l.notes, "passed over"));
    assert_null(strstr(l.notes, "set aside"));
}

static void a_damaged_newest_falls_back_to_the_next(void **state)
{
    struct latest l = {0};
    int rc[3];

    (void)state;
    thread_comm_run(3, latest_find, &l, rc);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(rc[r], 0);
        assert_int_equal(l.iteration[r], -1);
    }
    save(1, 0);
    save(2, 0);
    save(3, 0);
    thread_comm_run(3, latest_find, &l, rc);
    assert_int_equal(l.iteration[2], 3);
    assert_string_equal(l.notes, "");
    damage("checkpoint_000003.h5", 5000);
    assert_int_equal(truncate("checkpoint_000002.h5", 4500), 0);
    thread_comm_run(3, latest_find, &l, rc);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(rc[r], 0);
        assert_int_equal(l.iteration[r], 1);
    }
    assert_non_null(strstr(l.notes, "checkpoint_000003.h5"));
    assert_non_null(strstr(l.notes, "checkpoint_000002.h5: the file is truncated"));
    assert_non_null(strstr(l.notes, "is now ./checkpoint_000003.h5.damaged\n"));
    assert_int_equal(access("checkpoint_000003.h5", F_OK), -1);
    assert_int_equal(access("checkpoint_000002.h5.damaged", F_OK), 0);
    l.notes[0] = '\0';
    thread_comm_run(3, latest_find, &l, rc);
    assert_int_equal(l.iteration[0], 1);
    assert_string_equal(l.notes, ""); /* reported once, not at every start */
    damage("checkpoint_000001.h5", 100);
    thread_comm_run(3, latest_find, &l, rc);
    for (int r = 0; r < 3; r++) {
        assert_int_equal(rc[r], RAYTRAIN_ECORRUPT);
        assert_int_equal(l.iteration[r], -1);
    }
    assert_int_equal(scratch_count("."), 3); /* nothing was deleted, */
    assert_int_equal(access("checkpoint_000001.h5", F_OK),
                     0); /* none: not a fresh run */
}

static void a_damaged_file_gets_a_free_name(void **state)
{
    static const char *const names[] = {"ck.damaged", "ck.damaged.2", "ck.damaged.3"};
    struct error err;
    char *aside;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        touch("ck");
        assert_int_equal(checkpoint_set_aside("ck", &aside, &err), 0);
        assert_string_equal(aside, names[i]);
        free(aside);
    }
    assert_int_equal(scratch_count("."), 3);
    assert_int_equal(checkpoint_set_aside("absent", &aside, &err), -1);
    assert_null(aside);
}

/* A file of a newer version is not damaged: the raytrain that wrote it can read it. */
static void a_newer_version_keeps_its_name(void **state)
{
    static const uint32_t version = FORMAT_VERSION + 1;
    struct file_head head;
    struct latest l = {0};
    int fd, rc[1];

    (void)state;
    save(1, 0);
    save(2, 0);
    fd = open("checkpoint_000002.h5", O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, &head, sizeof head, 0), sizeof head);
    head.version = version;
    head.head_hash = XXH3_64bits(&head, offsetof(struct file_head, head_hash));
    assert_int_equal(pwrite(fd, &head, sizeof head, 0), sizeof head);
    close(fd);
    thread_comm_run(1, latest_find, &l, rc);
    assert_int_equal(rc[0], 0);
    assert_int_equal(l.iteration[0], 1);
    assert_non_null(strstr(l.notes, "passed over"));
    assert_int_equal(access("checkpoint_000002.h5", F_OK), 0);
}

/* ---- Pruning ---- */

static bool is_there(int iteration)
{
    char *path = run_dir_checkpoint(".", iteration);
    bool there = access(path, F_OK) == 0;

    free(path);
    return there;
}

static void prune_keeps_best_and_newest(void **state)
{
    struct checkpoint_config cfg = {.num_to_keep = 1,
                                    .checkpoint_score_attribute = (char *)"acc"};
    char *own, notes[4096] = "";
    struct error err;

    (void)state;
    for (int i = 1; i <= 4; i++)
        save(i, i == 2 ? 0.9 : 0.1 * i);
    touch(".checkpoint_000003.h5.tmp-1-00000000");
    touch(".checkpoint_000003.h5.tmp-x");
    touch(".result.h5.tmp-1-00000000");
    own = fs_temp_name("checkpoint_000005.h5");
    touch(own);
    touch("checkpoint_000003.h5.orig");
    touch("checkpoint_000005.h5.damaged");
    assert_int_equal(checkpoint_manager_prune(".", &cfg, note_collect, notes, &err), 0);
    assert_false(is_there(1));
    assert_true(is_there(2));
    assert_false(is_there(3));
    assert_true(is_there(4));
    assert_int_equal(access(".checkpoint_000003.h5.tmp-1-00000000", F_OK), -1);
    assert_int_equal(access(".checkpoint_000003.h5.tmp-x", F_OK), 0);
    assert_int_equal(access(".result.h5.tmp-1-00000000", F_OK), 0);
    assert_int_equal(access(own, F_OK), 0);
    free(own);
    assert_int_equal(access("checkpoint_000003.h5.orig", F_OK), 0);
    assert_int_equal(access("checkpoint_000005.h5.damaged", F_OK), 0);
    assert_string_equal(notes, "");
    cfg.num_to_keep = 0;
    assert_int_equal(checkpoint_manager_prune(".", &cfg, NULL, NULL, &err), 0);
    assert_true(is_there(2));
}

static void directory_with_file(const char *dir)
{
    char *path;

    assert_int_equal(mkdir(dir, 0700), 0);
    assert_true(asprintf(&path, "%s/file", dir) > 0);
    touch(path);
    free(path);
}

static void extracted_files_go_with_their_checkpoint(void **state)
{
    const char *named = "{\"bytes\": 1, \"directory\": \"epoch=1\"}",
               *plain = "{\"bytes\": 1}";
    struct checkpoint_config cfg = {.num_to_keep = 1};
    struct error err;

    (void)state;
    for (int i = 1; i <= 2; i++)
        save(i, 0.5);
    assert_int_equal(fs_write_atomic(".checkpoint_000001.extracted", named,
                                     strlen(named), 0600, NULL),
                     0);
    assert_int_equal(fs_write_atomic(".checkpoint_000002.extracted", plain,
                                     strlen(plain), 0600, NULL),
                     0);
    directory_with_file("epoch=1");
    directory_with_file("checkpoint_000001"); /* that has the name epoch=1 */
    directory_with_file("checkpoint_000002");
    directory_with_file("checkpoint_000007"); /* without a record: another program's */
    assert_int_equal(checkpoint_manager_prune(".", &cfg, NULL, NULL, &err), 0);
    assert_false(is_there(1));
    assert_int_equal(access("epoch=1", F_OK), -1);
    assert_int_equal(access("checkpoint_000001/file", F_OK), 0);
    assert_int_equal(access(".checkpoint_000001.extracted", F_OK), -1);
    assert_int_equal(access("checkpoint_000002/file", F_OK), 0);
    assert_int_equal(access("checkpoint_000007/file", F_OK), 0);
    assert_int_equal(unlink("checkpoint_000002.h5"), 0);
    checkpoint_manager_tidy(".", NULL, NULL);
    assert_int_equal(access("checkpoint_000002", F_OK), -1);
    assert_int_equal(access(".checkpoint_000002.extracted", F_OK), -1);
}

/* A record of the file, as _extracted.py writes it. */
static void record_of(const char *file, const char *directory, const char *record)
{
    struct stat st;
    char *text;

    assert_int_equal(stat(file, &st), 0);
    assert_true(asprintf(&text,
                         "{\"bytes\": %lld, \"mtime_ns\": %lld, \"directory\": \"%s\"}",
                         (long long)st.st_size,
                         (long long)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec,
                         directory) > 0);
    assert_int_equal(fs_write_atomic(record, text, strlen(text), 0600, NULL), 0);
    free(text);
}

static void files_of_a_damaged_checkpoint_stay(void **state)
{
    char *aside;
    struct error err;

    (void)state;
    save(1, 0.5);
    record_of("checkpoint_000001.h5", "epoch=1", ".checkpoint_000001.extracted");
    directory_with_file("epoch=1");
    assert_int_equal(checkpoint_set_aside("./checkpoint_000001.h5", &aside, &err), 0);
    checkpoint_manager_tidy(".", NULL, NULL);
    assert_int_equal(access("epoch=1/file", F_OK), 0);
    /* Another checkpoint of this name has gone by now. */
    save(1, 0.25);
    record_of("checkpoint_000001.h5", "epoch=1", ".checkpoint_000001.extracted");
    assert_int_equal(unlink("checkpoint_000001.h5"), 0);
    checkpoint_manager_tidy(".", NULL, NULL);
    assert_int_equal(access("epoch=1", F_OK), -1);
    assert_int_equal(access(aside, F_OK), 0);
    free(aside);
}

static void
a_directory_that_two_records_name_is_of_the_checkpoint_that_is_left(void **state)
{
    (void)state;
    for (int i = 1; i <= 2; i++)
        save(i, 0.5);
    record_of("checkpoint_000001.h5", "model", ".checkpoint_000001.extracted");
    record_of("checkpoint_000002.h5", "model", ".checkpoint_000002.extracted");
    directory_with_file("model");
    assert_int_equal(unlink("checkpoint_000001.h5"), 0);
    checkpoint_manager_tidy(".", NULL, NULL);
    assert_int_equal(access("model/file", F_OK), 0);
    assert_int_equal(access(".checkpoint_000001.extracted", F_OK), -1);
    assert_int_equal(access(".checkpoint_000002.extracted", F_OK), 0);
    assert_int_equal(unlink("checkpoint_000002.h5"), 0);
    checkpoint_manager_tidy(".", NULL, NULL);
    assert_int_equal(access("model", F_OK), -1);
    assert_int_equal(access(".checkpoint_000002.extracted", F_OK), -1);
}

static void without_a_readable_record_nothing_is_removed(void **state)
{
    const char *torn = "{\"bytes\": 1, \"dire";

    (void)state;
    directory_with_file("checkpoint_000001");
    directory_with_file("checkpoint_000002");
    touch(".checkpoint_000001.extracted");
    assert_int_equal(
        fs_write_atomic(".checkpoint_000002.extracted", torn, strlen(torn), 0600, NULL),
        0);
    checkpoint_manager_tidy(".", NULL, NULL);
    assert_int_equal(access("checkpoint_000001/file", F_OK), 0);
    assert_int_equal(access("checkpoint_000002/file", F_OK), 0);
}

static void a_record_cannot_name_what_else_a_run_has(void **state)
{
    static const char *const names[] = {"logs",       "data",      "checkpoint_000007",
                                        "../logs",    "result.h5", "result.old",
                                        "events.out", "notes"};

    (void)state;
    touch("result.h5");
    touch("notes");
    directory_with_file("result.old");
    directory_with_file("events.out");
    directory_with_file("logs");
    directory_with_file("data");
    directory_with_file("checkpoint_000007");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        save(1, 0.5);
        record_of("checkpoint_000001.h5", names[i], ".checkpoint_000001.extracted");
        assert_int_equal(unlink("checkpoint_000001.h5"), 0);
        checkpoint_manager_tidy(".", NULL, NULL);
    }
    assert_int_equal(access("logs/file", F_OK), 0);
    assert_int_equal(access("data/file", F_OK), 0);
    assert_int_equal(access("checkpoint_000007/file", F_OK), 0);
    assert_int_equal(access("result.h5", F_OK), 0);
    assert_int_equal(access("result.old/file", F_OK), 0);
    assert_int_equal(access("events.out/file", F_OK), 0);
    assert_int_equal(access("notes", F_OK), 0); /* not a directory */
}

static void best_and_latest_are_found(void **state)
{
    struct checkpoint_config cfg = {.checkpoint_score_attribute = (char *)"acc"};
    struct error err;
    char *best, *latest;

    (void)state;
    assert_int_equal(checkpoint_manager_best(".", &cfg, &best, &latest, &err), 0);
    assert_null(best);
    assert_null(latest);
    save(1, 0.5);
    save(2, 0.75);
    save(3, NAN);
    save(4, 0.9);
    assert_int_equal(truncate("checkpoint_000004.h5", 4500), 0);
    assert_int_equal(checkpoint_manager_best(".", &cfg, &best, &latest, &err), 0);
    assert_string_equal(best, "./checkpoint_000002.h5");
    assert_string_equal(latest, "./checkpoint_000003.h5");
    free(best);
    free(latest);
    cfg.checkpoint_score_min = true;
    assert_int_equal(checkpoint_manager_best(".", &cfg, &best, &latest, &err), 0);
    assert_string_equal(best, "./checkpoint_000001.h5");
    free(best);
    free(latest);
    cfg.checkpoint_score_attribute = NULL;
    assert_int_equal(checkpoint_manager_best(".", &cfg, &best, &latest, &err), 0);
    assert_string_equal(best, "./checkpoint_000003.h5");
    free(best);
    free(latest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(retention_keeps_best_and_newest),
        SCRATCH(list_takes_final_names_only),
        SCRATCH(a_damaged_newest_falls_back_to_the_next),
        SCRATCH(damage_that_rank_0_does_not_see_is_ignored),
        SCRATCH(prune_keeps_best_and_newest),
        SCRATCH(extracted_files_go_with_their_checkpoint),
        SCRATCH(a_directory_that_two_records_name_is_of_the_checkpoint_that_is_left),
        SCRATCH(without_a_readable_record_nothing_is_removed),
        SCRATCH(files_of_a_damaged_checkpoint_stay),
        SCRATCH(a_record_cannot_name_what_else_a_run_has),
        SCRATCH(best_and_latest_are_found),
        SCRATCH(a_damaged_file_gets_a_free_name),
        SCRATCH(a_newer_version_keeps_its_name),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
