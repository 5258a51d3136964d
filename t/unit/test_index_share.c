/* test_index_share.c - of the index that rank 0 has read, the ranks get the tensors, and
 * each an even share of the chunks to verify. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "checkpoint/checkpoint_impl.h"
#include "checkpoint/index_share.h"
#include "checkpoint/part_reader.h"
#include "checkpoint/verify.h"
#include "thread_comm.h"
#include "util/fs.h"

#define RANKS       8
#define TENSORS     30 /* of each three: in slabs of rows, by parts, replicated */
#define PARTS       40 /* of a tensor that is not replicated */
#define CHUNK       CHUNK_BYTES_MIN
#define PART_CHUNKS 3
#define PART_BYTES  (PART_CHUNKS * CHUNK - 100) /* the last chunk is shorter */

/* The tables of a file that 40 ranks wrote, without the bytes of its tensors. */
static void number_write(raytrain_checkpoint *ck, uint64_t number)
{
    uint64_t at = HEAD_BYTES + ck->head.n_shapes++ * sizeof number;

    if (fs_pwrite_full(ck->fd, &number, sizeof number, at) < 0)
        abort();
}

static void parts_write(raytrain_checkpoint *ck, struct tensor_entry *e)
{
    e->n_parts = e->sharded ? PARTS : 1;
    number_write(ck, e->shape[0]);
    for (uint64_t k = 0; k < e->n_parts; k++) {
        if (e->sharded) {
            number_write(ck, k * PART_BYTES);
            number_write(ck, PART_BYTES);
        }
        ck->head.n_hashes += PART_CHUNKS;
    }
}

static void hashes_write(raytrain_checkpoint *ck)
{
    ck->head.shapes_at = HEAD_BYTES;
    ck->head.hashes_at = HEAD_BYTES + ck->head.n_shapes * sizeof(uint64_t);
    for (uint64_t h = 0; h < ck->head.n_hashes; h++) {
        uint64_t hash = 1000 + h;

        if (fs_pwrite_full(ck->fd, &hash, sizeof hash,
                           ck->head.hashes_at + h * sizeof hash) < 0)
            abort();
    }
}

/* What opening the file does. */
static int parts_check(raytrain_checkpoint *ck)
{
    struct part_reader reader;
    struct part part;
    int more;

    ck->shape_sums = calloc(table_blocks(ck->head.n_shapes), sizeof *ck->shape_sums);
    if (!ck->shape_sums)
        abort();
    part_reader_start(&reader, ck);
    reader.opening = true;
    while ((more = part_reader_next(&reader, &part, NULL)) > 0)
        ;
    return more;
}

static raytrain_checkpoint *index_create(void)
{
    raytrain_checkpoint *ck = checkpoint_for_reading("/nowhere/file", NULL);
    struct checkpoint_metric *metrics = calloc(1, sizeof *metrics);

    if (!ck || !metrics)
        abort();
    ck->fd = memfd_create("file", MFD_CLOEXEC);
    ck->head.chunk_bytes = CHUNK;
    strcpy(ck->run_name, "a run");
    strcpy(metrics->name, "loss");
    metrics->value = 0.5;
    ck->meta = (struct checkpoint_meta){.run_name = ck->run_name,
                                        .training_iteration = 7,
                                        .metrics = metrics,
                                        .n_metrics = 1};
    for (int i = 0; i < TENSORS; i++) {
        char name[32];
        struct tensor_entry *e;

        snprintf(name, sizeof name, "model/layer%d", i);
        e = entry_add(ck, strdup(name), NULL);
        if (!e)
            abort();
        e->ndim = 1;
        e->element_bytes = 1;
        e->sharded = i % 3 != 2;
        e->by_parts = i % 3 == 1;
        e->shape[0] = e->bytes = (e->sharded ? PARTS : 1) * PART_BYTES;
        e->offset = HEAD_BYTES + (uint64_t)i * PARTS * PART_BYTES;
        parts_write(ck, e);
    }
    hashes_write(ck);
    return parts_check(ck) == 0 && public_names_make(ck, NULL) == 0 ? ck : NULL;
}

/* ---- Shares ---- */

/* Every chunk is in one share, in the order of the table, and with its hash. */
static void shares_hold_each_chunk_once(void **state)
{
    raytrain_checkpoint *ck = index_create();
    static const int OF[] = {1, 2, 3, 8, 100, 5000};

    (void)state;
    assert_non_null(ck);
    for (size_t k = 0; k < sizeof OF / sizeof *OF; k++) {
        struct verify_work work = {0};
        struct verify_cut cut;
        uint64_t next = 0;

        assert_int_equal(
            verify_work_room(&work, ck->head.n_hashes, ck->head.n_hashes, NULL), 0);
        verify_cut_start(&cut, ck, OF[k]);
        for (int share = 0; share < OF[k]; share++) {
            size_t h = 0;

            assert_int_equal(verify_cut_next(&cut, share, &work, NULL), 0);
            assert_true(work.n_hashes <= 2 * ck->head.n_hashes / (size_t)OF[k] + 2);
            for (size_t i = 0; i < work.n; i++)
                for (uint64_t c = 0; c < work.pieces[i].n; c++, h++, next++) {
                    const struct verify_piece *p = &work.pieces[i];

                    assert_int_equal(p->part.first_hash + p->first + c, next);
                    assert_int_equal(work.hashes[h], 1000 + next);
                }
            assert_int_equal(h, work.n_hashes);
        }
        assert_int_equal(next, ck->head.n_hashes);
        verify_work_clear(&work);
    }
    checkpoint_destroy(ck);
}

