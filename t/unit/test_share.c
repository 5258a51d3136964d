/*
 * test_share.c - the ranks of a node, as processes: what one has expanded all can read,
 * also when that one is gone; what one cannot open fails on all.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <hdf5.h>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "data/dataset.h"
#include "table/reader.h"
#include "table/table_share.h"
#include "util/fs.h"

#include "idx_file.h"

#define RANKS 3
#define ROWS  3000

/* ---- A communicator over sockets: rank 0 in the middle ---- */

struct star {
    struct comm base;
    int fds[RANKS]; /* rank 0: one to each; others: [0] to rank 0 */
};

static int star_send(int fd, const void *data, size_t n)
{
    return fs_write_full(fd, data, n);
}

static int star_receive(int fd, void *data, size_t n)
{
    return recv(fd, data, n, MSG_WAITALL) == (ssize_t)n ? 0 : -1;
}

/* The root's bytes go to rank 0, and from there to all, the root included. */
static int star_bcast(struct comm *c, void *buf, size_t n, int root, struct error *err)
{
    struct star *s = (struct star *)c;
    int rc = 0;

    if (root != 0 && c->rank == root)
        rc |= star_send(s->fds[0], buf, n);
    if (root != 0 && c->rank == 0)
        rc |= star_receive(s->fds[root], buf, n);
    for (int r = 1; c->rank == 0 && r < c->size; r++)
        rc |= star_send(s->fds[r], buf, n);
    if (c->rank != 0)
        rc |= star_receive(s->fds[0], buf, n);
    return rc < 0 ? error_set(err, RAYTRAIN_ECOMM, "lost") : 0;
}

static int star_allreduce(struct comm *c, void *buf, size_t n, enum comm_type type,
                          enum comm_op op, struct error *err)
{
    struct star *s = (struct star *)c;
    int64_t *least = buf, theirs;

    if (n != 1 || type != COMM_INT64 || op != COMM_MIN)
        return error_set(err, RAYTRAIN_ENOTSUP, "not in this test");
    if (c->rank != 0 && star_send(s->fds[0], buf, sizeof *least) < 0)
        return error_set(err, RAYTRAIN_ECOMM, "lost");
    for (int r = 1; c->rank == 0 && r < c->size; r++) {
        if (star_receive(s->fds[r], &theirs, sizeof theirs) < 0)
            return error_set(err, RAYTRAIN_ECOMM, "lost");
        *least = theirs < *least ? theirs : *least;
    }
    return star_bcast(c, buf, sizeof *least, 0, err);
}

static const struct comm_ops STAR_OPS = {
    .name = "star", .allreduce = star_allreduce, .bcast = star_bcast};

/* ---- Ranks ---- */

/* What a rank does; its exit status. 0 is good. */
typedef int (*rank_func)(struct comm *node);

static pid_t rank_start(rank_func func, int rank, int pairs[RANKS][2])
{
    pid_t pid = fork();

    if (pid == 0) {
        struct star s = {.base = {.ops = &STAR_OPS, .rank = rank, .size = RANKS}};

        alarm(60); /* a rank that waits forever is a failure, not a hang */
        s.fds[0] = pairs[rank][1];
        for (int r = 1; rank == 0 && r < RANKS; r++)
            s.fds[r] = pairs[r][0];
        for (int r = 0; r < RANKS; r++)
            close(pairs[r][rank == 0]);
        _exit(func(&s.base));
    }
    return pid;
}

static void ranks_run(rank_func func, const int expected[RANKS])
{
    int pairs[RANKS][2], status, got[RANKS];
    pid_t pids[RANKS];

    for (int r = 0; r < RANKS; r++)
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[r]), 0);
    for (int r = 0; r < RANKS; r++)
        assert_true((pids[r] = rank_start(func, r, pairs)) > 0);
    for (int r = 0; r < RANKS; r++) {
        close(pairs[r][0]);
        close(pairs[r][1]);
    }
    for (int r = 0; r < RANKS; r++) {
        assert_int_equal(waitpid(pids[r], &status, 0), pids[r]);
        got[r] = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(got[r], expected[r]);
}

