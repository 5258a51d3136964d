#include <dlfcn.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "average/average.h"
#include "average/average_head.h"

/* Ranks are threads here: each maps the file itself, as processes do. */

#define ROOM   ((size_t)200 * 1024)
#define STRIDE ((AVERAGE_HEAD_BYTES + ROOM + 4095) / 4096 * 4096)
#define FIRST  192 /* the first head is not at a page */
#define RANKS  6
#define LONG   60000

struct rank {
    int fd, rank, size;
    bool spins;
    void (*work)(const struct rank *self, struct average *a);
    int failed;
};

/* cmocka's assertions are for one thread. */
#define MUST(self, expression)                                                         \
    do {                                                                               \
        if (!(expression))                                                             \
            ((struct rank *)(uintptr_t)(self))->failed = __LINE__;                     \
    } while (0)

static struct average *rank_open(int fd, int rank, int size, bool spins)
{
    struct average_place place = {
        .first = FIRST, .stride = STRIDE, .room = ROOM, .rank = rank, .size = size};

    return average_open(fd, &place, spins);
}

static void *rank_run(void *arg)
{
    struct rank *self = arg;
    struct average *a = rank_open(self->fd, self->rank, self->size, self->spins);

    MUST(self, a != NULL);
    if (a)
        self->work(self, a);
    average_close(a);
    return NULL;
}

static int file_create(int size)
{
    int fd = memfd_create("test", 0);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)(FIRST + (size_t)size * STRIDE)), 0);
    return fd;
}

static void ranks_run(int size, bool spins,
                      void (*work)(const struct rank *self, struct average *a))
{
    struct rank ranks[RANKS];
    pthread_t threads[RANKS];
    int fd = file_create(size);

    for (int r = 0; r < size; r++) {
        ranks[r] = (struct rank){fd, r, size, spins, work, 0};
        assert_int_equal(pthread_create(&threads[r], NULL, rank_run, &ranks[r]), 0);
    }
    for (int r = 0; r < size; r++)
        pthread_join(threads[r], NULL);
    close(fd);
    for (int r = 0; r < size; r++)
        assert_int_equal(ranks[r].failed, 0);
}

/* Numbers whose sums depend on the order. */
static double number(int rank, int step, size_t i)
{
    return sin((double)(i + 1) * (rank + 2) + step) *
           pow(10, (double)((i + (size_t)rank) % 7));
}

static float mean_float(int size, int step, size_t i)
{
    float sum = (float)number(0, step, i);

    for (int r = 1; r < size; r++)
        sum += (float)number(r, step, i);
    return sum * (1 / (float)size);
}

static double mean_double(int size, int step, size_t i)
{
    double sum = number(0, step, i);

    for (int r = 1; r < size; r++)
        sum += number(r, step, i);
    return sum * (1 / (double)size);
}

enum { NARROW = 5003, WIDE = 1001, STEPS = 40 };

static void steps_work(const struct rank *self, struct average *a)
{
    static const size_t at_wide = (NARROW * sizeof(float) + 63) / 64 * 64;
    float *x = malloc(NARROW * sizeof *x);
    double *y = malloc(WIDE * sizeof *y);

    for (int step = 0; x && y && step < STEPS && !self->failed; step++) {
        size_t n = step % 5 == 4 ? 3 : NARROW; /* also fewer numbers than ranks */

        for (size_t i = 0; i < n; i++)
            x[i] = (float)number(self->rank, step, i);
        for (size_t i = 0; i < WIDE; i++)
            y[i] = number(self->rank, step, i);
        MUST(self, average_add(a, x, 0, n, 0, LONG) == AVERAGE_DONE);
        MUST(self, average_add(a, y, at_wide, WIDE, 1, LONG) == AVERAGE_DONE);
        MUST(self, average_finish(a, LONG) == AVERAGE_DONE);
        for (size_t i = 0; i < n; i++)
            MUST(self, x[i] == mean_float(self->size, step, i));
        for (size_t i = 0; i < WIDE; i++)
            MUST(self, y[i] == mean_double(self->size, step, i));
    }
    free(x);
    free(y);
}

static void test_means_have_the_order_of_the_ranks(void **state)
{
    (void)state;
    for (int size = 1; size <= RANKS; size++)
        ranks_run(size, size == 2, steps_work);
}

