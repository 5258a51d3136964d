/* test_checkpoint_offer.c - what a client offers as its checkpoint, and the memory that it
 * is copied to. */
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

#include "command/checkpoint_offer.h"
#include "command/shared_buffer.h"

/* The offer in this JSON text, which *json owns. */
static int offer_of(const char *text, json_t **json, struct offer *offer,
                    struct error *err)
{
    *json = json_loads(text, 0, NULL);
    assert_non_null(*json);
    return offer_parse(*json, offer, err);
}

#define DICT(entries)                                                                  \
    "{\"kind\": \"dict\", \"structure\": \"{}\", \"entries\": [" entries "]}"

/* ---- Offers ---- */

static void entries_lie_one_after_the_other(void **state)
{
    struct offer offer;
    struct error err;
    uint64_t bytes;
    json_t *json;

    (void)state;
    assert_int_equal(offer_of(DICT("[\"a\", \"float32\", [3]],"
                                   "[\"s\", \"string\", \"text\"],"
                                   "[\"b\", \"int64\", [], \"own\"],"
                                   "[\"c\", \"int8\", [10, 9], [2, 0], [5, 9]],"
                                   "[\"d\", \"bytes\", [0, 7]]"),
                              &json, &offer, &err),
                     0);
    assert_int_equal(offer.n_entries, 5);
    assert_int_equal(offer_lay_out(&offer, false, &bytes, &err), 0);
    assert_int_equal(offer.entries[0].offset, 0);
    assert_int_equal(offer.entries[2].offset, 64);
    assert_int_equal(offer.entries[3].offset, 128);
    assert_int_equal(offer.entries[3].bytes, 45);
    assert_int_equal(offer.entries[4].offset, 192);
    assert_int_equal(bytes, 192);
    assert_int_equal(offer_lay_out(&offer, true, &bytes, &err), 0);
    assert_int_equal(offer.entries[3].offset, 0);
    assert_int_equal(bytes, 45);
    assert_true(offer.entries[2].own);
    assert_string_equal(offer.entries[1].text, "text");
    offer_clear(&offer);
    json_decref(json);
}

/* 4832000004 = 4 * 1208000001 bytes do not end at a multiple of 64. */
static void sizes_above_4_gib_are_exact(void **state)
{
    static const char files[] = "{\"kind\": \"directory\", \"entries\": "
                                "[[\"f\", 5000000000], [\"g\", 1]]}";
    struct offer offer;
    struct error err;
    uint64_t bytes;
    json_t *json;

    (void)state;
    assert_int_equal(
        offer_of(DICT("[\"a\", \"float32\", [1208000001]], [\"b\", \"int8\", [1]],"
                      "[\"c\", \"float64\", [3, 1000000000], [1, 0], [2, 1000000000]]"),
                 &json, &offer, &err),
        0);
    assert_int_equal(offer_lay_out(&offer, false, &bytes, &err), 0);
    assert_true(offer.entries[1].offset == UINT64_C(4832000064));
    assert_true(offer.entries[2].bytes == UINT64_C(16000000000));
    assert_true(bytes == UINT64_C(4832000128) + UINT64_C(16000000000));
    offer_clear(&offer);
    json_decref(json);
    assert_int_equal(offer_of(files, &json, &offer, &err), 0);
    assert_int_equal(offer_lay_out(&offer, false, &bytes, &err), 0);
    assert_true(offer.entries[1].offset == UINT64_C(5000000000));
    assert_true(bytes == UINT64_C(5000000001));
    offer_clear(&offer);
    json_decref(json);
}

