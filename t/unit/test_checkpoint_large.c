/*
 * A tensor of more than 4 GiB, each slab of it more than 2 GiB: sizes and offsets that
 * exceed 32 bits, in memory, in the file and in one system call.
 *
 * The data are a mapping that is written in a few places only, so that they take no
 * memory; the file takes 4.25 GiB of disk for some seconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "checkpoint/checkpoint.h"
#include "scratch.h"
#include "thread_comm.h"

#define FILE_NAME "checkpoint_000001.h5"
#define ROWS      2
#define COLUMNS   ((uint64_t)0x88000000) /* bytes of a row; each rank has one */
#define LENGTH    7

/* The places that are written, as offsets in the whole tensor: its ends, the ends of
 * the rows, and both sides of 2 and 4 GiB. */
static const uint64_t places[] = {
    0,       ((uint64_t)1 << 31) - LENGTH, ((uint64_t)1 << 31), COLUMNS - LENGTH,
    COLUMNS, ((uint64_t)1 << 32) - LENGTH, ((uint64_t)1 << 32), ROWS *COLUMNS - LENGTH};

#define N_PLACES (sizeof places / sizeof places[0])

static void mark(uint64_t place, char text[LENGTH + 1])
{
    snprintf(text, LENGTH + 1, "%07x", (unsigned)(place >> 4) & 0xfffffff);
}

/* The only slab of the row, and n bytes of it from column `at` on. */
static raytrain_slab row_slab(uint64_t row, uint64_t at, uint64_t n)
{
    return (raytrain_slab){.start = {row, at}, .count = {1, n}};
}

static const raytrain_tensor large = {
    .dtype = RAYTRAIN_UINT8, .ndim = 2, .shape = {ROWS, COLUMNS}};

static int row_save(struct comm *comm, char *row, struct error *err)
{
    static const struct checkpoint_meta meta = {
        .run_name = "large", .training_iteration = 1, .world_size = ROWS};
    raytrain_slab slab = row_slab((uint64_t)comm->rank, 0, COLUMNS);
    raytrain_checkpoint *ck = checkpoint_create(err);
    raytrain_tensor t = large;
    int rc = ck ? 0 : -1;

    t.data = row;
    for (size_t i = 0; i < N_PLACES; i++) {
        char text[LENGTH + 1];

        mark(places[i], text);
        if (places[i] / COLUMNS == (uint64_t)comm->rank)
            memcpy(row + places[i] % COLUMNS, text, LENGTH);
    }
    if (rc == 0)
        rc = checkpoint_put(ck, "large", &t, &slab, err);
    if (rc == 0)
        rc = checkpoint_save(ck, comm, &meta, FILE_NAME, err);
    checkpoint_destroy(ck);
    return rc;
}

static int places_check(raytrain_checkpoint *ck, struct error *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < N_PLACES; i++) {
        raytrain_slab slab = row_slab(places[i] / COLUMNS, places[i] % COLUMNS, LENGTH);
        char want[LENGTH + 1], got[LENGTH + 1] = "";
        raytrain_tensor t = large;

        t.data = got;
        mark(places[i], want);
        rc = checkpoint_get(ck, "large", &t, &slab, err);
        if (rc == 0 && memcmp(got, want, LENGTH) != 0)
            rc = error_set(err, RAYTRAIN_EFAILED, "at %llu: '%s', not '%s'",
                           (unsigned long long)places[i], got, want);
    }
    return rc;
}

static int rank_body(struct comm *comm, void *arg)
{
    struct error *err = (struct error *)arg + comm->rank;
    char *row = mmap(NULL, COLUMNS, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    raytrain_checkpoint *ck = NULL;
    int rc = -1;

    if (row == MAP_FAILED)
        error_set(err, RAYTRAIN_ENOMEM, "no address space for %llu bytes",
                  (unsigned long long)COLUMNS);
    else
        rc = row_save(comm, row, err);
    if (rc == 0)
        rc = checkpoint_open(comm, FILE_NAME, &ck, err);
    if (rc == 0)
        rc = places_check(ck, err);
    checkpoint_destroy(ck);
    if (row != MAP_FAILED)
        munmap(row, COLUMNS);
    return rc;
}

static void more_than_four_gigabytes_come_back(void **state)
{
    struct error errors[ROWS] = {0};
    int rc[ROWS];
    struct stat st;

    (void)state;
    thread_comm_run(ROWS, rank_body, errors, rc);
    for (int r = 0; r < ROWS; r++)
        if (rc[r] < 0)
            fail_msg("rank %d: %s", r, errors[r].text);
    assert_int_equal(stat(FILE_NAME, &st), 0);
    assert_true((uint64_t)st.st_size > ROWS * COLUMNS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {SCRATCH(more_than_four_gigabytes_come_back)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