static void many_work(const struct rank *self, struct average *a)
{
    enum { MANY = AVERAGE_SAID * 2 + 100 };
    float *x = malloc(MANY * sizeof *x);

    for (int i = 0; x && i < MANY; i++) {
        x[i] = (float)(self->rank + i);
        MUST(self,
             average_add(a, &x[i], (size_t)i % 3000 * 64, 1, 0, LONG) == AVERAGE_DONE);
        if (i % 3000 == 2999)
            MUST(self, average_finish(a, LONG) == AVERAGE_DONE);
    }
    MUST(self, average_finish(a, LONG) == AVERAGE_DONE);
    for (int i = 0; x && i < MANY; i++)
        MUST(self, x[i] == (float)i + (float)(self->size - 1) / 2);
    free(x);
}

static void test_more_ranges_than_can_be_said_at_once(void **state)
{
    (void)state;
    ranks_run(3, false, many_work);
    ranks_run(4, false, many_work);
}

static void differ_work(const struct rank *self, struct average *a)
{
    float x[64] = {0};
    int result = average_add(a, x, 0, self->rank == 1 ? 63 : 64, 0, LONG);

    if (result == AVERAGE_DONE)
        result = average_finish(a, LONG);
    MUST(self, result == AVERAGE_DIFFERS);
}

static void fewer_work(const struct rank *self, struct average *a)
{
    float x[64] = {0};
    int result = average_add(a, x, 0, 16, 0, LONG);

    if (result == AVERAGE_DONE && self->rank == 1)
        result = average_add(a, x + 16, 64, 16, 0, LONG);
    if (result == AVERAGE_DONE)
        result = average_finish(a, LONG);
    MUST(self, result == AVERAGE_DIFFERS);
}

static void test_other_ranges_are_noticed_by_all(void **state)
{
    (void)state;
    ranks_run(2, false, differ_work);
    ranks_run(5, false, differ_work);
    ranks_run(2, false, fewer_work);
    ranks_run(5, false, fewer_work);
}