static void ranks_agree_on_arrays_and_not_on_what_is_their_own(void **state)
{
    static const struct {
        const char *a, *b;
        const char *says; /* NULL: they agree */
    } cases[] = {
        {DICT(""), DICT(""), NULL},
        {DICT("[\"a\", \"int8\", [3]]"), DICT("[\"a\", \"int8\", [3]]"), NULL},
        {DICT("[\"x\", \"int8\", [3], \"own\"], [\"a\", \"int8\", [3]]"),
         DICT("[\"a\", \"int8\", [3]], [\"y\", \"string\", \"\"]"), NULL},
        {DICT("[\"a\", \"int8\", [4], [0], [2]]"),
         DICT("[\"a\", \"int8\", [4], [2], [2]]"), NULL},
        {DICT("[\"a\", \"int8\", [3]]"), DICT("[\"a\", \"uint8\", [3]]"),
         "the checkpoint of rank 2 has \"a\" (int8 [3]) where that of rank 5 has \"a\" "
         "(uint8 [3])"},
        {DICT("[\"a\", \"int8\", [3]]"), DICT("[\"a\", \"int8\", [3, 1]]"),
         "(int8 [3, 1])"},
        {DICT("[\"a\", \"int8\", [3]]"), DICT("[\"a\", \"int8\", [3], [0], [3]]"),
         "\"a\" (a Shard of int8 [3])"},
        {DICT("[\"a\", \"int8\", [3]]"), DICT("[\"a\", \"int8\", [3], \"own\"]"),
         "rank 5 has nothing more"},
        {DICT(""), DICT("[\"a\", \"int8\", [3]]"), "rank 2 has nothing more"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct offer a, b;
        struct error err;
        json_t *x, *y;
        int rc;

        assert_int_equal(offer_of(cases[i].a, &x, &a, &err), 0);
        assert_int_equal(offer_of(cases[i].b, &y, &b, &err), 0);
        rc = offer_compare(&a, 2, &b, 5, &err);
        assert_int_equal(rc, cases[i].says ? -1 : 0);
        if (rc < 0 && !strstr(err.text, cases[i].says))
            fail_msg("case %zu: %s", i, err.text);
        offer_clear(&a);
        offer_clear(&b);
        json_decref(x);
        json_decref(y);
    }
}

static void offers_that_make_no_sense_are_refused(void **state)
{
    static const char *const bad[] = {
        "{}",
        "{\"kind\": \"list\", \"entries\": []}",
        "{\"kind\": \"dict\", \"entries\": []}",
        "{\"kind\": \"dict\", \"structure\": \"\"}",
        DICT("5"),
        DICT("[]"),
        DICT("[\"a\"]"),
        DICT("[\"a\", \"float8\", [1]]"),
        DICT("[\"a\", \"int8\", 1]"),
        DICT("[\"a\", \"int8\", [1.5]]"),
        DICT("[\"a\", \"int8\", [-1]]"),
        DICT("[\"a\", \"int8\", [1, 1, 1, 1, 1, 1, 1, 1, 1]]"),
        DICT("[\"a\", \"int64\", [4611686018427387904]]"),
        DICT("[\"a\", \"int8\", [4], \"other\"]"),
        DICT("[\"a\", \"int8\", [4], [0]]"),
        DICT("[\"a\", \"int8\", [4], [0], [5]]"),
        DICT("[\"a\", \"int8\", [4], [5], [0]]"),
        DICT("[\"a\", \"int8\", [4], [0, 0], [4, 1]]"),
        DICT("[\"a\", \"int8\", [], [], []]"),
        DICT("[\"a\", \"int8\", [4], [9223372036854775807], [9223372036854775807]]"),
        DICT("[\"a\", \"int8\", [4], [0], [4], 1]"),
        DICT("[\"a\", \"string\", 5]"),
        DICT("[\"files/a\", \"int8\", [1]]"),
        "{\"kind\": \"directory\", \"entries\": [[\"a\"]]}",
        "{\"kind\": \"directory\", \"entries\": [[\"a\", -1]]}",
        "{\"kind\": \"directory\", \"entries\": [[5, 1]]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct offer offer;
        struct error err = {0};
        json_t *json;

        if (offer_of(bad[i], &json, &offer, &err) == 0)
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(err.code, RAYTRAIN_EINVAL);
        json_decref(json);
    }
}

static void sizes_whose_sum_overflows_are_refused(void **state)
{
    struct offer offer;
    struct error err;
    uint64_t bytes;
    json_t *json;

    (void)state;
    assert_int_equal(offer_of(DICT("[\"a\", \"int8\", [9223372036854775000]],"
                                   "[\"b\", \"int8\", [9223372036854775000]]"),
                              &json, &offer, &err),
                     0);
    assert_int_equal(offer_lay_out(&offer, false, &bytes, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_EINVAL);
    offer_clear(&offer);
    json_decref(json);
}

/* ---- Buffers ---- */

static struct shared_buffer *taken(struct shared_buffers *all, uint64_t bytes)
{
    struct shared_buffer *b;
    struct error err;

    assert_int_equal(shared_buffers_take(all, bytes, 1, &b, &err), 0);
    assert_true(b->size >= bytes);
    return b;
}

static void a_buffer_is_used_again_once_nothing_refers_to_it(void **state)
{
    struct shared_buffers all = {0};
    struct shared_buffer *a = taken(&all, 1000), *b;
    int64_t first = a->id;

    (void)state;
    shared_buffer_hold(a); /* a tensor that is being written */
    shared_buffer_release(a);
    b = taken(&all, 1000);
    assert_int_not_equal(b->id, first);
    shared_buffer_release(b);
    shared_buffer_release(a);
    a = taken(&all, 1000);
    assert_true(a->id == first || a == b);
    shared_buffer_release(a);
    shared_buffers_clear(&all);
}

static void a_buffer_grows_and_one_in_use_stays_as_it_is(void **state)
{
    struct shared_buffers all = {0};
    struct shared_buffer *held[3];

    (void)state;
    for (int i = 0; i < 3; i++) { /* one more than are kept */
        held[i] = taken(&all, (uint64_t)(i + 1) << 20);
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(held[i], held[k]);
    }
    for (int i = 0; i < 3; i++)
        shared_buffer_release(held[i]);
    held[0] = taken(&all, 64 << 20);
    assert_int_equal(held[0]->data[(64 << 20) - 1], 0);
    shared_buffers_clear(&all);
    assert_int_equal(held[0]->data[0], 0); /* a save still reads it */
    shared_buffer_release(held[0]);
}

static void a_client_cannot_shrink_a_buffer(void **state)
{
    struct shared_buffers all = {0};
    struct shared_buffer *b = taken(&all, 1000);

    (void)state;
    assert_int_equal(ftruncate(b->fd, 0), -1);
    shared_buffer_release(b);
    shared_buffers_clear(&all);
}

static void more_memory_than_there_is_is_refused(void **state)
{
    struct shared_buffers all = {0};
    struct shared_buffer *b;
    struct error err;

    (void)state;
    assert_int_equal(shared_buffers_take(&all, (uint64_t)1 << 50, 1, &b, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOMEM);
    shared_buffers_clear(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_lie_one_after_the_other),
        cmocka_unit_test(sizes_above_4_gib_are_exact),
        cmocka_unit_test(ranks_agree_on_arrays_and_not_on_what_is_their_own),
        cmocka_unit_test(offers_that_make_no_sense_are_refused),
        cmocka_unit_test(sizes_whose_sum_overflows_are_refused),
        cmocka_unit_test(a_buffer_is_used_again_once_nothing_refers_to_it),
        cmocka_unit_test(a_buffer_grows_and_one_in_use_stays_as_it_is),
        cmocka_unit_test(a_client_cannot_shrink_a_buffer),
        cmocka_unit_test(more_memory_than_there_is_is_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
