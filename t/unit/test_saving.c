/* test_saving.c - one rank saves, in the background and synchronously. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/train_config.h"
#include "protocol/events.h"
#include "rank/event.h"
#include "run/journal.h"
#include "run/metrics.h"
#include "saving/saving.h"
#include "saving/snapshot.h"
#include "scratch.h"
#include "util/fs.h"
#include "util/memory.h"

#define LONG 300000

static struct checkpoint_config config;
static struct collective_wait waiting = {.log_dir = ".", .size = 1};
static struct comm *self;
static struct saving *saving;
static int64_t model[LONG];

/* Replaces that of libc: records the file's name, and syncs it. */
static char synced[8][64];
static int n_synced;

int fsync(int fd)
{
    char link[64], path[4096];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    if (n_synced < 8)
        snprintf(synced[n_synced++], sizeof *synced, "%.63s", strrchr(path, '/') + 1);
    return (int)syscall(SYS_fsync, fd);
}

static void saving_start(bool sync, int n_sharing)
{
    struct saving_env env = {.run_dir = ".",
                             .log_dir = ".",
                             .config = &config,
                             .n_sharing = n_sharing,
                             .waiting = &waiting};
    struct error err;

    config.sync = sync;
    self = comm_self_create(NULL);
    assert_int_equal(saving_create(&env, &saving, &err), 0);
}

static void saving_stop(void)
{
    assert_true(saving_linger(saving, 60));
    saving_destroy(saving, true);
    comm_free(self);
}

/* A model that is `value` throughout, and two small tensors. */
static int begin(int64_t value, const char *path, struct error *err)
{
    const struct checkpoint_meta meta = {
        .run_name = "r", .training_iteration = value, .world_size = 1};
    raytrain_tensor t = {
        .data = model, .dtype = RAYTRAIN_INT64, .ndim = 1, .shape = {LONG}};
    raytrain_checkpoint *ck = checkpoint_create(NULL);

    for (int i = 0; i < LONG; i++)
        model[i] = value;
    assert_int_equal(checkpoint_put(ck, "model", &t, NULL, NULL), 0);
    assert_int_equal(checkpoint_put_string(ck, "name", "value", NULL), 0);
    t.shape[0] = 3;
    assert_int_equal(checkpoint_put(ck, "few", &t, NULL, NULL), 0);
    return saving_begin(saving, self, ck, &meta, path, err) < 0
               ? -1
               : saving_take(saving, err);
}

/* Does the checkpoint hold `value` and nothing else? It is verified. */
static void assert_holds(const char *path, int64_t value)
{
    int64_t *back = calloc(LONG, sizeof *back);
    raytrain_tensor t = {
        .data = back, .dtype = RAYTRAIN_INT64, .ndim = 1, .shape = {LONG}};
    raytrain_checkpoint *ck = NULL;
    struct error err;
    char *name;

    assert_int_equal(checkpoint_open(self, path, &ck, &err), 0);
    assert_int_equal(checkpoint_get(ck, "model", &t, NULL, &err), 0);
    for (int i = 0; i < LONG; i++)
        assert_int_equal(back[i], value);
    assert_int_equal(checkpoint_get_string(ck, "name", &name, &err), 0);
    assert_string_equal(name, "value");
    checkpoint_destroy(ck);
    free(name);
    free(back);
}

static void reported_checkpoints_are_saved(void **state)
{
    struct saving_figures figures;
    struct error err;

    (void)state;
    saving_start(false, 1);
    saving_expect(saving, &(struct saving_need){.bytes = sizeof model});
    for (int64_t k = 1; k <= 3; k++) {
        char path[64];

        snprintf(path, sizeof path, "checkpoint_%06d.h5", (int)k);
        assert_int_equal(begin(k, path, &err), 0);
        assert_int_equal(access(path, F_OK), -1); /* not before its line */
        saving_figures(saving, &figures);
        assert_true(figures.bytes > sizeof model && figures.stall_s > 0);
        assert_true(k == 1 ? isnan(figures.write_s) : figures.write_s > 0);
        saving_go(saving);
        saving_go(saving); /* a report without a checkpoint: nothing more to do */
        memset(model, 0x55, sizeof model);
    }
    assert_int_equal(saving_settle(saving, &err), 0);
    assert_int_equal(saving_settle(saving, &err), 0);
    assert_holds("checkpoint_000001.h5", 1);
    assert_holds("checkpoint_000002.h5", 2);
    assert_holds("checkpoint_000003.h5", 3);
    assert_int_equal(scratch_count("."), 3);
    saving_stop();
}

static void reports_are_durable_before_their_checkpoint(void **state)
{
    struct error err;

    (void)state;
    assert_int_equal(journal_create(".", METRICS_JOURNAL, &err), 0);
    for (int sync = 0; sync < 2; sync++) {
        saving_start(sync, 1);
        n_synced = 0;
        assert_int_equal(begin(1, "checkpoint_000001.h5", &err), 0);
        saving_go(saving);
        assert_int_equal(saving_settle(saving, &err), 0);
        assert_true(n_synced >= 3);
        assert_string_equal(synced[0], METRICS_JOURNAL ".0");
        assert_non_null(strstr(synced[1], "checkpoint_000001.h5.tmp-"));
        saving_stop();
    }
}

