#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frame/frame.h"

static struct error err;

static struct frame_column *add(struct frame *f, const char *name, enum frame_kind kind)
{
    struct frame_column like = {
        .kind = kind, .row = {.dtype = RAYTRAIN_FLOAT64, .ndim = 1, .shape = {3}}};
    size_t index;

    strcpy(like.name, name);
    assert_int_equal(frame_add(f, &like, &index, &err), 0);
    return &f->columns[index];
}

static void each_kind_has_the_memory_that_it_needs(void **state)
{
    static const struct {
        enum frame_kind kind;
        size_t data, offsets, indices; /* bytes for 10 rows with 70 elements */
    } kinds[] = {
        {FRAME_NUMBERS, 240, 0, 0},      {FRAME_WORDS, 40, 0, 0},
        {FRAME_TEXT, 70, 88, 0},         {FRAME_WORD_LISTS, 280, 88, 0},
        {FRAME_SPARSE, 70 * 8, 88, 280},
    };
    struct frame f = FRAME_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct frame_column *c = add(&f, "c", kinds[i].kind);

        assert_int_equal(frame_reserve(c, 10, 70, &err), 0);
        assert_int_equal((uintptr_t)c->data % 64, 0);
        assert_true(c->data_room >= kinds[i].data);
        assert_int_equal(c->offsets != NULL, kinds[i].offsets > 0);
        assert_true(c->offsets_room >= kinds[i].offsets);
        assert_int_equal(c->indices != NULL, kinds[i].indices > 0);
        assert_true(c->indices_room >= kinds[i].indices);
        memset(c->data, 1, kinds[i].data);
        frame_remove(&f, 0);
    }
    frame_clear(&f);
}

static void memory_is_kept_while_it_is_enough(void **state)
{
    struct frame f = FRAME_INIT;
    struct frame_column *c = add(&f, "c", FRAME_SPARSE);
    const unsigned char *data;

    (void)state;
    assert_int_equal(frame_reserve(c, 100, 1000, &err), 0);
    data = c->data;
    assert_int_equal(frame_reserve(c, 50, 999, &err), 0);
    assert_ptr_equal(c->data, data);
    assert_int_equal(frame_reserve(c, 100000, 1, &err), 0);
    assert_true(c->offsets_room >= 100001 * sizeof *c->offsets);
    assert_int_equal(frame_reserve(c, UINT64_MAX / 4, 1, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOMEM);
    frame_clear(&f);
}

/* In any order of letting go of it, in pieces that do not overlap. */
static void memory_of_many_frames_is_reserved_together(void **state)
{
    struct frame frames[40];

    (void)state;
    for (size_t i = 0; i < 40; i++) {
        frames[i] = (struct frame)FRAME_INIT;
        add(&frames[i], "a", FRAME_NUMBERS);
        add(&frames[i], "b", FRAME_WORDS);
    }
    assert_int_equal(frame_reserve(&frames[0].columns[0], 50000, 0, &err), 0);
    assert_int_equal(frame_reserve_together(frames, 40, 9999, &err), 0);
    assert_true(frames[1].columns[0].region && !frames[0].columns[0].region);
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < 40; i++)
            for (size_t k = 0; k < 2; k++) {
                struct frame_column *c = &frames[i].columns[k];
                size_t n = k ? 9999 * 4 : (size_t)9999 * 24;

                assert_int_equal((uintptr_t)c->data % 64, 0);
                assert_true(c->data_room >= n);
                if (turn == 0)
                    memset(c->data, (int)(2 * i + k), n);
                else
                    assert_true(c->data[0] == 2 * i + k && c->data[n - 1] == 2 * i + k);
            }
    assert_int_equal(frame_reserve(&frames[3].columns[0], 50000, 0, &err), 0);
    assert_null(frames[3].columns[0].region);
    memset(frames[3].columns[0].data, 1, (size_t)50000 * 24);
    for (size_t i = 0; i < 39; i++)
        frame_clear(&frames[(i + 7) % 39]);
    assert_int_equal(frames[39].columns[1].data[9999 * 4 - 1], 79);
    assert_int_equal(frame_reserve_together(&frames[39], 1, UINT64_MAX / 4, &err), -1);
    assert_int_equal(err.code, RAYTRAIN_ENOMEM);
    frame_clear(&frames[39]);
}

