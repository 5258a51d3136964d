/* test_shared_file.c - ranks of several nodes write one file, and no two nodes write to
 * one page of it: the test checks every write. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cmocka.h>

#include "checkpoint/shared_file.h"
#include "replica/image_tier.h"
#include "scratch.h"
#include "thread_comm.h"
#include "util/fs.h"

#define FILE_NAME "checkpoint_000007.h5"
#define ID        "0123456789abcdef0123456789abcdef"
#define PAGE      65536u
#define FILE_MAX  (32u << 20)

static const struct checkpoint_meta META = {
    .run_name = "shared", .training_iteration = 7, .world_size = 4};

/* ---- What is written ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned char times[FILE_MAX];        /* each byte was written; not below 4096 */
static uint32_t page_nodes[FILE_MAX / PAGE]; /* a bit for each node that wrote there */
static bool readable;                        /* some descriptor was */
/* Of this rank while it writes the file; -1: writes are not recorded. */
static _Thread_local int writing_node = -1;

static void written(int fd, uint64_t offset, uint64_t n)
{
    if (writing_node < 0)
        return;
    pthread_mutex_lock(&lock);
    readable |= (fcntl(fd, F_GETFL) & O_ACCMODE) != O_WRONLY;
    for (uint64_t i = offset; i < offset + n && i < FILE_MAX; i++) {
        page_nodes[i / PAGE] |= 1u << writing_node;
        times[i] += i >= HEAD_BYTES && times[i] < 9;
    }
    pthread_mutex_unlock(&lock);
}

/* In place of libc's. */
ssize_t pwrite(int fd, const void *data, size_t n, off_t offset)
{
    written(fd, (uint64_t)offset, n);
    return syscall(SYS_pwrite64, fd, data, n, offset);
}

ssize_t pwritev(int fd, const struct iovec *v, int n, off_t offset)
{
    ssize_t k = syscall(SYS_pwritev, fd, v, n, offset, 0);

    if (k > 0)
        written(fd, (uint64_t)offset, (uint64_t)k);
    return k;
}

/* ---- What there is to write ---- */

#define RANKS   8
#define TENSORS 24

struct tensor {
    raytrain_tensor t;
    int axis;                 /* along which it is cut; -1: replicated */
    uint64_t cuts[RANKS + 1]; /* where */
};

struct scene {
    unsigned seed;
    int n_ranks, node[RANKS], local[RANKS], n_tensors;
    struct tensor tensors[TENSORS];
    bool images, copies; /* by way of the nodes' memory */
};

static uint64_t below(uint64_t n)
{
    return (uint64_t)rand() % n;
}

static int cut_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void tensor_draw(struct tensor *x, int n_ranks)
{
    static const raytrain_dtype types[] = {RAYTRAIN_UINT8, RAYTRAIN_FLOAT32,
                                           RAYTRAIN_FLOAT64};
    uint64_t room = 1u << (4 + below(16)); /* elements, about */

    *x = (struct tensor){.axis = -1};
    x->t.dtype = types[below(3)];
    x->t.ndim = (int)(1 + below(3));
    for (int d = 0; d < x->t.ndim; d++) {
        x->t.shape[d] =
            d == x->t.ndim - 1 ? 1 + room : 1 + below(room < 40 ? room : 40);
        room = room / x->t.shape[d] + 1;
    }
    if (below(3) == 0)
        return;
    x->axis = (int)below((uint64_t)x->t.ndim);
    for (int r = 1; r < n_ranks; r++)
        x->cuts[r] = below(x->t.shape[x->axis] + 1);
    x->cuts[n_ranks] = x->t.shape[x->axis];
    qsort(x->cuts, (size_t)n_ranks + 1, sizeof *x->cuts, cut_compare);
}