static const int GOOD[RANKS] = {0};

static void files_make(void)
{
    static struct bytes b;

    idx_numbers(&b, ROWS);
    bytes_write(&b, "plain");
    bytes_gzip(&b);
    bytes_write(&b, "packed-images-idx1");
    idx_labels(&b, ROWS);
    bytes_gzip(&b);
    bytes_write(&b, "packed-labels-idx1-ubyte");
}

static int rank_open(struct comm *node, const char *path, raytrain_dataset **ds,
                     struct error *err)
{
    struct dataset_config cfg = {
        .name = (char *)"train", .path = (char *)path, .shuffle = true};
    struct dataset_env env = {.rank = node->rank, .size = node->size, .node = node};

    return dataset_open(&cfg, &env, ds, err);
}

/* The sum of this rank's rows of an epoch; -1 on an error. */
static int64_t rank_sum(raytrain_dataset *ds)
{
    struct error err;
    uint64_t rows;
    int64_t sum = 0;
    raytrain_tensor x, y;
    int rc;

    if (dataset_set_batch_size(ds, 64, &err) < 0)
        return -1;
    while ((rc = dataset_next(ds, &rows, &err)) == 0) {
        bool labels = dataset_column(ds, "y", &y, &err) == 0;

        if (dataset_column(ds, "x", &x, &err) < 0)
            return -1;
        for (uint64_t i = 0; i < rows; i++) {
            int32_t row = ((int32_t *)x.data)[i];

            sum += row;
            if (labels && ((unsigned char *)y.data)[i] != row % 251)
                return -1;
        }
    }
    return rc == 1 ? sum : -1;
}

/* All ranks' rows together are the first `rows`: their sum, by way of rank 0. */
static int sums_agree_on(struct comm *node, int64_t sum, int64_t rows)
{
    struct star *s = (struct star *)node;
    int64_t theirs, total = sum;

    if (sum < 0)
        return 10;
    if (node->rank != 0)
        return star_send(s->fds[0], &sum, sizeof sum) < 0 ? 11 : 0;
    for (int r = 1; r < node->size; r++) {
        if (star_receive(s->fds[r], &theirs, sizeof theirs) < 0)
            return 12;
        total += theirs;
    }
    return total == rows * (rows - 1) / 2 ? 0 : 13;
}

static int sums_agree(struct comm *node, int64_t sum)
{
    return sums_agree_on(node, sum, ROWS);
}

/* ---- Tests ---- */

static int read_packed(struct comm *node)
{
    raytrain_dataset *ds;
    struct error err;
    int64_t sum;

    if (rank_open(node, "packed-images-idx1", &ds, &err) < 0)
        return 1;
    sum = rank_sum(ds);
    dataset_close(ds);
    return sums_agree(node, sum);
}

static int read_plain(struct comm *node)
{
    raytrain_dataset *ds;
    struct error err;
    int64_t sum;

    if (rank_open(node, "plain", &ds, &err) < 0)
        return 1;
    sum = rank_sum(ds);
    dataset_close(ds);
    return sums_agree(node, sum);
}

/* Its rows are in many files, some of them compressed, some empty. */
static int read_many(struct comm *node)
{
    raytrain_dataset *ds;
    struct error err;
    int64_t sum;

    if (rank_open(node, "many-*", &ds, &err) < 0)
        return 1;
    sum = rank_sum(ds);
    dataset_close(ds);
    return sums_agree(node, sum);
}

static void ranks_read_many_files(void **state)
{
    static struct bytes b;
    uint32_t first = 0;
    char path[32];

    (void)state;
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t rows = i % 3 ? 15 : 0;

        snprintf(path, sizeof path, "many-%03u", i);
        idx_header(&b, 0x0c, 1, &rows);
        for (uint32_t k = 0; k < rows; k++)
            bytes_u32(&b, first++);
        if (i % 4 == 0)
            bytes_gzip(&b);
        bytes_write(&b, path);
    }
    assert_int_equal(first, ROWS);
    ranks_run(read_many, GOOD);
}