/* The counter of a rank, in a map that lives until the test ends. */
static _Atomic uint64_t *done_of(int fd, int rank)
{
    char *map =
        mmap(NULL, FIRST + 2 * STRIDE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    assert_true(map != MAP_FAILED);
    return &((struct average_head *)(void *)(map + FIRST + (size_t)rank * STRIDE))
                ->counters[DONE]
                .ranges;
}

static void test_a_rank_that_does_not_come_is_waited_for_in_slices(void **state)
{
    int fd = file_create(2);
    struct average *a = rank_open(fd, 0, 2, true), *b = rank_open(fd, 1, 2, true);
    float x = 1, y = 3, z = 5;
    _Atomic uint64_t *done;

    (void)state;
    assert_int_equal(average_add(a, &x, 0, 1, 0, 0), AVERAGE_DONE);
    assert_int_equal(average_finish(a, 1), AVERAGE_WAITS);
    assert_int_equal(average_finish(a, 0), AVERAGE_WAITS);
    assert_true(x == 1);
    assert_int_equal(average_add(b, &y, 0, 1, 0, 0), AVERAGE_DONE);
    assert_int_equal(average_finish(a, 0), AVERAGE_WAITS); /* for the end of b's step */
    assert_int_equal(average_finish(b, 0), AVERAGE_DONE);
    assert_int_equal(average_finish(a, 0), AVERAGE_DONE);
    assert_true(x == 2 && y == 2);
    /* A rank that is not done yet may read what this one would write over. */
    done = done_of(fd, 1);
    *done = 1;
    assert_int_equal(average_add(a, &z, 0, 1, 0, 1), AVERAGE_WAITS);
    *done = 2;
    assert_int_equal(average_add(a, &z, 0, 1, 0, 0), AVERAGE_DONE);
    average_close(a);
    average_close(b);
    average_close(NULL);
    close(fd);
}

/* Replaces that of libc: counts the calls that wake. */
static atomic_int n_wakes;

long syscall(long number, ...)
{
    static long (*next)(long number, ...);
    long arg[6];
    va_list ap;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    va_start(ap, number);
    for (int i = 0; i < 6; i++)
        arg[i] = va_arg(ap, long);
    va_end(ap);
    if (number == SYS_futex && (int)arg[1] == FUTEX_WAKE)
        n_wakes++;
    return next(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

static void test_only_the_last_rank_wakes_the_others(void **state)
{
    int fd = file_create(3);
    struct average *ranks[3];
    float x[3] = {1, 2, 6};
    char *map = mmap(NULL, FIRST + STRIDE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    (void)state;
    assert_true(map != MAP_FAILED);
    for (int r = 0; r < 3; r++)
        ranks[r] = rank_open(fd, r, 3, false);
    /* As if a rank slept all the time. */
    ((struct average_head *)(void *)(map + FIRST))->sleepers = 1;
    n_wakes = 0;
    for (int r = 0; r < 3; r++) {
        assert_int_equal(n_wakes, 0);
        assert_int_equal(average_add(ranks[r], &x[r], 0, 1, 0, 0), AVERAGE_DONE);
    }
    assert_true(n_wakes > 0);
    for (int r = 0; r < 2; r++)
        assert_int_equal(average_finish(ranks[r], 0), AVERAGE_WAITS);
    for (int r = 2; r >= 0; r--) {
        assert_int_equal(average_finish(ranks[r], 0), AVERAGE_DONE);
        assert_true(x[r] == 3);
        average_close(ranks[r]);
    }
    munmap(map, FIRST + STRIDE);
    close(fd);
}

/* Its own part of the numbers is combined from where they are. */
static void test_a_rank_copies_only_what_others_read(void **state)
{
    enum { PART = 64 };
    int fd = file_create(4);
    struct average *a = rank_open(fd, 1, 4, false);
    size_t at = FIRST + STRIDE + AVERAGE_HEAD_BYTES;
    float x[4 * PART], there[4 * PART];

    (void)state;
    for (int i = 0; i < 4 * PART; i++)
        x[i] = (float)i + 1;
    assert_int_equal(average_add(a, x, 0, 4 * PART, 0, 0), AVERAGE_DONE);
    assert_int_equal(pread(fd, there, sizeof there, (off_t)at), sizeof there);
    for (int i = 0; i < 4 * PART; i++)
        assert_true(there[i] == (i / PART == 1 ? 0 : x[i]));
    average_close(a);
    close(fd);
}

static void test_what_is_outside_the_memory_is_refused(void **state)
{
    int fd = file_create(2);
    struct average *a = rank_open(fd, 0, 2, false);
    double x[2] = {0};

    (void)state;
    assert_int_equal(average_add(a, x, ROOM - 64, 17, 0, 0), AVERAGE_MEMORY);
    assert_int_equal(average_add(a, x, ROOM - 64, 9, 1, 0), AVERAGE_MEMORY);
    assert_int_equal(average_add(a, x, ROOM + 64, 0, 0, 0), AVERAGE_MEMORY);
    assert_int_equal(average_add(a, x, 4, 1, 0, 0), AVERAGE_MEMORY);
    assert_int_equal(average_add(a, x, 0, SIZE_MAX / 8 + 2, 1, 0), AVERAGE_MEMORY);
    average_close(a);
    close(fd);
    assert_null(rank_open(fd, 0, 2, false)); /* it is not open */
}

static void nan_work(const struct rank *self, struct average *a)
{
    float x[3] = {self->rank == 0 ? NAN : 1, self->rank == 1 ? -NAN : 1, -0.0F};
    uint32_t bits[3];

    MUST(self, average_add(a, x, 0, 3, 0, LONG) == AVERAGE_DONE);
    MUST(self, average_finish(a, LONG) == AVERAGE_DONE);
    memcpy(bits, x, sizeof bits);
    MUST(self, bits[0] == 0x7fc00000 && bits[1] == 0x7fc00000 && bits[2] == 0x80000000);
}

static void test_nan_has_the_same_bits_on_all_ranks(void **state)
{
    (void)state;
    ranks_run(2, false, nan_work);
    ranks_run(4, false, nan_work);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means_have_the_order_of_the_ranks),
        cmocka_unit_test(test_more_ranges_than_can_be_said_at_once),
        cmocka_unit_test(test_other_ranges_are_noticed_by_all),
        cmocka_unit_test(test_a_rank_that_does_not_come_is_waited_for_in_slices),
        cmocka_unit_test(test_only_the_last_rank_wakes_the_others),
        cmocka_unit_test(test_a_rank_copies_only_what_others_read),
        cmocka_unit_test(test_what_is_outside_the_memory_is_refused),
        cmocka_unit_test(test_nan_has_the_same_bits_on_all_ranks),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