/* Nodes are numbered in the order of their first ranks. */
static void scene_draw(struct scene *s)
{
    int met[RANKS], on[RANKS] = {0}, n = 0;

    srand(s->seed);
    memset(met, -1, sizeof met);
    s->n_ranks = (int)(2 + below(RANKS - 1));
    for (int r = 0; r < s->n_ranks; r++) {
        uint64_t node = below(4);

        if (met[node] < 0)
            met[node] = n++;
        s->node[r] = met[node];
        s->local[r] = on[met[node]]++;
    }
    s->n_tensors = (int)(1 + below(TENSORS));
    for (int i = 0; i < s->n_tensors; i++)
        tensor_draw(&s->tensors[i], s->n_ranks);
}

/* A rank's slab of a tensor, dense, malloc'ed; every element encodes its position. */
static unsigned char *slab_fill(const struct tensor *x, int number,
                                const raytrain_slab *slab)
{
    uint64_t size = raytrain_dtype_size(x->t.dtype), n = 1, at[RAYTRAIN_MAX_DIMS] = {0};
    unsigned char *data, *to;

    for (int d = 0; d < x->t.ndim; d++)
        n *= slab->count[d];
    to = data = malloc(n * size + 1);
    if (!data)
        abort();
    for (uint64_t k = 0; k < n; k++) {
        uint64_t i = 0;

        for (int d = 0; d < x->t.ndim; d++)
            i = i * x->t.shape[d] + slab->start[d] + at[d];
        for (uint64_t b = 0; b < size; b++)
            *to++ = (unsigned char)((i * 2654435761u >> 7) + b * 31 + (unsigned)number);
        for (int d = x->t.ndim - 1; d >= 0 && ++at[d] == slab->count[d]; d--)
            at[d] = 0;
    }
    return data;
}

static void slab_of(const struct tensor *x, int rank, raytrain_slab *slab)
{
    *slab = (raytrain_slab){0};
    memcpy(slab->count, x->t.shape, sizeof slab->count);
    if (x->axis < 0)
        return;
    slab->start[x->axis] = x->cuts[rank];
    slab->count[x->axis] = x->cuts[rank + 1] - x->cuts[rank];
}

static int scene_put(const struct scene *s, raytrain_checkpoint *ck, int rank,
                     unsigned char **data, struct error *err)
{
    int rc = checkpoint_put_string(ck, "note", "hello", err);

    for (int i = 0; rc == 0 && i < s->n_tensors; i++) {
        const struct tensor *x = &s->tensors[i];
        raytrain_tensor t = x->t;
        raytrain_slab slab;
        char name[32];

        snprintf(name, sizeof name, "tensor/%d", i);
        slab_of(x, rank, &slab);
        t.data = data[i] = slab_fill(x, i, &slab);
        rc = checkpoint_put(ck, name, &t, x->axis < 0 ? NULL : &slab, err);
    }
    return rc;
}

/* ---- Writing it ---- */

static int save_publish(const struct scene *s, struct checkpoint_save *save,
                        struct comm *comm, const struct node_map *nodes,
                        struct error *err)
{
    struct image_tier tier = {.nodes = nodes, .copies = s->copies};
    struct survey survey = {0};
    char base[16];
    int rc;

    if (!s->images) {
        writing_node = s->node[comm->rank];
        return checkpoint_save_publish(save, comm, nodes, err);
    }
    snprintf(base, sizeof base, "node%d", s->node[comm->rank]);
    rc = image_dir_enter(base, ID, false, &tier.dir, err);
    rc = comm_agree(comm, rc, err);
    if (rc == 0)
        rc = image_write(save, comm, &tier, 7, err);
    if (rc == 0)
        rc = survey_make(comm, &tier, 7, false, &survey, err);
    writing_node = s->node[comm->rank];
    if (rc == 0)
        rc = image_publish(comm, &tier, &survey, FILE_NAME, err);
    survey_clear(&survey);
    image_dir_leave(&tier.dir);
    return rc;
}