/* Compressed chunks, in several files: some of the rows, or all of them. */
static int read_chunks_as(struct comm *node, const struct dataset_config *cfg,
                          int64_t rows)
{
    struct dataset_env env = {.rank = node->rank, .size = node->size, .node = node};
    raytrain_dataset *ds;
    struct error err;
    int64_t sum;

    if (dataset_open(cfg, &env, &ds, &err) < 0)
        return 1;
    sum = rank_sum(ds);
    if (sums_agree_on(node, sum, rows) == 0)
        sum = rank_sum(ds); /* again, unpacked in part */
    dataset_close(ds);
    return sums_agree_on(node, sum, rows);
}

static int read_chunks(struct comm *node)
{
    struct dataset_config cfg = {.name = (char *)"train",
                                 .path = (char *)"chunks-*.h5"};
    int rc = read_chunks_as(node, &cfg, ROWS);

    cfg.shuffle = true;
    cfg.shuffle_window = 500;
    if (rc == 0)
        rc = read_chunks_as(node, &cfg, ROWS);
    cfg.filter = (struct filter_config){
        .column = (char *)"x", .has_max = true, .max = ROWS / 2 - 1};
    if (rc == 0)
        rc = read_chunks_as(node, &cfg, ROWS / 2);
    cfg.limit = 100;
    return rc == 0 ? read_chunks_as(node, &cfg, 100) : rc;
}