static void columns_are_found_by_name_and_removed(void **state)
{
    struct frame f = FRAME_INIT;
    struct frame_column like = {.name = "b"};
    char names[16];
    size_t index;

    (void)state;
    add(&f, "a", FRAME_NUMBERS);
    add(&f, "b", FRAME_WORDS);
    add(&f, "c", FRAME_TEXT);
    assert_int_equal(frame_add(&f, &like, &index, &err), -1);
    assert_string_equal(err.text, "column \"b\" exists twice");
    frame_names(&f, names, sizeof names);
    assert_string_equal(names, "a, b, c");
    frame_names(&f, names, 4);
    assert_string_equal(names, "a");
    frame_remove(&f, 0);
    assert_null(frame_find(&f, "a"));
    assert_ptr_equal(frame_find(&f, "c"), &f.columns[1]);
    frame_clear(&f);
    assert_null(frame_find(&f, "c"));
}

static void a_frame_keeps_memory_for_columns_to_come(void **state)
{
    struct frame f = FRAME_INIT;
    const unsigned char *large, *small;
    struct frame_column *c;

    (void)state;
    assert_int_equal(frame_keep_memory(&f, &err), 0);
    c = add(&f, "large", FRAME_NUMBERS);
    assert_int_equal(frame_reserve(c, 1000, 0, &err), 0);
    large = c->data;
    c = add(&f, "small", FRAME_TEXT);
    assert_int_equal(frame_reserve(c, 10, 100, &err), 0);
    small = c->data;
    frame_remove(&f, 0);
    frame_remove(&f, 0);
    c = add(&f, "b", FRAME_NUMBERS);
    assert_int_equal(frame_reserve(c, 2, 0, &err), 0); /* the smallest that will do */
    assert_ptr_not_equal(c->data, large);
    c = add(&f, "a", FRAME_NUMBERS);
    assert_int_equal(frame_reserve(c, 900, 0, &err), 0);
    assert_ptr_equal(c->data, large);
    assert_ptr_not_equal(c->data, small);
    frame_remove(&f, 1);
    c = add(&f, "a", FRAME_NUMBERS); /* none is large enough */
    assert_int_equal(frame_reserve(c, 5000, 0, &err), 0);
    memset(c->data, 1, 5000 * 24);
    frame_clear(&f);
}

static void a_frame_gets_its_columns_back(void **state)
{
    struct frame like = FRAME_INIT, f = FRAME_INIT;
    struct frame_column *c, other = {.name = "x", .kind = FRAME_WORDS};
    const unsigned char *y;

    (void)state;
    add(&like, "x", FRAME_NUMBERS);
    add(&like, "y", FRAME_NUMBERS);
    add(&like, "z", FRAME_TEXT);
    assert_int_equal(frame_keep_memory(&f, &err), 0);
    assert_int_equal(frame_restore(&f, &like, &err), 0);
    assert_int_equal(f.n_columns, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(frame_reserve(&f.columns[i], 10, 10, &err), 0);
    y = f.columns[1].data;
    frame_remove(&f, 2);
    c = add(&f, "new", FRAME_SPARSE);
    assert_int_equal(frame_reserve(c, 10, 10, &err), 0);
    assert_int_equal(frame_put(&f, &other, &err), 0);
    frame_remove(&f, 0);
    assert_int_equal(frame_restore(&f, &like, &err), 0);
    assert_int_equal(f.n_columns, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(f.columns[i].name, like.columns[i].name);
        assert_int_equal(f.columns[i].kind, like.columns[i].kind);
    }
    assert_ptr_equal(f.columns[1].data, y);
    frame_clear(&f);
    frame_clear(&like);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_the_memory_that_it_needs),
        cmocka_unit_test(memory_is_kept_while_it_is_enough),
        cmocka_unit_test(memory_of_many_frames_is_reserved_together),
        cmocka_unit_test(columns_are_found_by_name_and_removed),
        cmocka_unit_test(a_frame_keeps_memory_for_columns_to_come),
        cmocka_unit_test(a_frame_gets_its_columns_back),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