static int rank_write(struct comm *comm, void *arg)
{
    const struct scene *s = arg;
    raytrain_checkpoint *ck = checkpoint_create(NULL);
    struct checkpoint_save *save = NULL;
    unsigned char *data[TENSORS] = {NULL};
    struct node_map nodes;
    struct error err = {0};
    int rc =
        node_map_make(comm, s->node[comm->rank], s->local[comm->rank], &nodes, &err);

    if (rc == 0)
        rc = scene_put(s, ck, comm->rank, data, &err);
    if (rc == 0)
        rc = checkpoint_save_begin(ck, comm, &META, FILE_NAME, NULL, &save, &err);
    if (rc == 0)
        rc = save_publish(s, save, comm, &nodes, &err);
    writing_node = -1;
    if (rc < 0)
        fprintf(stderr, "seed %u, rank %d: %s\n", s->seed, comm->rank, err.text);
    checkpoint_save_destroy(save);
    checkpoint_destroy(ck);
    node_map_clear(&nodes);
    for (int i = 0; i < TENSORS; i++)
        free(data[i]);
    return rc;
}

/* Check the file: complete, with the bytes of every tensor. */
static int rank_check(struct comm *comm, void *arg)
{
    const struct scene *s = arg;
    raytrain_checkpoint *ck = NULL;
    struct error err = {0};
    int rc = checkpoint_open(comm, FILE_NAME, &ck, &err);

    for (int i = 0; rc == 0 && i < s->n_tensors; i++) {
        const struct tensor *x = &s->tensors[i];
        raytrain_slab whole = {0};
        raytrain_tensor t = x->t;
        unsigned char *want;
        uint64_t n;
        char name[32];

        memcpy(whole.count, x->t.shape, sizeof whole.count);
        want = slab_fill(x, i, &whole);
        slab_tensor_bytes(t.ndim, t.shape, raytrain_dtype_size(t.dtype), &n);
        t.data = calloc(1, n + 1);
        snprintf(name, sizeof name, "tensor/%d", i);
        rc = checkpoint_get(ck, name, &t, NULL, &err);
        if (rc == 0 && memcmp(t.data, want, n) != 0)
            rc = error_set(&err, RAYTRAIN_EFAILED, "%s: other bytes", name);
        free(t.data);
        free(want);
    }
    if (rc < 0)
        fprintf(stderr, "seed %u: %s\n", s->seed, err.text);
    checkpoint_destroy(ck);
    return rc;
}

static void expect_pages_of_one_node(unsigned seed, uint64_t file_bytes)
{
    for (uint64_t p = 0; p * PAGE < file_bytes; p++)
        if (page_nodes[p] & (page_nodes[p] - 1))
            fail_msg("seed %u: page %d was written by the nodes of mask %x", seed,
                     (int)p, page_nodes[p]);
    for (uint64_t i = HEAD_BYTES; i < file_bytes; i++)
        if (times[i] != 1)
            fail_msg("seed %u: byte %d was written %d times", seed, (int)i, times[i]);
    assert_false(readable);
}

static void scene_run(struct scene *s)
{
    int rc[THREAD_COMM_MAX];
    struct error err;
    char *bytes;
    size_t n;

    memset(times, 0, sizeof times);
    memset(page_nodes, 0, sizeof page_nodes);
    thread_comm_run(s->n_ranks, rank_write, s, rc);
    for (int r = 0; r < s->n_ranks; r++)
        assert_int_equal(rc[r], 0);
    thread_comm_run(2, rank_check, s, rc);
    assert_int_equal(rc[0], 0);
    assert_int_equal(fs_read(FILE_NAME, &bytes, &n, &err), 0);
    free(bytes);
    assert_true(n <= FILE_MAX);
    expect_pages_of_one_node(s->seed, n);
}

/* ---- Tests ---- */

static void no_page_is_written_by_two_nodes(void **state)
{
    static struct scene s;

    (void)state;
    for (unsigned seed = 1; seed <= 60; seed++) {
        s = (struct scene){.seed = seed};
        scene_draw(&s);
        scene_run(&s);
    }
}