static void ranks_read_compressed_chunks(void **state)
{
    enum { FILES = 3, EACH = ROWS / FILES };
    static int32_t values[EACH];
    hsize_t rows = EACH, chunk = 70;
    hid_t space = H5Screate_simple(1, &rows, NULL);
    hid_t plist = H5Pcreate(H5P_DATASET_CREATE);
    char path[32];

    (void)state;
    H5Pset_chunk(plist, 1, &chunk);
    H5Pset_deflate(plist, 1);
    for (int i = 0; i < FILES; i++) {
        hid_t file, d;

        for (int k = 0; k < EACH; k++)
            values[k] = i * EACH + k;
        snprintf(path, sizeof path, "chunks-%d.h5", i);
        file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        d = H5Dcreate2(file, "x", H5T_STD_I32LE, space, H5P_DEFAULT, plist,
                       H5P_DEFAULT);
        assert_true(
            H5Dwrite(d, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
        H5Dclose(d);
        assert_true(H5Fclose(file) >= 0);
    }
    H5Sclose(space);
    H5Pclose(plist);
    ranks_run(read_chunks, GOOD);
}

/* As nodes that see different files: rank 2 sees another order of the same rows, or
 * one more file. */
static int compare_files(struct comm *all)
{
    static const char *const T[][2] = {
        {"d/[ab]", "d/[ab]"}, {"d/[ab]", "d/[bc]"}, {"d/[ab]", "d/*"}};
    struct dataset_env env = {.size = 1};
    struct error err;

    for (size_t i = 0; i < sizeof T / sizeof *T; i++) {
        struct dataset_config cfg = {.name = (char *)"train",
                                     .path = (char *)T[i][all->rank == 2]};
        raytrain_dataset *ds;
        int rc;

        if (dataset_open(&cfg, &env, &ds, &err) < 0)
            return 1;
        rc = dataset_compare(ds, all, &err);
        dataset_close(ds);
        if (rc != (i ? -1 : 0))
            return 2;
        if (rc < 0 && (err.code != RAYTRAIN_ESTORAGE ||
                       !strstr(err.text, "\"train\": the nodes see different files")))
            return 3;
    }
    return 0;
}

static void nodes_that_see_different_files_are_found(void **state)
{
    static struct bytes b;

    (void)state;
    assert_int_equal(mkdir("d", 0700), 0);
    idx_numbers(&b, 10);
    bytes_write(&b, "d/a");
    bytes_write(&b, "d/b");
    bytes_write(&b, "d/c");
    ranks_run(compare_files, GOOD);
}

static void ranks_read_one_expansion(void **state)
{
    (void)state;
    files_make();
    ranks_run(read_packed, GOOD);
    ranks_run(read_plain, GOOD);
}

/* It is the same memory, not a copy; and a rank cannot change it under the others. */
static int compare_inodes(struct comm *node)
{
    struct dataset_config cfg = {.name = (char *)"d",
                                 .path = (char *)"packed-images-idx1"};
    struct table t = {0};
    struct error err;
    uint64_t first;
    struct stat st;
    int rc =
        node->rank == 0
            ? reader_open(&(struct reader_job){.config = &cfg, .size = 1}, &t, &err)
            : 0;

    if (table_share(&t, rc, node, &err) < 0 || t.n_columns != 2 || t.rows != ROWS)
        return 1;
    if (fstat(t.sources[0].fd, &st) < 0)
        return 2;
    first = st.st_ino;
    if (node->ops->bcast(node, &first, sizeof first, 0, &err) < 0 || first != st.st_ino)
        return 3;
    if (!t.sources[0].map || ftruncate(t.sources[0].fd, 1) == 0 ||
        pwrite(t.sources[0].fd, "x", 1, 0) == 1 ||
        !(fcntl(t.sources[0].fd, F_GETFD) & FD_CLOEXEC))
        return 4;
    table_clear(&t);
    return 0;
}

static void expansion_is_shared_and_sealed(void **state)
{
    (void)state;
    ranks_run(compare_inodes, GOOD);
}

/* Rank 0 dies at once; the others find all data. */
static int outlive_rank_0(struct comm *node)
{
    raytrain_dataset *ds;
    struct error err;
    char byte;

    if (rank_open(node, "packed-images-idx1", &ds, &err) < 0)
        return 1;
    if (node->rank == 0)
        raise(SIGKILL);
    if (recv(((struct star *)node)->fds[0], &byte, 1, 0) != 0)
        return 2; /* the end of file is rank 0's death */
    if (rank_sum(ds) <= 0)
        return 3;
    dataset_close(ds);
    return 0;
}

static void the_expansion_outlives_its_creator(void **state)
{
    (void)state;
    ranks_run(outlive_rank_0, (const int[RANKS]){-SIGKILL, 0, 0});
}

static int open_damaged(struct comm *node)
{
    raytrain_dataset *ds;
    struct error err;

    if (rank_open(node, "damaged", &ds, &err) == 0)
        return 1;
    return err.code == RAYTRAIN_ECORRUPT && strstr(err.text, "dataset \"train\"") &&
                   strstr(err.text, "other bytes follow")
               ? 0
               : 2;
}

static void an_error_of_rank_0_is_returned_on_all_ranks(void **state)
{
    static struct bytes b;

    (void)state;
    idx_numbers(&b, 10);
    bytes_gzip(&b);
    bytes_add(&b, "garbage", 7);
    bytes_write(&b, "damaged");
    ranks_run(open_damaged, GOOD);
}

/* Rank 2 sees another file of that name. */
static int open_different(struct comm *node)
{
    raytrain_dataset *ds;
    struct error err;

    if (node->rank == 2 && chdir("elsewhere") < 0)
        return 1;
    if (rank_open(node, "plain", &ds, &err) == 0)
        return 2;
    return strstr(err.text, "replaced or changed") ? 0 : 3;
}

static void an_error_of_another_rank_is_returned_on_all_ranks(void **state)
{
    static struct bytes b;

    (void)state;
    assert_int_equal(mkdir("elsewhere", 0700), 0);
    idx_numbers(&b, ROWS);
    bytes_write(&b, "elsewhere/plain");
    ranks_run(open_different, GOOD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_read_one_expansion),
        cmocka_unit_test(nodes_that_see_different_files_are_found),
        cmocka_unit_test(ranks_read_many_files),
        cmocka_unit_test(ranks_read_compressed_chunks),
        cmocka_unit_test(expansion_is_shared_and_sealed),
        cmocka_unit_test(the_expansion_outlives_its_creator),
        cmocka_unit_test(an_error_of_rank_0_is_returned_on_all_ranks),
        cmocka_unit_test(an_error_of_another_rank_is_returned_on_all_ranks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, scratch_enter, scratch_leave);
}
