/* test_band_store.c - bands that several ranks, here threads, unpack for each other. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "table/band_store.h"

#define THREADS 4
#define BANDS   200

static const uint64_t BYTES[] = {1000, 0, 40}, COUNTS[] = {BANDS, 0, BANDS};

struct worker {
    pthread_t thread;
    struct band_store *store;
    unsigned seed;
    int wrong;
};

static _Atomic unsigned n_filled;

/* What a band consists of. */
static unsigned char content(const struct band_id *id)
{
    return (unsigned char)(id->column * 7 + id->packing * 31 + id->band);
}

static bool is_filled_with(const unsigned char *rows, unsigned char byte, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (rows[i] != byte)
            return false;
    return true;
}

/* Use a band; true if it is what it should be, wherever it comes from. */
static bool band_use(struct band_store *s, const struct band_id *id)
{
    unsigned char *rows;
    uint32_t slot;
    bool ok;

    for (;;) {
        switch (band_store_find(s, id, &rows, &slot)) {
        case BAND_READY:
            ok = is_filled_with(rows, content(id), BYTES[id->column]);
            band_store_release(s, slot);
            return ok;
        case BAND_OURS:
            atomic_fetch_add(&n_filled, 1);
            for (uint64_t i = 0; i < BYTES[id->column]; i++)
                rows[i] = content(id);
            sched_yield();
            band_store_publish(s, slot, true);
            return true;
        case BAND_AWAITED:
            sched_yield();
            continue;
        case BAND_NO_ROOM:
            return true;
        }
    }
}

static void *worker_run(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < 20000; i++) {
        struct band_id id = {.column = rand_r(&w->seed) % 2 * 2,
                             .packing = (uint64_t)rand_r(&w->seed) % 2,
                             .band = (uint64_t)rand_r(&w->seed) % (BANDS / 2)};

        w->wrong += !band_use(w->store, &id);
    }
    return NULL;
}

/* With room for all bands, or for some; each thread has a mapping of its own. */
static void ranks_never_see_the_rows_of_another_band(void **state)
{
    static const uint64_t LIMITS[] = {20000, 100000, 1u << 24};

    (void)state;
    for (size_t k = 0; k < sizeof LIMITS / sizeof *LIMITS; k++) {
        struct worker workers[THREADS];
        int fd;
        struct band_store *s =
            band_store_create(THREADS, 3, BYTES, COUNTS, LIMITS[k], &fd);

        assert_non_null(s);
        atomic_store(&n_filled, 0);
        for (unsigned i = 0; i < THREADS; i++) {
            workers[i] =
                (struct worker){.seed = i, .store = band_store_attach(dup(fd))};
            assert_non_null(workers[i].store);
            assert_int_equal(
                pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(workers[i].thread, NULL);
            assert_int_equal(workers[i].wrong, 0);
            band_store_detach(workers[i].store);
        }
        /* With room for all, a band is unpacked again only if it has to make room in its
         * set of slots. */
        if (k == 2)
            assert_in_range(atomic_load(&n_filled), 2 * BANDS, 40 * BANDS);
        band_store_detach(s);
        close(fd);
    }
}

/* ---- All at once ---- */

#define ROUNDS 20000

struct race {
    pthread_t thread;
    struct band_store *store;
    unsigned ours, without; /* rounds in which it was to unpack, or found no room */
};

static _Atomic unsigned n_ready;

/* In each round all look for a band that none has seen before, at the same moment. */
static void *race_run(void *arg)
{
    struct race *r = arg;

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct band_id id = {.column = 0, .packing = 1, .band = i};
        enum band_found found;
        unsigned char *rows;
        uint32_t slot;

        atomic_fetch_add(&n_ready, 1);
        while (atomic_load(&n_ready) < (i + 1) * THREADS)
            sched_yield();
        while ((found = band_store_find(r->store, &id, &rows, &slot)) == BAND_AWAITED)
            sched_yield();
        r->ours += found == BAND_OURS;
        r->without += found == BAND_NO_ROOM;
        if (found == BAND_OURS)
            band_store_publish(r->store, slot, true);
        else if (found == BAND_READY)
            band_store_release(r->store, slot);
    }
    return NULL;
}