static void a_refused_checkpoint_leaves_nothing(void **state)
{
    struct error err;

    (void)state;
    saving_start(false, 1);
    assert_int_equal(begin(1, "checkpoint_000001.h5", &err), 0);
    assert_int_equal(begin(2, "checkpoint_000002.h5", &err), 0);
    assert_int_equal(saving_settle(saving, &err), 0);
    assert_int_equal(begin(3, "checkpoint_000003.h5", &err), 0);
    saving_stop();
    assert_int_equal(scratch_count("."), 0);
}

static void a_failure_in_the_background_is_reported_once(void **state)
{
    struct error err = {0};

    (void)state;
    saving_start(false, 1);
    assert_int_equal(begin(1, "absent/checkpoint_000001.h5", &err), 0);
    assert_false(saving_has_failed(saving));
    saving_go(saving);
    assert_true(saving_linger(saving, 60));
    assert_true(saving_has_failed(saving));
    assert_int_equal(begin(2, "checkpoint_000002.h5", &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_false(saving_has_failed(saving));
    assert_int_equal(begin(3, "checkpoint_000003.h5", &err), 0);
    saving_go(saving);
    assert_int_equal(saving_settle(saving, &err), 0);
    assert_holds("checkpoint_000003.h5", 3);
    assert_int_equal(scratch_count("."), 1);
    saving_stop();
}

static atomic_int released;

static void release(void *data, void *arg)
{
    (void)data;
    (void)arg;
    released++;
}

static void memory_is_given_back_once_the_background_has_written_it(void **state)
{
    const struct checkpoint_meta meta = {.training_iteration = 4, .world_size = 1};
    raytrain_tensor t = {
        .data = model, .dtype = RAYTRAIN_INT64, .ndim = 1, .shape = {LONG}};
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    struct error err;

    (void)state;
    saving_start(false, 1);
    released = 0;
    assert_int_equal(checkpoint_give(ck, "model", &t, NULL, release, NULL, &err), 0);
    assert_int_equal(saving_begin(saving, self, ck, &meta, "given.h5", &err), 0);
    assert_int_equal(saving_take(saving, &err), 0);
    assert_int_equal(saving_durable(saving), -1);
    saving_release(saving);
    assert_int_equal(released, 0);
    saving_go(saving);
    assert_true(saving_linger(saving, 60));
    assert_int_equal(released, 0); /* not by the thread */
    assert_int_equal(saving_durable(saving), 4);
    saving_release(saving);
    assert_int_equal(released, 1);
    assert_int_equal(saving_durable(saving), 4);
    assert_int_equal(saving_settle(saving, &err), 0);
    assert_int_equal(released, 1);
    saving_stop();
}

static void a_synchronous_save_is_durable_when_it_returns(void **state)
{
    struct saving_figures figures;
    struct error err = {0};

    (void)state;
    saving_start(true, 1);
    assert_int_equal(begin(1, "checkpoint_000001.h5", &err), 0);
    assert_holds("checkpoint_000001.h5", 1);
    saving_figures(saving, &figures);
    assert_true(figures.write_s > 0 && figures.write_s <= figures.stall_s);
    saving_go(saving);
    assert_int_equal(begin(2, "absent/checkpoint_000002.h5", &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOTFOUND);
    assert_int_equal(saving_settle(saving, &err), 0);
    saving_stop();
}

static void without_memory_for_a_copy_training_waits(void **state)
{
    struct error err;
    char *notes;
    size_t n;

    (void)state;
    assert_int_equal(events_create(".", &err), 0);
    saving_start(false, 1 << 30);
    for (int64_t k = 1; k <= 2; k++) {
        assert_int_equal(begin(k, "checkpoint_000001.h5", &err), 0);
        assert_holds("checkpoint_000001.h5", k);
        saving_go(saving);
    }
    events_finish(".", NULL, NULL);
    assert_int_equal(fs_read(EVENTS_FILE, &notes, &n, NULL), 0);
    assert_non_null(strstr(notes, "training waits while checkpoints are saved"));
    assert_ptr_equal(strchr(notes, '\n'), notes + n - 1); /* reported once */
    free(notes);
    saving_stop();
}

/* What is expected there is prepared nowhere, and the save says so. */
static void memory_that_is_not_there_ahead_is_reported_by_the_save(void **state)
{
    struct error err;
    char *notes;
    size_t n;

    (void)state;
    assert_int_equal(events_create(".", &err), 0);
    saving_start(false, 1 << 30);
    for (uint64_t bytes = 1; bytes < (uint64_t)1 << 40; bytes *= 1000)
        saving_expect(saving, &(struct saving_need){.bytes = bytes});
    assert_int_equal(begin(1, "checkpoint_000001.h5", &err), 0);
    assert_holds("checkpoint_000001.h5", 1);
    events_finish(".", NULL, NULL);
    assert_int_equal(fs_read(EVENTS_FILE, &notes, &n, NULL), 0);
    assert_non_null(strstr(notes, "training waits while checkpoints are saved"));
    assert_ptr_equal(strchr(notes, '\n'), notes + n - 1);
    free(notes);
    saving_stop();
}

static void retention_follows_each_save(void **state)
{
    struct error err;

    (void)state;
    config.num_to_keep = 1;
    saving_start(false, 1);
    config.num_to_keep = 0; /* it has its own copy */
    for (int64_t k = 1; k <= 3; k++) {
        char path[64];

        snprintf(path, sizeof path, "./checkpoint_%06d.h5", (int)k);
        assert_int_equal(begin(k, path, &err), 0);
        saving_go(saving);
    }
    assert_int_equal(saving_settle(saving, &err), 0);
    assert_int_equal(scratch_count("."), 1);
    assert_holds("checkpoint_000003.h5", 3);
    saving_stop();
}

static void children_have_no_copy_of_a_snapshot(void **state)
{
    struct snapshot s = {0};
    struct error err;
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(snapshot_reserve(&s, 1000, 1, &err), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        unsigned char there;

        _exit(mincore(s.data, 1, &there) < 0 && errno == ENOMEM ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    snapshot_clear(&s);
}

#define MIB ((size_t)1 << 20)

static void a_snapshot_grows_where_it_is(void **state)
{
    struct snapshot s = {0};
    struct error err;
    unsigned char *data;

    (void)state;
    assert_int_equal(snapshot_reserve(&s, MIB, 1, &err), 0);
    data = s.data;
    assert_false(snapshot_moves(&s, 9 * MIB));
    assert_int_equal(snapshot_reserve(&s, 9 * MIB, 1, &err), 0);
    assert_ptr_equal(s.data, data);
    memset(s.data, 1, s.room);
    assert_true(s.room >= 9 * MIB);
    assert_true(snapshot_moves(&s, SIZE_MAX / 8));
    snapshot_clear(&s);
}

/* Each growth by itself would fit. */
static void what_is_expected_is_no_more_than_a_share_of_what_was_free(void **state)
{
    int n_sharing = (int)(memory_available() / (8 * MIB));
    struct snapshot s = {0};
    struct error err;
    size_t n = 0;

    (void)state;
    while (n < 64 * MIB && snapshot_may_expect(&s, n + 2 * MIB, n_sharing)) {
        n += 2 * MIB;
        assert_int_equal(snapshot_reserve(&s, n, n_sharing, &err), 0);
    }
    assert_in_range(n, 2 * MIB, 16 * MIB);
    snapshot_clear(&s);
    assert_false(snapshot_may_expect(&s, n + 2 * MIB, n_sharing));
}

static void what_is_pinned_grows_in_few_pieces(void **state)
{
    size_t room = 0;
    int grown = 0;

    (void)state;
    for (uint64_t bytes = 0; bytes < (uint64_t)64 << 30; bytes += 2 * MIB) {
        size_t before = room;

        room = snapshot_growth(before, bytes);
        assert_true(room >= bytes && room - bytes <= 256 * MIB);
        assert_true(room - bytes <= bytes / 16 + 2 * MIB);
        grown += room > before;
    }
    assert_in_range(grown, 100, 400);
}

/* A limit on addresses is for all of the process. */
static void
a_snapshot_takes_no_more_addresses_than_it_needs_if_they_are_limited(void **state)
{
    struct rlimit before, limited;
    struct snapshot s = {0};
    struct error err;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    limited = before;
    limited.rlim_cur = (rlim_t)1 << 46;
    assert_int_equal(setrlimit(RLIMIT_AS, &limited), 0);
    assert_int_equal(snapshot_reserve(&s, MIB, 1, &err), 0);
    assert_true(s.addresses == s.room && snapshot_moves(&s, 9 * MIB));
    assert_int_equal(snapshot_reserve(&s, 9 * MIB, 1, &err), 0);
    memset(s.data, 1, s.room);
    snapshot_clear(&s);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(reported_checkpoints_are_saved),
        SCRATCH(reports_are_durable_before_their_checkpoint),
        SCRATCH(a_refused_checkpoint_leaves_nothing),
        SCRATCH(a_failure_in_the_background_is_reported_once),
        SCRATCH(memory_is_given_back_once_the_background_has_written_it),
        SCRATCH(a_synchronous_save_is_durable_when_it_returns),
        SCRATCH(without_memory_for_a_copy_training_waits),
        SCRATCH(memory_that_is_not_there_ahead_is_reported_by_the_save),
        SCRATCH(retention_follows_each_save),
        cmocka_unit_test(a_snapshot_grows_where_it_is),
        cmocka_unit_test(what_is_pinned_grows_in_few_pieces),
        cmocka_unit_test(what_is_expected_is_no_more_than_a_share_of_what_was_free),
        cmocka_unit_test(
            a_snapshot_takes_no_more_addresses_than_it_needs_if_they_are_limited),
        cmocka_unit_test(children_have_no_copy_of_a_snapshot),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