/* ---- What a rank gets ---- */

/* Its work is that of its share, cut by itself. */
static int work_check(const raytrain_checkpoint *whole, const struct comm *comm,
                      const struct verify_work *got)
{
    struct verify_work work = {0};
    struct verify_cut cut;
    size_t n = whole->head.n_hashes;
    int rc = verify_work_room(&work, n, n, NULL);

    verify_cut_start(&cut, whole, comm->size);
    for (int share = 0; rc == 0 && share <= comm->rank; share++)
        rc = verify_cut_next(&cut, share, &work, NULL);
    if (rc == 0 &&
        (work.n == 0 || work.n != got->n || work.n_hashes != got->n_hashes ||
         memcmp(work.pieces, got->pieces, work.n * sizeof *work.pieces) != 0 ||
         memcmp(work.hashes, got->hashes, work.n_hashes * sizeof *work.hashes) != 0))
        rc = -1;
    verify_work_clear(&work);
    return rc;
}

static int tensors_check(const raytrain_checkpoint *whole,
                         const raytrain_checkpoint *ck)
{
    if (ck->n_tensors != TENSORS || ck->meta.training_iteration != 7 ||
        strcmp(ck->meta.run_name, "a run") != 0 || ck->meta.n_metrics != 1 ||
        ck->meta.metrics[0].value != 0.5 || ck->n_public_names != TENSORS ||
        ck->head.n_hashes != whole->head.n_hashes)
        return -1;
    for (size_t i = 0; i < TENSORS; i++) {
        const struct tensor_entry *a = &whole->tensors[i], *b = &ck->tensors[i];

        if (strcmp(a->name, b->name) != 0 || a->name == b->name ||
            a->bytes != b->bytes || a->offset != b->offset ||
            a->by_parts != b->by_parts || a->sharded != b->sharded ||
            checkpoint_item_find(ck, a->name, &(size_t){0}) != true)
            return -1;
    }
    return 0;
}

static int rank_open(struct comm *comm, void *arg)
{
    raytrain_checkpoint *whole = index_create(), *ck = NULL;
    struct verify_work work = {0};
    struct error err = {0};
    int rc = whole ? 0 : -1;

    (void)arg;
    if (rc == 0)
        ck = comm->rank == 0 ? index_create() : checkpoint_for_reading("/x", &err);
    if (!ck)
        rc = -1;
    if (rc == 0)
        rc = verify_work_scatter(ck, comm, &work, &err);
    if (rc == 0)
        rc = work_check(whole, comm, &work);
    if (rc == 0)
        rc = index_bcast(ck, comm, &err);
    if (rc == 0)
        rc = tensors_check(whole, ck);
    verify_work_clear(&work);
    checkpoint_destroy(ck);
    checkpoint_destroy(whole);
    return rc;
}

static void a_rank_gets_the_tensors_and_its_share(void **state)
{
    static const int SIZES[] = {1, 2, 5, RANKS};
    int rc[RANKS];

    (void)state;
    for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++) {
        thread_comm_run(SIZES[k], rank_open, NULL, rc);
        for (int r = 0; r < SIZES[k]; r++)
            assert_int_equal(rc[r], 0);
    }
}

/* Rank 0 has counted the work, and then cannot read the hashes. */
static int rank_open_truncated(struct comm *comm, void *arg)
{
    raytrain_checkpoint *ck =
        comm->rank == 0 ? index_create() : checkpoint_for_reading("/x", NULL);
    struct verify_work work = {0};
    struct error err = {0};
    int rc = ck ? 0 : -1;

    (void)arg;
    if (rc == 0 && comm->rank == 0)
        rc = ftruncate(ck->fd, (off_t)ck->head.hashes_at + 4096);
    if (rc == 0)
        rc = verify_work_scatter(ck, comm, &work, &err);
    rc = rc < 0 && err.code == RAYTRAIN_ECORRUPT && strstr(err.text, "truncated") ? 0
                                                                                  : -1;
    verify_work_clear(&work);
    checkpoint_destroy(ck);
    return rc;
}

static void all_ranks_fail_if_the_hashes_cannot_be_read(void **state)
{
    int rc[RANKS];

    (void)state;
    thread_comm_run(RANKS, rank_open_truncated, NULL, rc);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(rc[r], 0);
}

/* A file without a byte to verify. */
static int rank_open_empty(struct comm *comm, void *arg)
{
    raytrain_checkpoint *ck = checkpoint_for_reading("/x", NULL);
    struct verify_work work = {0};
    struct error err = {0};
    int rc = ck ? verify_work_scatter(ck, comm, &work, &err) : -1;

    (void)arg;
    if (rc == 0)
        rc = index_bcast(ck, comm, &err);
    rc = rc == 0 && work.n == 0 && ck->n_tensors == 0 ? 0 : -1;
    verify_work_clear(&work);
    checkpoint_destroy(ck);
    return rc;
}

static void an_index_may_be_empty(void **state)
{
    int rc[3];

    (void)state;
    thread_comm_run(3, rank_open_empty, NULL, rc);
    for (int r = 0; r < 3; r++)
        assert_int_equal(rc[r], 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_hold_each_chunk_once),
        cmocka_unit_test(a_rank_gets_the_tensors_and_its_share),
        cmocka_unit_test(all_ranks_fail_if_the_hashes_cannot_be_read),
        cmocka_unit_test(an_index_may_be_empty),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