static void no_page_of_an_image_is_written_by_two_nodes(void **state)
{
    static struct scene s;

    (void)state;
    for (unsigned seed = 101; seed <= 140; seed++) {
        s = (struct scene){.seed = seed, .images = true, .copies = seed % 2};
        scene_draw(&s);
        scene_run(&s);
    }
}

/* Columns: every page has bytes of every rank, but no rank writes all pages. */
static void a_tensor_in_columns_is_written_by_all(void **state)
{
    static struct scene s;
    int pages[4] = {0}, n = 0;

    (void)state;
    s = (struct scene){.n_ranks = 4, .node = {0, 1, 2, 3}, .n_tensors = 1};
    s.tensors[0] = (struct tensor){
        .t = {.dtype = RAYTRAIN_FLOAT32, .ndim = 2, .shape = {4096, 1024}}, .axis = 1};
    for (unsigned r = 0; r <= 4; r++)
        s.tensors[0].cuts[r] = 256 * r;
    scene_run(&s);
    for (uint64_t p = 0; p * PAGE < (16u << 20); p++)
        for (int node = 0; node < 4; node++)
            pages[node] += page_nodes[p] == 1u << node;
    for (int node = 0; node < 4; node++) {
        n += pages[node];
        assert_in_range(pages[node], 32, 96);
    }
    assert_int_equal(n, 256);
}

static void ranks_of_one_node_write_their_own_data(void **state)
{
    struct node_place of[] = {{0, 0}, {1, 0}, {0, 1}};
    const struct node_map nodes = {.size = 3, .n_nodes = 2, .of = of};
    struct page_writers w;

    (void)state;
    assert_int_equal(page_writers_init(&w, 10 * PAGE, PAGE, &nodes), 0);
    page_writers_add(&w, 0, 2);
    page_writers_add(&w, 0, 0);
    page_writers_add(&w, 1, 1);
    page_writers_add(&w, 2, 2);
    page_writers_add(&w, 2, 1);
    page_writers_add(&w, 2, 0);
    page_writers_add(&w, 3, 1);
    page_writers_claim(&w, 0, 1, 0);
    page_writers_claim(&w, 3 * PAGE - 1, 3 * PAGE + 1, 0);
    assert_int_equal(page_writers_of(&w, 0), -1);
    assert_int_equal(page_writers_of(&w, 1), -1);
    assert_int_equal(page_writers_of(&w, 2), 0);
    assert_int_equal(page_writers_of(&w, 3), 0);
    assert_int_equal(page_writers_of(&w, 9), -1);
    page_writers_clear(&w);
}

static void pages_follow_the_file_systems_blocks(void **state)
{
    const uint64_t mib = 1u << 20, gib = 1u << 30;

    (void)state;
    assert_int_equal(page_bytes_choose(gib, 4, 4096), PAGE);
    assert_int_equal(page_bytes_choose(gib, 4, 0), PAGE);
    assert_int_equal(page_bytes_choose(gib, 4, mib), mib);
    assert_int_equal(page_bytes_choose(64 * gib, 4, 4 * mib), 4 * mib);
    assert_int_equal(page_bytes_choose(64 * gib, 4, 1 * gib), 16 * mib);
    assert_int_equal(page_bytes_choose(gib, 1024, mib), PAGE);
    assert_int_equal(page_bytes_choose(0, 4, mib), PAGE);
    assert_true(page_bytes_choose(1024 * gib, 64, 4096) > PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCRATCH(no_page_is_written_by_two_nodes),
        SCRATCH(no_page_of_an_image_is_written_by_two_nodes),
        SCRATCH(a_tensor_in_columns_is_written_by_all),
        SCRATCH(ranks_of_one_node_write_their_own_data),
        SCRATCH(pages_follow_the_file_systems_blocks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
