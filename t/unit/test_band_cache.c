#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "table/band_cache.h"

#define BANDS 8
#define LIMIT 100

static char packings[4];

static unsigned char *rows_make(int packing, uint64_t band)
{
    unsigned char *rows = malloc(2);

    assert_non_null(rows);
    rows[0] = (unsigned char)packing;
    rows[1] = (unsigned char)band;
    return rows;
}

static void add(struct band_cache *c, int packing, uint64_t band, uint64_t bytes)
{
    band_cache_make_room(c, bytes);
    band_cache_add(c, &packings[packing], band, rows_make(packing, band), bytes);
}

static bool has(struct band_cache *c, int packing, uint64_t band)
{
    const unsigned char *rows = band_cache_find(c, &packings[packing], band);

    assert_true(!rows || (rows[0] == packing && rows[1] == (unsigned char)band));
    return rows != NULL;
}

static void the_band_that_was_not_used_longest_goes(void **state)
{
    struct band_cache *c = band_cache_create(3, LIMIT);

    (void)state;
    assert_non_null(c);
    add(c, 0, 1, 1);
    add(c, 0, 2, 1);
    add(c, 1, 1, 1);
    assert_true(has(c, 0, 1));
    add(c, 1, 2, 1); /* the fourth */
    assert_false(has(c, 0, 2));
    assert_true(has(c, 0, 1) && has(c, 1, 1) && has(c, 1, 2));
    band_cache_destroy(c);
}

static void bytes_are_limited_but_for_one_band(void **state)
{
    struct band_cache *c = band_cache_create(BANDS, LIMIT);

    (void)state;
    assert_non_null(c);
    add(c, 0, 1, 60);
    add(c, 0, 2, 40);
    assert_true(has(c, 0, 1) && has(c, 0, 2));
    add(c, 0, 3, 41);
    assert_true(!has(c, 0, 1) && has(c, 0, 2) && has(c, 0, 3));
    add(c, 0, 4, 2 * LIMIT);
    assert_true(!has(c, 0, 2) && !has(c, 0, 3) && has(c, 0, 4));
    add(c, 0, 5, 1);
    assert_true(!has(c, 0, 4) && has(c, 0, 5));
    band_cache_destroy(c);
}

/* As a list that is searched from its end. */
struct model {
    struct {
        int packing;
        uint64_t band, bytes;
    } used[BANDS];
    size_t n;
    uint64_t bytes;
};

static size_t model_find(const struct model *m, int packing, uint64_t band)
{
    size_t i = 0;

    while (i < m->n && (m->used[i].packing != packing || m->used[i].band != band))
        i++;
    return i;
}

static void model_remove(struct model *m, size_t i)
{
    m->bytes -= m->used[i].bytes;
    m->n--;
    memmove(&m->used[i], &m->used[i + 1], (m->n - i) * sizeof m->used[0]);
}

static void model_use(struct model *m, int packing, uint64_t band, uint64_t bytes)
{
    m->used[m->n].packing = packing;
    m->used[m->n].band = band;
    m->used[m->n++].bytes = bytes;
    m->bytes += bytes;
}

static void it_has_what_a_simple_list_has(void **state)
{
    struct band_cache *c = band_cache_create(BANDS, LIMIT);
    struct model m = {.n = 0};

    (void)state;
    assert_non_null(c);
    srand(1);
    for (int i = 0; i < 100000; i++) {
        int packing = rand() % 4;
        uint64_t band = (uint64_t)(rand() % 6), bytes = (uint64_t)(rand() % 40);
        size_t at = model_find(&m, packing, band);
        bool there = at < m.n;

        assert_int_equal(has(c, packing, band), there);
        if (there) {
            bytes = m.used[at].bytes;
            model_remove(&m, at);
        } else {
            while (m.n > 0 && (m.n == BANDS || m.bytes + bytes > LIMIT))
                model_remove(&m, 0);
            add(c, packing, band, bytes);
        }
        model_use(&m, packing, band, bytes);
    }
    band_cache_destroy(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_band_that_was_not_used_longest_goes),
        cmocka_unit_test(bytes_are_limited_but_for_one_band),
        cmocka_unit_test(it_has_what_a_simple_list_has),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