static void ranks_that_miss_a_band_at_once_unpack_it_once(void **state)
{
    struct race races[THREADS];
    unsigned ours = 0;
    int fd;
    struct band_store *s = band_store_create(THREADS, 3, BYTES, COUNTS, 1u << 16, &fd);

    (void)state;
    assert_non_null(s);
    atomic_store(&n_ready, 0);
    for (unsigned i = 0; i < THREADS; i++) {
        races[i] = (struct race){.store = s};
        assert_int_equal(pthread_create(&races[i].thread, NULL, race_run, &races[i]),
                         0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(races[i].thread, NULL);
    for (int i = 0; i < THREADS; i++) {
        ours += races[i].ours;
        assert_int_equal(races[i].without, 0);
    }
    assert_int_equal(ours, ROUNDS);
    band_store_detach(s);
    close(fd);
}

static void a_band_is_unpacked_once_and_found_by_others(void **state)
{
    struct band_id id = {.column = 0, .packing = 3, .band = 5};
    unsigned char *rows, *again;
    uint32_t slot, other;
    int fd;
    struct band_store *a = band_store_create(2, 3, BYTES, COUNTS, 1 << 20, &fd), *b;

    (void)state;
    b = band_store_attach(fd);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(band_store_find(a, &id, &rows, &slot), BAND_OURS);
    assert_int_equal(band_store_find(b, &id, &again, &other), BAND_AWAITED);
    memset(rows, 9, BYTES[0]);
    band_store_publish(a, slot, true);
    assert_int_equal(band_store_find(b, &id, &again, &other), BAND_READY);
    assert_true(is_filled_with(again, 9, BYTES[0]));
    band_store_release(b, other);
    band_store_detach(a); /* the other one still has it */
    assert_int_equal(band_store_find(b, &id, &again, &other), BAND_READY);
    band_store_release(b, other);
    band_store_detach(b);
    band_store_detach(NULL);
}

static void a_band_that_could_not_be_unpacked_is_not_there(void **state)
{
    struct band_id id = {.column = 2, .packing = 0, .band = 1};
    unsigned char *rows;
    uint32_t slot;
    int fd;
    struct band_store *s = band_store_create(2, 3, BYTES, COUNTS, 1 << 20, &fd);

    (void)state;
    assert_int_equal(band_store_find(s, &id, &rows, &slot), BAND_OURS);
    band_store_publish(s, slot, false);
    assert_int_equal(band_store_find(s, &id, &rows, &slot), BAND_OURS);
    band_store_publish(s, slot, true);
    band_store_detach(s);
    close(fd);
}

/* Slots of ranks that died are lost, and others do without. */
static void slots_in_use_are_not_taken(void **state)
{
    const uint64_t bytes = 64, bands = 4;
    struct band_id id = {.column = 0, .packing = 0, .band = 0};
    unsigned char *rows;
    uint32_t slot;
    int fd;
    struct band_store *s = band_store_create(2, 1, &bytes, &bands, 1 << 20, &fd);

    (void)state;
    for (; id.band < 4; id.band++) {
        assert_int_equal(band_store_find(s, &id, &rows, &slot), BAND_OURS);
        if (id.band % 2) { /* else it is never published */
            band_store_publish(s, slot, true);
            assert_int_equal(band_store_find(s, &id, &rows, &slot), BAND_READY);
        }
    }
    assert_int_equal(band_store_find(s, &id, &rows, &slot), BAND_NO_ROOM);
    band_store_release(s, slot);
    id.band = 3;
    assert_int_equal(band_store_find(s, &id, &rows, &slot), BAND_READY);
    band_store_detach(s);
    close(fd);
}

static void a_store_without_use_is_not_made(void **state)
{
    const uint64_t large = UINT64_C(1) << 30, none = 0;
    int fd;

    (void)state;
    assert_null(band_store_create(1, 3, BYTES, COUNTS, 1 << 20, &fd));
    assert_null(band_store_create(2, 1, &large, COUNTS, 1 << 20, &fd));
    assert_null(band_store_create(2, 1, &none, &none, 1 << 20, &fd));
    assert_int_equal(fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_never_see_the_rows_of_another_band),
        cmocka_unit_test(ranks_that_miss_a_band_at_once_unpack_it_once),
        cmocka_unit_test(a_band_is_unpacked_once_and_found_by_others),
        cmocka_unit_test(a_band_that_could_not_be_unpacked_is_not_there),
        cmocka_unit_test(slots_in_use_are_not_taken),
        cmocka_unit_test(a_store_without_use_is_not_made),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
